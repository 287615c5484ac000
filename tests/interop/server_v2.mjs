// A server on the official TypeScript SDK 2.x, for our client, in both eras: on stdio what the
// client says first decides, for the whole process; over HTTP each request says its own.
//
//   node server_v2.mjs [--http]     on stdio, or on a free port, which it tells on stderr
//
// Offers and answers what the table in offer.mjs says, and what server_v1.mjs says below it.
// Besides:
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
import {
  McpServer, ResourceTemplate, WebStandardStreamableHTTPServerTransport, completable,
  createMcpHandler, inputRequired, inputResponse, isLegacyRequest,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

import { listen, sessions } from './http.mjs';
import {
  cut, form, greeted, grown, http, info, listed, message, offer, options, progress, said, text,
  tools,
} from './offer.mjs';

let handler;  // of the new era over HTTP, where each request has a server of its own
let hasGrown = false;

// Each handler runs again with the answer; toward an old client the SDK asks and runs it again.
function questions(server) {
  server.registerTool('ask', tools.ask, ({ mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, 'name');
    if (answer.kind === 'elicit') return greeted(answer);
    const name = inputRequired.elicit(form);
    return inputRequired({ inputRequests: { name }, requestState: 'asked for a name' });
  });
  server.registerTool('sample', tools.sample, ({ prompt }, { mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, 'answer');
    if (answer.kind === 'sampling') return said(answer.result);
    const question = inputRequired.createMessage(message(prompt));
    return inputRequired({ inputRequests: { answer: question } });
  });
  server.registerTool('roots', tools.roots, ({ mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, 'roots');
    if (answer.kind === 'roots') return listed(answer);
    return inputRequired({ inputRequests: { roots: inputRequired.listRoots() } });
  });
}

function make({ era }) {
  const server = new McpServer(info, options);
  offer(server, {
    ResourceTemplate,
    completable,
    schema: z.object,
    cache: { cacheHint: { ttlMs: 60_000, cacheScope: 'public' } },
  });

  server.registerTool('progress', tools.progress, (input, { mcpReq }) => progress(input, mcpReq));
  server.registerTool('log', tools.log, async ({ level, text: data }, { mcpReq }) => {
    await mcpReq.log(level, data, 'interop');
    return text('logged');
  });

  const subscribed = new Set();
  server.server.setRequestHandler('resources/subscribe', ({ params }) => {
    subscribed.add(params.uri);
    return {};
  });
  server.server.setRequestHandler('resources/unsubscribe', ({ params }) => {
    subscribed.delete(params.uri);
    return {};
  });
  server.registerTool('touch', tools.touch, async () => {
    const uri = 'test://text';
    // Who listens is known to the SDK, who has subscribed is not.
    const modern = server.server.getNegotiatedProtocolVersion() >= '2026-07-28';
    if (modern && handler) handler.notify.resourceUpdated(uri);
    else if (modern || subscribed.has(uri)) await server.server.sendResourceUpdated({ uri });
    return text('touched');
  });
  if (hasGrown) grown(server);
  server.registerTool('grow', tools.grow, () => {
    if (!hasGrown) grown(server);
    hasGrown = true;
    handler?.notify.toolsChanged();
    return text('grown');
  });
  if (http && era === 'legacy') {
    server.registerTool('cut', tools.cut, ({ http: { closeSSE } }) => cut(closeSSE));
  }
  questions(server);
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
