// A server on the official TypeScript SDK 2.x, for our client, in both eras: on stdio what the
// client says first decides, for the whole process; over HTTP each request says its own.
//
//   node server_v2.mjs [--http]     on stdio, or on a free port, which it tells on stderr
//
// Offers and answers what the table in server_v1.mjs says. Besides:
//   - questions (ask, sample, roots) are rounds of input_required to a client of 2026-07-28, and
//     requests of the server to an older one;
//   - results of resources/read of test://text may be kept for a minute (ttlMs 60000, public);
//   - a client of 2026-07-28 without the capability a question needs gets the error -32021, an
//     older one a result with isError;
//   - touch and grow are told to those who listen in the new era, in the old grow to everybody and
//     touch to who has subscribed;
//   - log messages go out by the level of the request in the new era, and there to nobody who sent
//     none;
//   - an unknown tool is -32602; an unknown resource is -32602 with {"uri": ...} as data, also to
//     old clients, to whom the specification would say -32002.
import { setTimeout as sleep } from 'node:timers/promises';

import {
  McpServer, ResourceTemplate, WebStandardStreamableHTTPServerTransport, completable,
  createMcpHandler, inputRequired, inputResponse, isLegacyRequest,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

import { listen, sessions } from './http.mjs';

const http = process.argv.includes('--http');
let handler;  // of the new era over HTTP, where each request has a server of its own
let grown = false;

const text = (value, more = {}) => ({ content: [{ type: 'text', text: value }], ...more });
const among = (words) => (value) => words.filter((word) => word.startsWith(value ?? ''));

function tools(server, subscribed, era) {
  server.registerTool('echo',
    {
      title: 'Echo',
      description: 'Gives the message back',
      inputSchema: z.object({ message: z.string() }),
    },
    ({ message }) => text(message));
  server.registerTool('add',
    {
      description: 'Adds two numbers',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
    },
    ({ a, b }) => text(JSON.stringify({ sum: a + b }), { structuredContent: { sum: a + b } }));
  server.registerTool('fail', { description: 'Fails, and says so to the model' },
    () => text('as it should', { isError: true }));
  server.registerTool('progress',
    {
      description: 'Reports progress',
      inputSchema: z.object({ steps: z.number().int().min(1).max(1000) }),
    },
    async ({ steps }, { mcpReq: { _meta, notify, signal } }) => {
      for (let step = 1; step <= steps && !signal.aborted; ++step) {
        await sleep(20);
        if (_meta?.progressToken === undefined) continue;
        await notify({
          method: 'notifications/progress',
          params: {
            progressToken: _meta.progressToken,
            progress: step,
            total: steps,
            message: `step ${step}`,
          },
        });
      }
      return text(`done after ${steps} steps`);
    });
  server.registerTool('log',
    {
      description: 'Writes to the log of the client',
      inputSchema: z.object({
        level: z.enum(['debug', 'info', 'warning', 'error']), text: z.string(),
      }),
    },
    async ({ level, text: data }, { mcpReq }) => {
      await mcpReq.log(level, data, 'interop');
      return text('logged');
    });
  server.registerTool('touch', { description: 'Says that the text has changed' }, async () => {
    const uri = 'test://text';
    // Who listens is known to the SDK, who has subscribed is not.
    const modern = server.server.getNegotiatedProtocolVersion() >= '2026-07-28';
    if (modern && handler) handler.notify.resourceUpdated(uri);
    else if (modern || subscribed.has(uri)) await server.server.sendResourceUpdated({ uri });
    return text('touched');
  });
  const grow = () =>
    server.registerTool('grown', { description: 'Was not there before' }, () => text('new'));
  if (grown) grow();
  server.registerTool('grow', { description: 'Adds a tool' }, () => {
    if (!grown) grow();
    grown = true;
    handler?.notify.toolsChanged();
    return text('grown');
  });
  if (http && era === 'legacy') {
    server.registerTool('cut', { description: 'Answers who comes back' },
      async ({ http: { closeSSE } }) => {
        closeSSE?.();
        await sleep(20);
        return text('resumed');
      });
  }
}

// Each handler runs again with the answer; toward an old client the SDK asks and runs it again.
function questions(server) {
  server.registerTool('ask', { description: 'Asks for a name' }, ({ mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, 'name');
    if (answer.kind !== 'elicit') {
      const name = inputRequired.elicit({
        message: 'Your name?',
        requestedSchema: {
          type: 'object',
          properties: { name: { type: 'string', title: 'Name' } },
          required: ['name'],
        },
      });
      return inputRequired({ inputRequests: { name }, requestState: 'asked for a name' });
    }
    if (answer.action === 'accept') return text(`hello ${answer.content.name}`);
    return text(answer.action === 'decline' ? 'declined' : 'cancelled');
  });
  server.registerTool('sample',
    { description: 'Asks the model', inputSchema: z.object({ prompt: z.string() }) },
    ({ prompt }, { mcpReq }) => {
      const answer = inputResponse(mcpReq.inputResponses, 'answer');
      if (answer.kind === 'sampling') {
        const { model, content } = answer.result;
        return text(`${model} says: ${content.text}`);
      }
      const question = inputRequired.createMessage({
        messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens: 50,
      });
      return inputRequired({ inputRequests: { answer: question } });
    });
  server.registerTool('roots', { description: 'Asks for the roots' }, ({ mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, 'roots');
    if (answer.kind === 'roots') return text(answer.roots.map(({ uri }) => uri).join('\n'));
    return inputRequired({ inputRequests: { roots: inputRequired.listRoots() } });
  });
}

function resources(server, subscribed) {
  server.server.setRequestHandler('resources/subscribe', ({ params }) => {
    subscribed.add(params.uri);
    return {};
  });
  server.server.setRequestHandler('resources/unsubscribe', ({ params }) => {
    subscribed.delete(params.uri);
    return {};
  });
  server.registerResource('text', 'test://text',
    { mimeType: 'text/plain', cacheHint: { ttlMs: 60_000, cacheScope: 'public' } },
    ({ href: uri }) => ({ contents: [{ uri, mimeType: 'text/plain', text: 'some text' }] }));
  server.registerResource('bytes', 'test://bytes', { mimeType: 'application/octet-stream' },
    ({ href: uri }) => ({
      contents: [{
        uri,
        mimeType: 'application/octet-stream',
        blob: Buffer.from([0, 1, 2, 0xfe, 0xff]).toString('base64'),
      }],
    }));
  server.registerResource('item',
    new ResourceTemplate('test://items/{id}', {
      list: undefined, complete: { id: among(['1', '2', '10', '20']) },
    }),
    { mimeType: 'text/plain' },
    ({ href: uri }, { id }) => ({
      contents: [{ uri, mimeType: 'text/plain', text: `item ${id}` }],
    }));
  server.registerPrompt('greet',
    {
      description: 'Greets somebody',
      argsSchema: z.object({ name: completable(z.string(), among(['Ada', 'Alan', 'Grace'])) }),
    },
    ({ name }) => ({
      messages: [{ role: 'user', content: { type: 'text', text: `Please greet ${name}.` } }],
    }));
}

function make({ era }) {
  const server = new McpServer(
    { name: 'interop-server', version: '1.0.0', title: 'Interop server' },
    {
      instructions: 'Call anything.',
      capabilities: { logging: {}, resources: { subscribe: true } },
    },
  );
  const subscribed = new Set();
  tools(server, subscribed, era);
  questions(server);
  resources(server, subscribed);
  return server;
}

if (http) {
  handler = createMcpHandler(make, { legacy: 'reject' });
  const old = sessions(WebStandardStreamableHTTPServerTransport, () => make({ era: 'legacy' }));
  listen(async (request) =>
    (await isLegacyRequest(request)) ? old(request) : handler.fetch(request));
} else {
  serveStdio(make);
}
