// The official TypeScript SDK 1.x as a client of our server.
//
//   node client_v1.mjs COMMAND [ARGUMENT...]     COMMAND is examples/everything on stdio
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import * as types from '@modelcontextprotocol/sdk/types.js';

import { ALL, checks, says } from './checks.mjs';
import { Report, assert, record } from './harness.mjs';

const [command, ...args] = process.argv.slice(2);
if (!command) {
  console.error('usage: client_v1.mjs COMMAND [ARGUMENT...]');
  process.exit(2);
}

const REVISION = '2025-11-25';
const NOTIFICATIONS = {
  'notifications/message': types.LoggingMessageNotificationSchema,
  'notifications/resources/updated': types.ResourceUpdatedNotificationSchema,
  'notifications/tools/list_changed': types.ToolListChangedNotificationSchema,
};

const report = new Report();

async function open({ capabilities, info = { name: 'interop-v1', version: '1.0.0' } }) {
  const client = new Client(info, { capabilities });
  const session = {
    client,
    info,
    modern: false,
    asked: [],
    errors: [],
    answers: {
      elicit: () => ({ action: 'cancel' }),
      sample: () => ({
        model: 'test-model', role: 'assistant', content: { type: 'text', text: 'Hello' },
      }),
      roots: () => ({ roots: [{ uri: 'file:///project', name: 'here' }] }),
    },
    call: (name, args, { meta, ...options } = {}) =>
      client.callTool({ name, arguments: args, ...(meta && { _meta: meta }) }, undefined, options),
    request: (method, params) => client.request({ method, params }, types.ResultSchema),
    on: (method, callback) => client.setNotificationHandler(NOTIFICATIONS[method], callback),
    close: () => client.close(),
  };
  const answer = (kind) => ({ method, params }) => {
    session.asked.push({ method, params });
    return session.answers[kind](params);
  };
  if (capabilities.elicitation) {
    client.setRequestHandler(types.ElicitRequestSchema, answer('elicit'));
  }
  if (capabilities.sampling) {
    client.setRequestHandler(types.CreateMessageRequestSchema, answer('sample'));
  }
  if (capabilities.roots) client.setRequestHandler(types.ListRootsRequestSchema, answer('roots'));
  client.onerror = (error) => session.errors.push(error);

  const transport = new StdioClientTransport({ command, args });
  // The SDK tells the negotiated revision to the transport only, which on stdio has no use for it.
  transport.setProtocolVersion = (version) => (session.revision = version);
  await client.connect(transport);
  session.wire = record(transport);
  report.watch(session.wire);
  return session;
}

await checks(report, open, REVISION);

await report.check('the client fills in defaults', async () => {
  // `applyDefaults` is the SDK's own; the specification has an empty object there.
  const session = await open({
    capabilities: { ...ALL, elicitation: { form: { applyDefaults: true } } },
  });
  session.answers.elicit = () => ({ action: 'accept', content: { name: 'Ada' } });
  await says(session, 'register', undefined, 'welcome, Ada, 18');
  const { message } = session.wire.find(({ message: { result } }) => result?.action === 'accept');
  assert.equal(message.result.content.height, 1.75);
  assert.equal(message.result.content.colour, 'green');
  await session.close();
});

process.exit(report.finish());
