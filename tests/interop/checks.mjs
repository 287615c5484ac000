// What a client of any SDK and any era must see of the server in examples/everything.
//
// A script hands over `open(options)`, which connects a new client and gives a session:
//   kind                  stdio, http, or sse for the HTTP transport of 2024-11-05
//   network, transport    over HTTP: what passed (see http.mjs), and the SDK's transport
//   client                the SDK's Client, for the calls that are alike in 1.x and 2.x
//   modern, revision      which era was negotiated
//   call(tool, arguments, options)   tools/call; options: signal, onprogress, meta
//   request(method, params)          any request, its result unchecked
//   on(method, callback)             notifications
//   answers               {elicit, sample, roots}: how questions of the server are answered
//   asked                 the questions, in order: {method, params}
//   wire, errors          everything exchanged, and what the SDK could not make sense of
//   close()
// options of open: capabilities, info (of the client), versions (legacy revisions to offer).
import { assert, received, refused, results, sent, sleep, until } from './harness.mjs';

export const ALL = {
  elicitation: { form: {}, url: {} },
  sampling: {},
  roots: { listChanged: true },
};
const BIRDS = ['avocet', 'dunlin', 'godwit', 'knot', 'sanderling'];
const README = 'everything://readme';
const TEMPLATE = 'everything://birds/{name}';
const COLOURS = ['red', 'green', 'blue'];
const ODD = 'ünï ⚓ \u{1f426}\n"\\\u0000';

const NAMES = {
  tools: [
    'echo', 'statistics', 'order', 'now', 'contents', 'schema', 'fail', 'break', 'work', 'later',
    'log', 'who', 'grow', 'register', 'sign', 'ask_model', 'roots', 'all_at_once', 'buy',
    'explicit', 'touch',
  ],
  prompts: ['greet', 'review', 'bird'],
  resources: [README, 'everything://dot.png'],
};

// Calls that need nobody but the server. `text` is the whole answer, `structured` is to be equal to
// structuredContent and to the JSON of the text, `wrong` is found in the text of an isError result.
const CALLS = [
  { tool: 'echo', with: { message: 'hello' }, text: 'hello' },
  { tool: 'echo', with: { message: '' }, text: '' },
  { tool: 'echo', with: { message: ODD }, text: ODD },
  { tool: 'echo', with: { message: 'x'.repeat(100_000) }, text: 'x'.repeat(100_000) },
  { tool: 'echo', with: { message: 'a', more: [1] }, text: 'a' },
  { tool: 'echo', with: {}, wrong: /message/ },
  { tool: 'echo', with: { message: 5 }, wrong: /\/message.*type/ },
  {
    tool: 'statistics',
    with: { numbers: [1, 2, 4.5] },
    structured: { sum: 7.5, mean: 2.5, count: 3 },
  },
  { tool: 'statistics', with: { numbers: [] }, structured: { sum: 0, mean: 0, count: 0 } },
  { tool: 'statistics', with: { numbers: [1, 'two'] }, wrong: /\/numbers\/1.*type/ },
  {
    tool: 'order',
    with: { item: 'tea' },
    structured: { order: '1 tea', size: 'medium', price: 2.5 },
  },
  {
    tool: 'order',
    with: { item: 'tea', size: 'large', count: 12, note: 'hot' },
    structured: { order: '12 tea', size: 'large', price: 30 },
  },
  { tool: 'order', with: { item: 'tea', count: 13 }, wrong: /\/count.*maximum/ },
  { tool: 'order', with: { item: 'tea', size: 'huge' }, wrong: /\/size.*enum/ },
  { tool: 'order', with: { item: '' }, wrong: /\/item.*minLength/ },
  { tool: 'order', with: { item: 'tea', sugar: 1 }, wrong: /sugar/ },
  { tool: 'order', with: { item: 'nothing' }, wrong: /^there is no nothing to sell$/ },
  { tool: 'now', text: 'some time in the afternoon' },
  { tool: 'now', with: {}, text: 'some time in the afternoon' },
  { tool: 'schema', with: { kind: 'a', n: 1 }, structured: { kind: 'a', n: 1 } },
  { tool: 'schema', with: { kind: 'b' }, wrong: /\/kind.*const/ },
  { tool: 'schema', with: { kind: 'a', n: 'one' }, wrong: /\/n.*type/ },
  { tool: 'fail', wrong: /^as it should$/ },
  { tool: 'work', with: { steps: 2, milliseconds: 1 }, text: 'done after 2 steps' },
  { tool: 'later', with: { message: 'hello' }, text: 'later: hello' },
  { tool: 'log', with: { level: 'debug', text: 'nobody listens' }, text: 'logged' },
];

export const text = (result) => {
  assert.equal(result.content.length, 1, 'one content');
  assert.equal(result.content[0].type, 'text');
  return result.content[0].text;
};

/** Name and text of a successful call, which is what most tools answer. */
export async function says(session, tool, args, expected, options) {
  const result = await session.call(tool, args, options);
  assert.notEqual(result.isError, true, `an error: ${JSON.stringify(result.content)}`);
  assert.equal(text(result), expected);
}

/** Everything above, in one go. `open` as at the top; the revision is what must be negotiated. */
export async function checks(report, open, revision) {
  let session;
  await report.check('connect', async () => {
    session = await open({ capabilities: ALL });
    assert.equal(session.revision, revision);
  });
  if (!session) return;
  await offers(report, session);
  await calls(report, session);
  await contents(report, session);
  await notes(report, session);
  await questions(report, session);
  if (!session.modern) await changes(report, session);
  await ending(report, session);
  await cancelling(report, open);
  await refusals(report, open);
}

async function offers(report, { client, ...session }) {
  await report.check('server info', async () => {
    const info = client.getServerVersion();
    assert.equal(info.name, 'everything');
    assert.equal(info.version, '1.0.0');
    assert.equal(info.title, 'Everything');
    assert.equal(info.websiteUrl, 'https://modelcontextprotocol.io');
    assert.equal(info.icons[0].mimeType, 'image/png');
    assert.equal(client.getInstructions(), 'Call any tool; each shows one feature.');
  });
  await report.check('capabilities', async () => {
    assert.deepEqual(client.getServerCapabilities(), {
      logging: {},
      completions: {},
      prompts: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      tools: { listChanged: true },
    });
  });
  await report.check('tools/list', async () => {
    const { tools, nextCursor } = await client.listTools();
    assert.equal(nextCursor, undefined);
    assert.deepEqual(tools.map(({ name }) => name), NAMES.tools);
    const tool = (wanted) => tools.find(({ name }) => name === wanted);
    assert.equal(tool('echo').title, 'Echo');
    assert.deepEqual(tool('echo').annotations, { readOnlyHint: true, idempotentHint: true });
    assert.deepEqual(tool('echo').inputSchema.required, ['message']);
    assert.deepEqual(tool('now').inputSchema.type, 'object');
    assert.equal(tool('order').inputSchema.additionalProperties, false);
    assert.equal(tool('order').inputSchema.properties.count.maximum, 12);
    assert.equal(tool('statistics').outputSchema.properties.count.type, 'integer');
    assert.equal(tool('echo').outputSchema, undefined);
    // The schema of a result is an object's before 2026-07-28, and anything's since.
    assert.equal(tool('roots').outputSchema?.type, session.modern ? 'array' : undefined);
  });
  await report.check('resources/list', async () => {
    const { resources } = await client.listResources();
    assert.deepEqual(resources.map(({ uri }) => uri), NAMES.resources);
    assert.equal(resources[0].title, 'Read me');
    assert.equal(resources[1].mimeType, 'image/png');
  });
  await report.check('resources/templates/list', async () => {
    const { resourceTemplates } = await client.listResourceTemplates();
    assert.deepEqual(resourceTemplates.map(({ uriTemplate }) => uriTemplate), [TEMPLATE]);
  });
  await report.check('prompts/list', async () => {
    const { prompts } = await client.listPrompts();
    assert.deepEqual(prompts.map(({ name }) => name), NAMES.prompts);
    const [code, language] = prompts[1].arguments;
    assert.deepEqual(code, { name: 'code', description: 'What to look at', required: true });
    assert.equal(language.name, 'language');
    assert.notEqual(language.required, true);
  });
}

async function calls(report, session) {
  const told = (args) => {
    const line = JSON.stringify(args ?? null);
    return line.length > 60 ? `${line.length} bytes` : line;
  };
  for (const { tool, with: args, ...expected } of CALLS) {
    await report.check(`${tool} ${told(args)}`, async () => {
      const result = await session.call(tool, args);
      assert.equal(result.isError === true, expected.wrong !== undefined, JSON.stringify(result));
      if (expected.wrong) assert.match(text(result), expected.wrong);
      if (expected.text !== undefined) assert.equal(text(result), expected.text);
      if (expected.structured) {
        assert.deepEqual(result.structuredContent, expected.structured);
        assert.deepEqual(JSON.parse(text(result)), expected.structured);
      }
    });
  }
  await report.check('who', async () => {
    await says(session, 'who', undefined, `${session.info.name} speaks ${session.revision}`);
  });
  await report.check('an exception is internal_error without its text', async () => {
    const error = await refused(session.call('break'), -32603);
    assert.doesNotMatch(error.message, /never shown/);
  });
  await report.check('an unknown tool', async () => {
    await refused(session.call('no such tool'), -32602);
  });
  await report.check('an unknown method', async () => {
    const request = session.request('no/such/method', {});
    if (!session.modern || session.kind === 'stdio') return refused(request, -32601);
    // The status is 404, in whose body SDK 2.x does not look.
    const error = await request.then(assert.fail, (reason) => reason);
    assert.equal(error.status, 404);
    assert.match(error.message, /"code":-32601\b/);
  });
  await report.check('many calls at once, each with its own answer', async () => {
    const all = Array.from({ length: 100 }, (_, index) =>
      index % 2
        ? says(session, 'echo', { message: `${index}` }, `${index}`)
        : says(session, 'later', { message: `${index}` }, `later: ${index}`));
    await Promise.all(all);
  });
  await report.check('a slow tool holds nobody up', async () => {
    let done = false;
    const slow = session.call('work', { steps: 20, milliseconds: 20 }).then(() => (done = true));
    await says(session, 'echo', { message: 'quick' }, 'quick');
    assert.equal(done, false);
    await slow;
  });
}

async function contents(report, session) {
  const { client } = session;
  const bytes = (base64) => Buffer.from(base64, 'base64').toString('latin1');
  await report.check('contents: every kind', async () => {
    const [plain, image, audio, link, embedded] = (await session.call('contents')).content;
    assert.deepEqual(plain, { type: 'text', text: 'a text' });
    assert.equal(image.type, 'image');
    assert.equal(image.mimeType, 'image/png');
    assert.match(bytes(image.data), /^\x89PNG\r\n\x1a\n.*IEND/s);
    assert.equal(audio.type, 'audio');
    assert.equal(audio.mimeType, 'audio/wav');
    assert.match(bytes(audio.data), /^RIFF....WAVEfmt /s);
    assert.deepEqual(link, { type: 'resource_link', uri: README, name: 'readme' });
    assert.deepEqual(embedded, {
      type: 'resource',
      resource: { uri: README, mimeType: 'text/plain', text: 'read me' },
    });
  });
  await report.check('resources/read: text', async () => {
    const { contents: [only] } = await client.readResource({ uri: README });
    assert.deepEqual(only, { uri: README, mimeType: 'text/plain', text: 'Read me first.' });
  });
  await report.check('resources/read: bytes', async () => {
    const { contents: [only] } = await client.readResource({ uri: 'everything://dot.png' });
    assert.equal(only.mimeType, 'image/png');
    assert.match(bytes(only.blob), /^\x89PNG\r\n\x1a\n/);
  });
  await report.check('resources/read: by the template', async () => {
    const uri = TEMPLATE.replace('{name}', 'godwit');
    const { contents: [only] } = await client.readResource({ uri });
    assert.deepEqual(only, { uri, mimeType: 'text/plain', text: 'The godwit is a wader.' });
  });
  for (const uri of ['everything://nothing', 'everything://birds/dodo', 'http://[bad']) {
    await report.check(`an unknown resource: ${uri}`, async () => {
      const error = await client.readResource({ uri }).then(assert.fail, (reason) => reason);
      assert.deepEqual(error.data, { uri });
      // Looked for on the wire: SDK 2.x shows its callers the new code for the old one, too.
      const { code } = session.wire.at(-1).message.error;
      assert.equal(code, session.modern ? -32602 : -32002);
    });
  }
  await report.check('prompts/get: greet', async () => {
    const { messages } = await client.getPrompt({ name: 'greet' });
    assert.deepEqual(messages, [
      { role: 'user', content: { type: 'text', text: 'Please greet everybody.' } },
    ]);
  });
  await report.check('prompts/get: review', async () => {
    const code = 'int main() {}';
    const ask = async (args) =>
      (await client.getPrompt({ name: 'review', arguments: args })).messages.map(
        ({ role, content }) => `${role}: ${content.text}`);
    const last = [`user: ${code}`, 'assistant: I will look at it.'];
    assert.deepEqual(await ask({ code }), ['user: Review this C++ code:', ...last]);
    assert.deepEqual(await ask({ code, language: 'C' }), ['user: Review this C code:', ...last]);
  });
  await report.check('prompts/get: bird', async () => {
    const { messages } = await client.getPrompt({ name: 'bird', arguments: { name: 'knot' } });
    assert.equal(messages[1].content.resource.uri, 'everything://birds/knot');
    assert.equal(messages[1].content.resource.text, 'The knot is a wader.');
  });
  await report.check('an unknown prompt', async () => {
    await refused(client.getPrompt({ name: 'nope' }), -32602);
  });
  await report.check('a prompt without the argument it needs', async () => {
    await refused(client.getPrompt({ name: 'bird' }), -32602);
  });
  const complete = async (ref, name, value) =>
    (await client.complete({ ref, argument: { name, value } })).completion.values;
  await report.check('completion: prompt', async () => {
    assert.deepEqual(await complete({ type: 'ref/prompt', name: 'bird' }, 'name', 'd'), ['dunlin']);
  });
  await report.check('completion: template', async () => {
    const ref = { type: 'ref/resource', uri: TEMPLATE };
    assert.deepEqual(await complete(ref, 'name', ''), BIRDS);
    assert.deepEqual(await complete(ref, 'name', 'x'), []);
  });
  await report.check('completion: an argument nobody completes', async () => {
    assert.deepEqual(await complete({ type: 'ref/prompt', name: 'review' }, 'code', 'i'), []);
  });
  await report.check('completion: an unknown prompt', async () => {
    await refused(complete({ type: 'ref/prompt', name: 'nope' }, 'name', ''), -32602);
  });
}

async function notes(report, session) {
  const lines = [];
  session.on('notifications/message', ({ params }) => lines.push(params));
  const line = { level: 'error', logger: 'everything', data: 'a line' };
  const log = (level, meta) => session.call('log', { level, text: 'a line' }, { meta });

  await report.check('progress', async () => {
    const seen = [];
    const onprogress = (progress) => seen.push(progress);
    const from = session.wire.length;
    const work = { steps: 3, milliseconds: 10 };
    await says(session, 'work', work, 'done after 3 steps', { onprogress });
    const { progressToken } = sent(session.wire, 'tools/call').at(-1).message.params._meta;
    const reports = [1, 2, 3].map((step) => (
      { progress: step, total: 3, message: `step ${step}` }));
    const came = received(session.wire.slice(from), 'notifications/progress');
    assert.deepEqual(came.map(({ message }) => message.params),
      reports.map((each) => ({ progressToken, ...each })));
    // Both SDKs lose a report that is read together with the result: they hand out notifications a
    // moment later than results, and forget the token with the result.
    assert.deepEqual(seen, reports.slice(0, seen.length));
    assert.ok(seen.length >= 2, `${seen.length} of 3 reports reached the caller`);
  });
  await report.check('no progress where none was asked for', async () => {
    const before = received(session.wire, 'notifications/progress').length;
    await session.call('work', { steps: 2, milliseconds: 1 });
    assert.equal(received(session.wire, 'notifications/progress').length, before);
  });
  if (session.modern) {
    const key = 'io.modelcontextprotocol/logLevel';
    await report.check('log: by the level of the request', async () => {
      await log('error', { [key]: 'warning' });
      await until('the line came', () => lines.length === 1);
      assert.deepEqual(lines, [line]);
      await log('info', { [key]: 'warning' });
      await log('emergency');
      await says(session, 'echo', { message: 'end' }, 'end');
      assert.equal(lines.length, 1);
    });
    return;
  }
  await report.check('log: by logging/setLevel', async () => {
    await session.client.setLoggingLevel('warning');
    lines.length = 0;
    await log('info');
    await log('error');
    await until('the line came', () => lines.length > 0);
    await says(session, 'echo', { message: 'end' }, 'end');
    assert.deepEqual(lines, [line]);
  });
  await report.check('ping', async () => {
    await session.client.ping();
    assert.deepEqual(results(session.wire).at(-1).message.result, {});
  });
  await report.check('a changed list of roots is no trouble', async () => {
    await session.client.sendRootsListChanged();
    await session.client.ping();
  });
}

// The same tools in both eras: a request of the server in the old one, a round of input_required in
// the new one; the SDKs answer both by the same callbacks.
async function questions(report, session) {
  const { answers, asked, modern } = session;
  const name = { name: 'Ada' };
  const accept = (content) => ({ action: 'accept', content });
  const rounds = async (body) => {
    asked.length = 0;
    const from = session.wire.length;
    await body();
    return sent(session.wire.slice(from), 'tools/call').map(({ message }) => message);
  };

  await report.check('register: accepted', async () => {
    asked.length = 0;
    answers.elicit = () =>
      accept({ ...name, age: 36, height: 1.6, newsletter: false, colour: 'red' });
    await says(session, 'register', undefined, 'welcome, Ada, 36');
    assert.equal(asked.length, 1);
    const { mode, message, requestedSchema: schema } = asked[0].params;
    assert.ok(mode === undefined || mode === 'form');
    assert.equal(message, 'Who are you?');
    assert.equal(schema.type, 'object');
    assert.deepEqual(schema.required, ['name']);
    const { name: who, age, height, newsletter, colour, others } = schema.properties;
    assert.deepEqual(who,
      { type: 'string', description: 'Your name', minLength: 1, maxLength: 80 });
    assert.deepEqual(age, { type: 'integer', minimum: 0, maximum: 150, default: 18 });
    assert.deepEqual(height, { type: 'number', description: 'In metres', default: 1.75 });
    assert.deepEqual(newsletter, { type: 'boolean', default: true });
    assert.deepEqual(colour, { type: 'string', enum: COLOURS, default: 'green' });
    assert.equal(others.type, 'array');
    assert.deepEqual(others.items, { type: 'string', enum: COLOURS });
  });
  await report.check('register: the server knows its defaults', async () => {
    answers.elicit = () => accept(name);
    await says(session, 'register', undefined, 'welcome, Ada, 18');
  });
  await report.check('register: declined', async () => {
    answers.elicit = () => ({ action: 'decline' });
    await says(session, 'register', undefined, 'declined');
  });
  await report.check('register: cancelled', async () => {
    answers.elicit = () => ({ action: 'cancel' });
    await says(session, 'register', undefined, 'cancelled');
  });
  await report.check('sign: by url', async () => {
    asked.length = 0;
    answers.elicit = () => ({ action: 'accept' });
    await says(session, 'sign', undefined, 'on its way');
    const { mode, url, elicitationId } = asked[0].params;
    assert.equal(mode, 'url');
    assert.equal(url, 'https://example.com/sign');
    // Only 2025-11-25 gives such a question an id.
    assert.equal(typeof elicitationId, modern ? 'undefined' : 'string');
    answers.elicit = () => ({ action: 'decline' });
    await says(session, 'sign', undefined, 'not signed');
  });
  await report.check('ask_model', async () => {
    asked.length = 0;
    await says(session, 'ask_model', { prompt: 'Six by seven?' }, 'test-model says: Hello');
    const { messages, maxTokens } = asked[0].params;
    assert.equal(maxTokens, 100);
    assert.deepEqual(messages,
      [{ role: 'user', content: { type: 'text', text: 'Six by seven?' } }]);
  });
  await report.check('roots', async () => {
    const result = await session.call('roots');
    assert.deepEqual(JSON.parse(text(result)), answers.roots().roots);
    // An array may be structured content since 2026-07-28 only.
    assert.deepEqual(result.structuredContent, modern ? answers.roots().roots : undefined);
  });
  await report.check('all_at_once', async () => {
    answers.elicit = () => accept(name);
    const messages = await rounds(() =>
      says(session, 'all_at_once', undefined, 'Hello Ada, 1 roots'));
    assert.deepEqual(asked.map(({ method }) => method).sort(),
      ['elicitation/create', 'roots/list', 'sampling/createMessage']);
    assert.equal(messages.length, modern ? 2 : 1);
  });
  await report.check('buy: three questions, one payment', async () => {
    answers.elicit = ({ message }) => accept(message === 'Who pays?' ? name : { yes: true });
    const messages = await rounds(() =>
      says(session, 'buy', { item: 'tea' }, 'tea: payment 1 by Ada'));
    assert.deepEqual(asked.map(({ params }) => params.message),
      ['Buy tea?', 'Who pays?', 'Do you want a receipt?']);
    assert.equal(messages.length, modern ? 4 : 1);
    await says(session, 'buy', { item: 'milk' }, 'milk: payment 2 by Ada');
  });
  await report.check('buy: not after all', async () => {
    answers.elicit = () => accept({ yes: false });
    await says(session, 'buy', { item: 'tea' }, 'not bought');
    answers.elicit = () => ({ action: 'decline' });
    await says(session, 'buy', { item: 'tea' }, 'not bought');
  });
  await report.check('explicit', async () => {
    answers.elicit = () => accept(name);
    await says(session, 'explicit', undefined, 'asked: Ada');
  });
  await report.check('explicit: declined', async () => {
    // What the tool says then is its own affair, but a person who says no is no bug of the server.
    answers.elicit = () => ({ action: 'decline' });
    text(await session.call('explicit'));
  });
  await report.check('a client that fails to answer', async () => {
    const { sample } = answers;
    answers.sample = () => {
      throw Object.assign(new Error('not today'), { code: -1 });
    };
    // In the new era the SDK gives the call up by itself and the server hears no more of it.
    if (modern) {
      await assert.rejects(session.call('ask_model', { prompt: 'Hm?' }), /not today/);
    } else {
      const result = await session.call('ask_model', { prompt: 'Hm?' });
      assert.equal(result.isError, true);
      assert.match(text(result), /not today/);
    }
    answers.sample = sample;
    await says(session, 'ask_model', { prompt: 'Now?' }, 'test-model says: Hello');
  });
  await report.check('questions of many calls at once', async () => {
    answers.elicit = () => accept(name);
    await Promise.all(Array.from({ length: 20 }, () =>
      says(session, 'register', undefined, 'welcome, Ada, 18')));
  });
}

// The old era only; listening is in client_v2.mjs.
async function changes(report, session) {
  const updated = [];
  let lists = 0;
  session.on('notifications/resources/updated', ({ params }) => updated.push(params.uri));
  session.on('notifications/tools/list_changed', () => (lists += 1));

  await report.check('touch: no word to who has not subscribed', async () => {
    await says(session, 'touch', undefined, 'touched');
    await session.client.ping();
    assert.deepEqual(updated, []);
  });
  await report.check('subscribe, touch', async () => {
    await session.client.subscribeResource({ uri: README });
    await says(session, 'touch', undefined, 'touched');
    await until('the update came', () => updated.length > 0);
    assert.deepEqual(updated, [README]);
  });
  await report.check('unsubscribe, touch', async () => {
    await session.client.unsubscribeResource({ uri: README });
    await says(session, 'touch', undefined, 'touched');
    await session.client.ping();
    assert.equal(updated.length, 1);
  });
  await report.check('grow', async () => {
    await says(session, 'grow', undefined, 'there is a new tool');
    await until('the change was told', () => lists > 0);
    const { tools } = await session.client.listTools();
    assert.deepEqual(tools.map((tool) => tool.name), [...NAMES.tools, 'grown']);
    await says(session, 'grown', undefined, 'new');
    assert.equal(lists, 1);
  });
}

/** Looks back at a whole connection and ends it. */
export async function ending(report, session) {
  await report.check('every tool, prompt and resource was used', async () => {
    const used = (method, key) =>
      new Set(sent(session.wire, method).map(({ message }) => message.params[key]));
    const tools = used('tools/call', 'name');
    // The new era grows the list on a connection of its own, which listens.
    const open = session.modern ? ['grow', 'touch'] : [];
    assert.deepEqual(NAMES.tools.filter((tool) => !tools.has(tool) && !open.includes(tool)), []);
    const prompts = used('prompts/get', 'name');
    assert.deepEqual(NAMES.prompts.filter((prompt) => !prompts.has(prompt)), []);
    const resources = used('resources/read', 'uri');
    assert.deepEqual(NAMES.resources.filter((resource) => !resources.has(resource)), []);
  });
  await report.check('only messages of the era', async () => {
    for (const { message } of results(session.wire)) {
      const told = JSON.stringify(message).slice(0, 200);
      assert.equal('resultType' in message.result, session.modern, told);
      if (!session.modern) assert.ok(!('ttlMs' in message.result), told);
    }
    if (session.modern) {
      const requests = session.wire.filter(({ from, message }) =>
        from === 'server' && 'id' in message && 'method' in message);
      assert.deepEqual(requests, [], 'the server asks by results only');
    }
  });
  await report.check('nothing the SDK could not read', async () => {
    // See `progress` and `an unknown method`.
    const lost = /progress notification for an unknown token|"code":-32601\b/;
    const rest = session.errors.map(({ message }) => message).filter((line) => !lost.test(line));
    assert.deepEqual(rest, []);
  });
  if (session.kind !== 'stdio') return session.close();
  await report.check('the server ends with its input', async () => {
    const begun = Date.now();
    await session.close();
    // Both SDKs send SIGTERM after two seconds.
    assert.ok(Date.now() - begun < 1_500, `it took ${Date.now() - begun} ms`);
  });
}

// On a connection of its own: reports that were under way at the cancel are errors to an SDK.
async function cancelling(report, open) {
  const session = await open({ capabilities: {} });
  await report.check('cancel: the tool stops and does not answer', async () => {
    const abort = new AbortController();
    const call = session.call('work', { steps: 100, milliseconds: 20 }, {
      signal: abort.signal,
      onprogress: () => abort.abort('enough'),
    });
    await assert.rejects(call);
    const { id } = sent(session.wire, 'tools/call').at(-1).message;
    // Over HTTP the new era cancels by hanging up.
    if (!session.modern || session.kind === 'stdio') {
      const [{ message }] = sent(session.wire, 'notifications/cancelled');
      assert.equal(message.params.requestId, id);
    }
    await says(session, 'echo', { message: 'still here' }, 'still here');
    const mark = session.wire.length;
    await sleep(200);
    assert.deepEqual(session.wire.slice(mark), [], 'nothing comes after the cancel');
    assert.equal(results(session.wire).filter(({ message }) => message.id === id).length, 0);
  });
  await session.close();
}

// A server asks nobody for what was not offered: -32021 in the new era, in the old a tool result
// with isError, since there the model is the one to tell.
async function refusals(report, open) {
  const refuses = async (session, tool, args, capabilities) => {
    if (session.modern) {
      const error = await refused(session.call(tool, args), -32021);
      assert.deepEqual(error.data, { requiredCapabilities: capabilities });
    } else {
      const result = await session.call(tool, args);
      assert.equal(result.isError, true, JSON.stringify(result));
    }
    assert.deepEqual(session.asked, []);
  };
  const bare = await open({ capabilities: {} });
  for (const [tool, args, capabilities] of [
    ['register', undefined, { elicitation: { form: {} } }],
    ['explicit', undefined, { elicitation: { form: {} } }],
    ['sign', undefined, { elicitation: { url: {} } }],
    ['ask_model', { prompt: 'Hm?' }, { sampling: {} }],
    ['roots', undefined, { roots: {} }],
  ]) {
    await report.check(`${tool} of a client that offers nothing`, () =>
      refuses(bare, tool, args, capabilities));
  }
  await bare.close();

  const forms = await open({ capabilities: { elicitation: {} } });
  await report.check('an empty elicitation capability means forms', async () => {
    forms.answers.elicit = () => ({ action: 'accept', content: { name: 'Ada' } });
    await says(forms, 'register', undefined, 'welcome, Ada, 18');
    forms.asked.length = 0;
    await refuses(forms, 'sign', undefined, { elicitation: { url: {} } });
  });
  await forms.close();
}
