// A server on the official TypeScript SDK 1.x, for our client.
//
//   node server_v1.mjs [--http]     on stdio, or on a free port, which it tells on stderr
//
// server_v2.mjs offers the same under the same names.
//
//   serverInfo      interop-server 1.0.0, title "Interop server", instructions "Call anything."
//
//   tool            arguments          answer
//   echo            message: string    text MESSAGE
//   add             a, b: number       structuredContent {"sum": A + B}, text the same JSON;
//                                      has an outputSchema
//   fail                               isError, text "as it should"
//   progress        steps: integer     STEPS reports (progress 1.. of total STEPS, message "step
//                                      N", 20 ms apart), if a token was sent; text "done after
//                                      STEPS steps"; stops when cancelled
//   ask                                a form with the required string "name", message "Your
//                                      name?"; accepted: text "hello NAME"; else text "declined"
//                                      or "cancelled"
//   sample          prompt: string     asks the model for at most 50 tokens; text "MODEL says:
//                                      TEXT"
//   roots                              text: the uris of the client's roots, one a line
//   log             level, text        one log message of that level, data TEXT, logger "interop";
//                                      text "logged"
//   touch                              says that test://text has changed; text "touched"
//   grow                               adds the tool "grown" (text "new") and says so; text "grown"
//   cut                                over HTTP only: ends the stream of its call and answers
//                                      while nobody reads; text "resumed"
//
//   resource        test://text        text/plain, text "some text"
//                   test://bytes       application/octet-stream, the bytes 00 01 02 fe ff
//   template        test://items/{id}  text/plain, text "item ID"; id completes among 1, 2, 10, 20
//   prompt          greet(name)        one message of the user, text "Please greet NAME."; name
//                                      completes among Ada, Alan, Grace
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
import { setTimeout as sleep } from 'node:timers/promises';

import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import {
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import {
  SubscribeRequestSchema, UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

import { listen, sessions } from './http.mjs';

const http = process.argv.includes('--http');
const text = (value, more = {}) => ({ content: [{ type: 'text', text: value }], ...more });
const among = (words) => (value) => words.filter((word) => word.startsWith(value ?? ''));

function make() {
  const server = new McpServer(
    { name: 'interop-server', version: '1.0.0', title: 'Interop server' },
    {
      instructions: 'Call anything.',
      capabilities: { logging: {}, resources: { subscribe: true } },
    },
  );

  server.registerTool('echo',
    { title: 'Echo', description: 'Gives the message back', inputSchema: { message: z.string() } },
    ({ message }) => text(message));
  server.registerTool('add',
    {
      description: 'Adds two numbers',
      inputSchema: { a: z.number(), b: z.number() },
      outputSchema: { sum: z.number() },
    },
    ({ a, b }) => text(JSON.stringify({ sum: a + b }), { structuredContent: { sum: a + b } }));
  server.registerTool('fail', { description: 'Fails, and says so to the model' },
    () => text('as it should', { isError: true }));
  server.registerTool('progress',
    { description: 'Reports progress', inputSchema: { steps: z.number().int().min(1).max(1000) } },
    async ({ steps }, { _meta, sendNotification, signal }) => {
      for (let step = 1; step <= steps && !signal.aborted; ++step) {
        await sleep(20);
        if (_meta?.progressToken === undefined) continue;
        await sendNotification({
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
  server.registerTool('ask', { description: 'Asks for a name' }, async () => {
    const { action, content } = await server.server.elicitInput({
      message: 'Your name?',
      requestedSchema: {
        type: 'object', properties: { name: { type: 'string', title: 'Name' } }, required: ['name'],
      },
    });
    if (action === 'accept') return text(`hello ${content.name}`);
    return text(action === 'decline' ? 'declined' : 'cancelled');
  });
  server.registerTool('sample',
    { description: 'Asks the model', inputSchema: { prompt: z.string() } },
    async ({ prompt }, { requestId: relatedRequestId }) => {
      const { model, content } = await server.server.createMessage({
        messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens: 50,
      }, { relatedRequestId });
      return text(`${model} says: ${content.text}`);
    });
  server.registerTool('roots', { description: 'Asks for the roots' }, async () => {
    const { roots } = await server.server.listRoots();
    return text(roots.map(({ uri }) => uri).join('\n'));
  });
  server.registerTool('log',
    {
      description: 'Writes to the log of the client',
      inputSchema: { level: z.enum(['debug', 'info', 'warning', 'error']), text: z.string() },
    },
    async ({ level, text: data }, { sessionId }) => {
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
  server.registerTool('touch', { description: 'Says that the text has changed' }, async () => {
    const uri = 'test://text';
    if (subscribed.has(uri)) await server.server.sendResourceUpdated({ uri });
    return text('touched');
  });
  server.registerTool('grow', { description: 'Adds a tool' }, () => {
    server.registerTool('grown', { description: 'Was not there before' }, () => text('new'));
    return text('grown');
  });
  if (http) {
    server.registerTool('cut', { description: 'Answers who comes back' },
      async ({ closeSSEStream }) => {
        closeSSEStream?.();
        await sleep(20);
        return text('resumed');
      });
  }

  server.registerResource('text', 'test://text', { mimeType: 'text/plain' },
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
      argsSchema: { name: completable(z.string(), among(['Ada', 'Alan', 'Grace'])) },
    },
    ({ name }) => ({
      messages: [{ role: 'user', content: { type: 'text', text: `Please greet ${name}.` } }],
    }));
  return server;
}

if (http) listen(sessions(WebStandardStreamableHTTPServerTransport, make));
else await make().connect(new StdioServerTransport());
