// What the servers on both official SDKs offer to our client, and the part of it that is the same
// in both.
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
import { setTimeout as sleep } from 'node:timers/promises';

import { z } from 'zod';

export const http = process.argv.includes('--http');

export const info = { name: 'interop-server', version: '1.0.0', title: 'Interop server' };
export const options = {
  instructions: 'Call anything.',
  capabilities: { logging: {}, resources: { subscribe: true } },
};

/** The tools whose handlers differ. */
export const tools = {
  progress: {
    description: 'Reports progress',
    inputSchema: z.object({ steps: z.number().int().min(1).max(1000) }),
  },
  ask: { description: 'Asks for a name' },
  sample: { description: 'Asks the model', inputSchema: z.object({ prompt: z.string() }) },
  roots: { description: 'Asks for the roots' },
  log: {
    description: 'Writes to the log of the client',
    inputSchema: z.object({
      level: z.enum(['debug', 'info', 'warning', 'error']), text: z.string(),
    }),
  },
  touch: { description: 'Says that the text has changed' },
  grow: { description: 'Adds a tool' },
  cut: { description: 'Answers who comes back' },
};

export const text = (value, more = {}) => ({ content: [{ type: 'text', text: value }], ...more });

/** The work of progress; notify sends a notification on the stream of the call. */
export async function progress({ steps }, { _meta, notify, signal }) {
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
}

/** The work of cut; close, if there is one, ends the stream of the call. */
export async function cut(close) {
  close?.();
  await sleep(20);
  return text('resumed');
}

// What ask, sample and roots send, and what they make of the answer.
export const form = {
  message: 'Your name?',
  requestedSchema: {
    type: 'object', properties: { name: { type: 'string', title: 'Name' } }, required: ['name'],
  },
};
export function greeted({ action, content }) {
  if (action === 'accept') return text(`hello ${content.name}`);
  return text(action === 'decline' ? 'declined' : 'cancelled');
}
export const message = (prompt) => ({
  messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens: 50,
});
export const said = ({ model, content }) => text(`${model} says: ${content.text}`);
export const listed = ({ roots }) => text(roots.map(({ uri }) => uri).join('\n'));

export function grown(server) {
  server.registerTool('grown', { description: 'Was not there before' }, () => text('new'));
}

const among = (words) => (value) => words.filter((word) => word.startsWith(value ?? ''));

/**
 * Offers what is the same in both SDKs, by their own classes and functions. `schema` makes the
 * arguments of a prompt of a record of types, `cache` is what else test://text says of itself.
 */
export function offer(server, { ResourceTemplate, completable, schema, cache = {} }) {
  server.registerTool('echo',
    {
      title: 'Echo',
      description: 'Gives the message back',
      inputSchema: z.object({ message: z.string() }),
    },
    (input) => text(input.message));
  server.registerTool('add',
    {
      description: 'Adds two numbers',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
    },
    ({ a, b }) => text(JSON.stringify({ sum: a + b }), { structuredContent: { sum: a + b } }));
  server.registerTool('fail', { description: 'Fails, and says so to the model' },
    () => text('as it should', { isError: true }));

  server.registerResource('text', 'test://text', { mimeType: 'text/plain', ...cache },
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
      argsSchema: schema({ name: completable(z.string(), among(['Ada', 'Alan', 'Grace'])) }),
    },
    ({ name }) => ({
      messages: [{ role: 'user', content: { type: 'text', text: `Please greet ${name}.` } }],
    }));
}
