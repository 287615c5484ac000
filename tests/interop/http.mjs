// What the scripts share about HTTP: for clients a fetch that remembers what passed and can cut a
// stream, for servers a listener on node:http, an event store and sessions.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { Readable } from 'node:stream';

/**
 * A fetch for the transports of either SDK. `exchanges` has {method, url, sent, status, received}
 * of each, in order. cut(when) makes the next stream of events whose request satisfies
 * `when(method, body)` end in the middle, as by a broken connection, once `enough(text so far)`.
 */
export function watchedFetch() {
  const exchanges = [];
  let scissors;
  const watched = async (url, init = {}) => {
    const response = await fetch(url, init);
    const method = init.method ?? 'GET';
    exchanges.push({
      method,
      url: String(url),
      sent: new Headers(init.headers),
      status: response.status,
      received: response.headers,
    });
    const events = response.headers.get('content-type')?.startsWith('text/event-stream');
    if (!events || !scissors?.when(method, init.body)) return response;
    const { enough, done } = scissors;
    scissors = undefined;
    const { status, statusText, headers } = response;
    return new Response(cutting(response.body, enough, done), { status, statusText, headers });
  };
  const cut = (when, enough) =>
    new Promise((done) => {
      scissors = { when, enough, done };
    });
  return { fetch: watched, exchanges, cut };
}

function cutting(body, enough, done) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  return new ReadableStream(
    {
      // Called when somebody waits for more, so that what came before the cut has been read.
      async pull(controller) {
        if (enough(text)) {
          await reader.cancel();
          controller.error(new TypeError('cut'));
          done();
          return;
        }
        const { value, done: end } = await reader.read();
        if (end) return controller.close();
        text += decoder.decode(value, { stream: true });
        controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

/** Serves `handle(Request) -> Response` at /mcp of a free port, and says where. */
export function listen(handle) {
  const server = createServer(async (incoming, outgoing) => {
    const gone = new AbortController();
    outgoing.on('close', () => gone.abort());
    try {
      const url = new URL(incoming.url, `http://${incoming.headers.host}`);
      if (url.pathname !== '/mcp') return outgoing.writeHead(404).end();
      const body = !['GET', 'HEAD'].includes(incoming.method);
      const response = await handle(new Request(url, {
        method: incoming.method,
        headers: incoming.headers,
        signal: gone.signal,
        ...(body && { body: Readable.toWeb(incoming), duplex: 'half' }),
      }));
      outgoing.writeHead(response.status, Object.fromEntries(response.headers));
      outgoing.flushHeaders();
      if (!response.body) return outgoing.end();
      const stream = Readable.fromWeb(response.body);
      stream.on('error', () => outgoing.destroy());
      outgoing.on('close', () => stream.destroy());
      stream.pipe(outgoing);
    } catch (error) {
      console.error(error);
      if (!outgoing.headersSent) outgoing.writeHead(500);
      outgoing.end();
    }
  });
  server.listen(0, '127.0.0.1', () =>
    console.error(`listening on http://127.0.0.1:${server.address().port}/mcp`));
}

/** Everything that was sent, so that it can be sent again. */
class Events {
  #events = [];

  async storeEvent(stream, message) {
    return String(this.#events.push({ stream, message }));
  }

  async getStreamIdForEventId(id) {
    return this.#events[id - 1]?.stream;
  }

  async replayEventsAfter(last, { send }) {
    const stream = this.#events[last - 1]?.stream;
    for (let id = Number(last) + 1; id <= this.#events.length; ++id) {
      const event = this.#events[id - 1];
      // A message is absent from the event that only begins a stream.
      if (event.stream === stream && event.message.jsonrpc) await send(String(id), event.message);
    }
    return stream;
  }
}

/** The old era: a transport and a server for each session. `make` gives a new server. */
export function sessions(Transport, make) {
  const open = new Map();
  return async (request) => {
    const id = request.headers.get('mcp-session-id');
    if (id) {
      const transport = open.get(id);
      return transport ? transport.handleRequest(request) : refusal(404, 'no such session');
    }
    const transport = new Transport({
      sessionIdGenerator: randomUUID,
      eventStore: new Events(),
      retryInterval: 50,
      onsessioninitialized: (made) => void open.set(made, transport),
      onsessionclosed: (closed) => void open.delete(closed),
    });
    await make().connect(transport);
    return transport.handleRequest(request);
  };
}

const refusal = (status, message) =>
  Response.json({ jsonrpc: '2.0', id: null, error: { code: -32000, message } }, { status });
