// What only HTTP has: sessions and their end, headers, streams that break. For either SDK and era;
// `open` as in checks.mjs.
import { says } from './checks.mjs';
import { assert, received, results, sent, until } from './harness.mjs';

const README = 'everything://readme';
const ID = 'mcp-session-id';

const resumptions = ({ network }) =>
  network.exchanges.filter(({ sent: headers }) => headers.has('last-event-id'));

export async function httpChecks(report, open) {
  const session = await open({ capabilities: {} });
  await session.close();
  if (session.kind === 'sse') await old(report, open);
  else if (session.modern) await stateless(report, open);
  else await stateful(report, open);
}

async function stateful(report, open) {
  await report.check('http: a session id that is sent with everything', async () => {
    const session = await open({ capabilities: {} });
    const { exchanges } = session.network;
    const { sessionId } = session.transport;
    assert.match(sessionId, /^[\x21-\x7e]{22,}$/);
    await says(session, 'echo', { message: 'a' }, 'a');
    await until('the stream was asked for', () => exchanges.some(({ method }) => method === 'GET'));
    const [first, ...rest] = exchanges;
    assert.equal(first.received.get(ID), sessionId);
    assert.ok(rest.length >= 3);
    for (const { sent: headers, status } of rest) {
      assert.equal(headers.get(ID), sessionId);
      assert.equal(headers.get('mcp-protocol-version'), session.revision);
      assert.ok(status === 200 || status === 202, `${status}`);
    }
    await session.close();
  });
  await report.check('http: DELETE ends this session and no other', async () => {
    const session = await open({ capabilities: {} });
    const other = await open({ capabilities: {} });
    const { sessionId } = session.transport;
    assert.notEqual(sessionId, other.transport.sessionId);
    await session.transport.terminateSession();
    const { method, status } = session.network.exchanges.at(-1);
    assert.equal(method, 'DELETE');
    assert.ok(status === 200 || status === 204, `${status}`);
    const { url, sent: headers } = session.network.exchanges.at(0);
    const late = await fetch(url, {
      method: 'POST',
      headers: { ...Object.fromEntries(headers), [ID]: sessionId },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
    });
    assert.equal(late.status, 404);
    await says(other, 'echo', { message: 'still here' }, 'still here');
    await session.close();
    await other.close();
  });
  await report.check('http: a call whose connection is cut goes on where it was', async () => {
    const session = await open({ capabilities: {} });
    const { network, wire } = session;
    const done = network.cut(
      (method, body) => method === 'POST' && body.includes('"work"'),
      (text) => text.split('notifications/progress').length > 3);
    const work = { steps: 20, milliseconds: 50 };
    // Without onprogress there would be no token.
    await says(session, 'work', work, 'done after 20 steps', { onprogress: () => {} });
    await done;
    const again = resumptions(session);
    assert.equal(again.length, 1);
    assert.equal(again[0].method, 'GET');
    assert.equal(again[0].status, 200);
    const steps = received(wire, 'notifications/progress').map(({ message }) => message.params);
    const all = Array.from({ length: 20 }, (_, index) => index + 1);
    assert.deepEqual(steps.map(({ progress }) => progress), all);
    assert.equal(sent(wire, 'tools/call').length, 1);
    assert.equal(results(wire).length, 1);
    await session.close();
  });
  await report.check('http: what happened while the stream was away comes later', async () => {
    // The stream is opened while the session begins, so the scissors must be there before.
    let whole = false;
    const session = await open({
      capabilities: {},
      prepare: ({ cut }) =>
        cut((method) => method === 'GET', (text) => text.includes('resources/updated'))
          .then(() => (whole = true)),
    });
    const updated = [];
    session.on('notifications/resources/updated', ({ params }) => updated.push(params.uri));
    await session.client.subscribeResource({ uri: README });
    await says(session, 'touch', undefined, 'touched');
    await until('the stream was cut', () => whole);
    await says(session, 'touch', undefined, 'touched');
    await until('both updates came', () => updated.length >= 2);
    await session.client.ping();
    assert.deepEqual(updated, [README, README]);
    const again = resumptions(session);
    assert.equal(again.length, 1);
    await session.close();
  });
}

async function stateless(report, open) {
  await report.check('http: no session, and headers that say what the body says', async () => {
    const session = await open({ capabilities: {} });
    const { exchanges } = session.network;
    const from = exchanges.length;
    await says(session, 'echo', { message: 'a' }, 'a');
    await session.client.readResource({ uri: README });
    await session.client.getPrompt({ name: 'greet' });
    await session.client.listTools();
    const told = exchanges.slice(from).map(({ sent: headers }) =>
      [headers.get('mcp-method'), headers.get('mcp-name')]);
    assert.deepEqual(told, [
      ['tools/call', 'echo'], ['resources/read', README], ['prompts/get', 'greet'],
      ['tools/list', null],
    ]);
    for (const { method, status, sent: headers, received: back } of exchanges) {
      assert.equal(method, 'POST');
      assert.equal(status, 200);
      assert.equal(headers.get('mcp-protocol-version'), session.revision);
      assert.equal(headers.get(ID), null);
      assert.equal(back.get(ID), null);
    }
    await session.close();
  });
  await report.check('http: an answer is JSON until there is more to say', async () => {
    const session = await open({ capabilities: {} });
    const type = () => session.network.exchanges.at(-1).received.get('content-type');
    await says(session, 'echo', { message: 'a' }, 'a');
    assert.match(type(), /^application\/json/);
    await says(session, 'work', { steps: 2, milliseconds: 1 }, 'done after 2 steps',
      { onprogress: () => {} });
    assert.match(type(), /^text\/event-stream/);
    await session.close();
  });
  await report.check('http: the status of an error', async () => {
    const session = await open({ capabilities: {} });
    const { exchanges } = session.network;
    await assert.rejects(session.request('no/such/method', {}));
    assert.equal(exchanges.at(-1).status, 404);
    await assert.rejects(session.call('register'));
    assert.equal(exchanges.at(-1).status, 400);
    await session.close();
  });
  await report.check('http: a call whose connection is cut is not taken up again', async () => {
    const session = await open({ capabilities: {} });
    const done = session.network.cut(
      (method, body) => body.includes('"work"'),
      (text) => text.includes('notifications/progress'));
    // SDK 2.x hears of the cut by onerror only, and the call goes on waiting.
    const work = session.call('work', { steps: 100, milliseconds: 20 },
      { onprogress: () => {}, timeout: 500, resetTimeoutOnProgress: false });
    await Promise.all([done, assert.rejects(work)]);
    assert.ok(session.errors.some(({ message }) => /disconnected/.test(message)));
    assert.equal(session.network.exchanges.filter(({ method }) => method === 'GET').length, 0);
    assert.equal(received(session.wire, 'notifications/progress').length, 1);
    await says(session, 'echo', { message: 'still here' }, 'still here');
    await session.close();
  });
}

async function old(report, open) {
  await report.check('sse: one stream, and messages that are accepted', async () => {
    const session = await open({ capabilities: {} });
    await says(session, 'echo', { message: 'a' }, 'a');
    const { exchanges } = session.network;
    // An answer may be faster on the stream than the word that its question was accepted.
    await until('all was accepted', () => exchanges.length >= 4);
    const [stream, ...posts] = exchanges;
    assert.equal(stream.method, 'GET');
    assert.match(stream.received.get('content-type'), /^text\/event-stream/);
    assert.equal(posts.length, 3);
    for (const { method, status, url } of posts) {
      assert.equal(method, 'POST');
      assert.equal(status, 202);
      assert.equal(new URL(url).origin, new URL(stream.url).origin);
    }
    await session.close();
  });
  await report.check('sse: the end of the stream is that of the session', async () => {
    const session = await open({ capabilities: {} });
    const { url } = session.network.exchanges.at(-1);
    await session.close();
    const late = () => fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
    });
    let status;
    for (let tries = 0; tries < 100 && status !== 404; ++tries) ({ status } = await late());
    assert.equal(status, 404);
  });
}
