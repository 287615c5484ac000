// The official TypeScript SDK 2.x as a client of our server, in either era.
//
//   node client_v2.mjs legacy|auto COMMAND [ARGUMENT...]    COMMAND is examples/everything on stdio
//   node client_v2.mjs legacy|auto http://HOST:PORT/PATH    it listens there
//
// With `auto` the SDK must find the stateless era; on stdio its probe is a process of its own,
// started and ended before the one it goes on with (`in place` below is the probe on the same
// pipe).
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { z } from 'zod';

import { ALL, checks, says } from './checks.mjs';
import { Report, assert, received, record, refused, sent, until } from './harness.mjs';
import { watchedFetch } from './http.mjs';
import { httpChecks } from './http_checks.mjs';

const [mode, command, ...args] = process.argv.slice(2);
if (!command || !['legacy', 'auto'].includes(mode)) {
  console.error('usage: client_v2.mjs legacy|auto COMMAND [ARGUMENT...]|URL');
  process.exit(2);
}

const kind = command.startsWith('http://') ? 'http' : 'stdio';
const MODERN = '2026-07-28';
const LEGACY = '2025-11-25';
const README = 'everything://readme';
const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';

const report = new Report();

async function open({
  capabilities,
  info = { name: 'interop-v2', version: '1.0.0' },
  versions,
  negotiation = mode,
  Transport = StdioClientTransport,
  options = {},
  connect,
  prepare,
}) {
  const client = new Client(info, {
    capabilities,
    versionNegotiation: { mode: negotiation },
    ...(versions && { supportedProtocolVersions: versions }),
    ...options,
  });
  const network = watchedFetch();
  prepare?.(network);
  const session = {
    kind,
    network,
    client,
    info,
    asked: [],
    errors: [],
    answers: {
      elicit: () => ({ action: 'cancel' }),
      sample: () => ({
        model: 'test-model', role: 'assistant', content: { type: 'text', text: 'Hello' },
      }),
      roots: () => ({ roots: [{ uri: 'file:///project', name: 'here' }] }),
    },
    call: (name, args, { meta, input, ...options } = {}) =>
      client.callTool({ name, arguments: args, ...(meta && { _meta: meta }), ...input }, options),
    request: (method, params) => client.request({ method, params }, z.looseObject({})),
    on: (method, callback) => client.setNotificationHandler(method, callback),
    close: () => client.close(),
  };
  const answer = (kind) => ({ method, params }) => {
    session.asked.push({ method, params });
    return session.answers[kind](params);
  };
  if (capabilities.elicitation) client.setRequestHandler('elicitation/create', answer('elicit'));
  if (capabilities.sampling) client.setRequestHandler('sampling/createMessage', answer('sample'));
  if (capabilities.roots) client.setRequestHandler('roots/list', answer('roots'));
  client.onerror = (error) => session.errors.push(error);

  const transport = kind === 'stdio'
    ? new Transport({ command, args })
    : new StreamableHTTPClientTransport(new URL(command), { fetch: network.fetch });
  session.transport = transport;
  await client.connect(transport, connect);
  session.revision = client.getNegotiatedProtocolVersion();
  session.modern = client.getProtocolEra() === 'modern';
  session.wire = record(transport);
  report.watch(session.wire);
  return session;
}

await checks(report, open, mode === 'auto' ? MODERN : LEGACY);
await report.check('listChanged of the SDK follows the tools', async () => {
  let names = [];
  const onChanged = (error, tools) => (names = error ? [String(error)] : tools.map((t) => t.name));
  const options = { listChanged: { tools: { onChanged } } };
  const session = await open({ capabilities: {}, options });
  await says(session, 'grow', undefined, 'there is a new tool');
  await until('the list came', () => names.length > 0);
  assert.ok(names.includes('grown'), names.join());
  await session.close();
});
if (kind !== 'stdio') await httpChecks(report, open);
if (mode === 'auto') {
  await connecting();
  await listening();
  await caching();
  await rounds();
} else {
  await revisions();
}
process.exit(report.finish());

// Older clients, as far as this SDK plays them: it accepts what is newer than its revision, so what
// must not be sent is looked for on the wire.
async function revisions() {
  for (const revision of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
    await report.check(`revision ${revision}`, async () => {
      const capabilities = { sampling: {}, roots: {} };
      const session = await open({ capabilities, versions: [revision] });
      assert.equal(session.revision, revision);
      await says(session, 'who', undefined, `interop-v2 speaks ${revision}`);
      const structured = revision >= '2025-06-18';
      const { tools } = await session.client.listTools();
      const tool = (wanted) => tools.find(({ name }) => name === wanted);
      assert.equal(tool('statistics').outputSchema !== undefined, structured);
      assert.equal(tool('echo').title !== undefined, structured);
      assert.equal(tool('echo').annotations !== undefined, revision >= '2025-03-26');
      const result = await session.call('statistics', { numbers: [1, 2] });
      assert.equal(result.structuredContent !== undefined, structured);
      assert.equal(JSON.parse(result.content[0].text).sum, 3);
      const kinds = (await session.call('contents')).content.map(({ type }) => type);
      assert.equal(kinds.includes('audio'), revision >= '2025-03-26', kinds.join());
      assert.equal(kinds.includes('resource_link'), structured, kinds.join());
      // Arguments that do not fit are the model's business since 2025-11-25.
      if (revision >= '2025-11-25') assert.equal((await session.call('echo', {})).isError, true);
      else await refused(session.call('echo', {}), -32602);
      await says(session, 'ask_model', { prompt: 'Hm?' }, 'test-model says: Hello');
      // Nobody can be asked by a form before there were forms.
      assert.equal((await session.call('register')).isError, true);
      await session.close();
    });
  }
}

async function connecting() {
  // What is not the base class itself is probed on its own pipe.
  class OwnTransport extends StdioClientTransport {}
  const works = async (options) => {
    const session = await open({ capabilities: {}, ...options });
    assert.equal(session.revision, MODERN);
    await says(session, 'who', undefined, `interop-v2 speaks ${MODERN}`);
    await session.close();
  };
  if (kind === 'stdio') {
    await report.check('the probe in place', () => works({ Transport: OwnTransport }));
  }
  await report.check('the revision pinned', () => works({ negotiation: { pin: MODERN } }));
  await report.check('server/discover', async () => {
    const session = await open({ capabilities: {} });
    const discover = await session.client.discover();
    assert.deepEqual(discover, session.client.getDiscoverResult());
    assert.ok(discover.supportedVersions.includes(MODERN));
    assert.ok(discover.supportedVersions.includes(LEGACY), 'this server speaks both');
    assert.equal(discover.instructions, 'Call any tool; each shows one feature.');
    assert.ok(discover.ttlMs >= 0);
    assert.ok(['public', 'private'].includes(discover.cacheScope));
    await session.close();
    await works({ connect: { prior: { kind: 'modern', discover } } });
  });
}

async function listening() {
  const session = await open({ capabilities: {} });
  const { client, wire } = session;
  const updated = [];
  let lists = 0;
  session.on('notifications/resources/updated', ({ params }) => updated.push(params.uri));
  session.on('notifications/tools/list_changed', () => (lists += 1));
  let resources;
  let tools;
  let both;

  await report.check('touch: no word to who does not listen', async () => {
    await says(session, 'touch', undefined, 'touched');
    await says(session, 'echo', { message: 'end' }, 'end');
    assert.deepEqual(updated, []);
  });
  await report.check('listen: acknowledged as asked', async () => {
    resources = await client.listen({ resourceSubscriptions: [README] });
    tools = await client.listen({ toolsListChanged: true });
    const all = {
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
      resourceSubscriptions: [README],
    };
    both = await client.listen(all);
    assert.deepEqual(resources.honoredFilter, { resourceSubscriptions: [README] });
    assert.deepEqual(tools.honoredFilter, { toolsListChanged: true });
    assert.deepEqual(both.honoredFilter, all);
  });
  const ids = () => sent(wire, 'subscriptions/listen').map(({ message }) => message.id);
  const told = (method) =>
    received(wire, method).map(({ message }) => message.params._meta[SUBSCRIPTION]);
  await report.check('listen, touch', async () => {
    await says(session, 'touch', undefined, 'touched');
    await until('both were told', () => updated.length === 2);
    assert.deepEqual(updated, [README, README]);
    const [first, , third] = ids();
    assert.deepEqual(told('notifications/resources/updated').sort(), [first, third].sort());
    assert.equal(lists, 0);
  });
  await report.check('listen, grow', async () => {
    await says(session, 'grow', undefined, 'there is a new tool');
    await until('both were told', () => lists === 2);
    const [, second, third] = ids();
    assert.deepEqual(told('notifications/tools/list_changed').sort(), [second, third].sort());
    assert.ok((await client.listTools()).tools.some(({ name }) => name === 'grown'));
    await says(session, 'grown', undefined, 'new');
    assert.equal(updated.length, 2);
  });
  await report.check('a listener that has gone hears nothing', async () => {
    await both.close();
    assert.equal(await both.closed, 'local');
    await says(session, 'touch', undefined, 'touched');
    await until('the other was told', () => updated.length === 3);
    await resources.close();
    await tools.close();
    await says(session, 'touch', undefined, 'touched');
    await says(session, 'echo', { message: 'end' }, 'end');
    assert.equal(updated.length, 3);
  });
  await report.check('listening leaves nothing unread', async () => {
    assert.deepEqual(session.errors.map(({ message }) => message), []);
    await session.close();
  });
}

async function caching() {
  const session = await open({ capabilities: {} });
  const { client, wire } = session;
  const reads = () => sent(wire, 'resources/read').length;
  session.on('notifications/resources/updated', () => {});

  await report.check('cache: the hints of every cacheable result', async () => {
    const read = await client.readResource({ uri: README });
    assert.equal(read.ttlMs, 60_000);
    assert.equal(read.cacheScope, 'public');
    for (const result of [
      await client.listTools(), await client.listPrompts(), await client.listResources(),
      await client.listResourceTemplates(),
      await client.readResource({ uri: 'everything://dot.png' }),
    ]) {
      assert.ok(Number.isInteger(result.ttlMs) && result.ttlMs >= 0, `ttlMs ${result.ttlMs}`);
      assert.ok(['public', 'private'].includes(result.cacheScope), result.cacheScope);
    }
  });
  await report.check('cache: a fresh resource is not read again', async () => {
    const before = reads();
    const { contents } = await client.readResource({ uri: README });
    assert.equal(contents[0].text, 'Read me first.');
    assert.equal(reads(), before);
  });
  await report.check('cache: an update ends it', async () => {
    const listener = await client.listen({ resourceSubscriptions: [README] });
    const before = reads();
    await says(session, 'touch', undefined, 'touched');
    const updates = () => received(wire, 'notifications/resources/updated').length;
    await until('the update came', () => updates() > 0);
    await client.readResource({ uri: README });
    assert.equal(reads(), before + 1);
    await listener.close();
  });
  await session.close();
}

// input_required by hand, where the client can do what the SDK's own loop never would.
async function rounds() {
  const session = await open({ capabilities: ALL });
  const step = (tool, args, input) => session.call(tool, args, { input, allowInputRequired: true });
  const tea = { item: 'tea' };
  const yes = { action: 'accept', content: { yes: true } };
  const ada = { action: 'accept', content: { name: 'Ada' } };
  // The key of a question is the server's choice.
  const only = ({ resultType, inputRequests }, message) => {
    assert.equal(resultType, 'input_required');
    const [[key, request], ...others] = Object.entries(inputRequests);
    assert.equal(others.length, 0);
    assert.equal(request.method, 'elicitation/create');
    if (message) assert.equal(request.params.message, message);
    return key;
  };
  const next = (last, answer, message) => {
    const key = only(last, message);
    return { requestState: last.requestState, inputResponses: { [key]: answer } };
  };
  const bent = (state) => {
    const middle = Math.floor(state.length / 2);
    return state.slice(0, middle) + (state[middle] === 'A' ? 'B' : 'A') + state.slice(middle + 1);
  };

  await report.check('rounds: by hand', async () => {
    const first = await step('explicit');
    assert.equal(typeof first.requestState, 'string');
    assert.ok(!('ttlMs' in first));
    const result = await step('explicit', undefined, next(first, ada, 'Your name?'));
    assert.equal(result.content[0].text, 'asked: Ada');
  });
  await report.check('rounds: all questions in one', async () => {
    const { inputRequests } = await step('all_at_once');
    assert.deepEqual(Object.values(inputRequests).map(({ method }) => method).sort(),
      ['elicitation/create', 'roots/list', 'sampling/createMessage']);
  });
  await report.check('rounds: a missing answer is asked for again', async () => {
    const first = await step('buy', tea);
    const input = { requestState: first.requestState, inputResponses: {} };
    only(await step('buy', tea, input), 'Buy tea?');
  });
  await report.check('rounds: an answer nobody asked for is ignored', async () => {
    const first = await step('buy', tea);
    const input = next(first, yes, 'Buy tea?');
    input.inputResponses.stranger = ada;
    only(await step('buy', tea, input), 'Who pays?');
  });
  await report.check('rounds: the same state twice has one effect', async () => {
    const first = await step('buy', tea);
    const second = await step('buy', tea, next(first, yes, 'Buy tea?'));
    const pay = next(second, ada, 'Who pays?');
    const thirds = await Promise.all([step('buy', tea, pay), step('buy', tea, pay)]);
    thirds.push(await step('buy', tea, pay));
    const ends = [];
    for (const third of thirds) {
      const { content } = await step('buy', tea, next(third, yes, 'Do you want a receipt?'));
      ends.push(content[0].text);
    }
    assert.match(ends[0], /^tea: payment \d+ by Ada$/);
    assert.deepEqual(ends, Array(3).fill(ends[0]));
  });
  await report.check('rounds: state that was tampered with', async () => {
    const first = await step('buy', tea);
    const input = next(first, yes, 'Buy tea?');
    await refused(step('buy', tea, { ...input, requestState: bent(first.requestState) }), -32602);
    await refused(step('buy', tea, { ...input, requestState: 'mine' }), -32602);
  });
  await report.check('rounds: state of another tool, and of other arguments', async () => {
    const first = await step('buy', tea);
    const input = next(first, yes, 'Buy tea?');
    await refused(step('register', undefined, input), -32602);
    await refused(step('buy', { item: 'gold' }, input), -32602);
  });
  await report.check('rounds: an answer that does not fit the question', async () => {
    const first = await step('buy', tea);
    const wrong = next(first, { action: 'accept', content: { yes: 'perhaps' } }, 'Buy tea?');
    // The specification leaves the choice between an error and the question again.
    const outcome = await step('buy', tea, wrong).catch((error) => error);
    if (outcome instanceof Error) assert.equal(outcome.code, -32602);
    else if (!outcome.isError) only(outcome, 'Buy tea?');
  });
  await session.close();
}
