// A server on the official TypeScript SDK 1.x, for our client.
//
//   node server_v1.mjs [--http]     on stdio, or on a free port, which it tells on stderr
//
// Offers and answers what the table in offer.mjs says, as server_v2.mjs does under the same names.
//
// A client without the capability a tool needs gets a result with isError from ask, sample and
// roots; an argument that does not fit gives isError, too; an unknown prompt and a missing argument
// of one are -32602. Schemas are of draft 7 here and of 2020-12 in server_v2.mjs, and say so.
//
// Over HTTP the question of sample and progress come on the stream of their call, everything else
// that the server says by itself on that of the session.
//
// Where this SDK is looser than the specification: an unknown tool is a result with isError, not
// the error -32602; an unknown resource is -32602 without data, not -32002; and clients that offer
// no sampling and no roots are asked nevertheless (who answers -32601 gets the isError above).
import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import {
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import {
  SubscribeRequestSchema, UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';

import { listen, sessions } from './http.mjs';
import {
  cut, form, greeted, grown, http, info, listed, message, offer, options, progress, said, text,
  tools,
} from './offer.mjs';

function make() {
  const server = new McpServer(info, options);
  offer(server, { ResourceTemplate, completable, schema: (shape) => shape });

  server.registerTool('progress', tools.progress,
    (input, { _meta, sendNotification: notify, signal }) =>
      progress(input, { _meta, notify, signal }));
  server.registerTool('ask', tools.ask, async () => greeted(await server.server.elicitInput(form)));
  server.registerTool('sample', tools.sample,
    async ({ prompt }, { requestId: relatedRequestId }) =>
      said(await server.server.createMessage(message(prompt), { relatedRequestId })));
  server.registerTool('roots', tools.roots, async () => listed(await server.server.listRoots()));
  server.registerTool('log', tools.log, async ({ level, text: data }, { sessionId }) => {
    await server.sendLoggingMessage({ level, data, logger: 'interop' }, sessionId);
    return text('logged');
  });

  const subscribed = new Set();
  server.server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
    subscribed.add(params.uri);
    return {};
  });
  server.server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
    subscribed.delete(params.uri);
    return {};
  });
  server.registerTool('touch', tools.touch, async () => {
    const uri = 'test://text';
    if (subscribed.has(uri)) await server.server.sendResourceUpdated({ uri });
    return text('touched');
  });
  server.registerTool('grow', tools.grow, () => {
    grown(server);
    return text('grown');
  });
  if (http) server.registerTool('cut', tools.cut, ({ closeSSEStream }) => cut(closeSSEStream));
  return server;
}

if (http) listen(sessions(WebStandardStreamableHTTPServerTransport, make));
else await make().connect(new StdioServerTransport());
