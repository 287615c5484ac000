// The official TypeScript SDK 1.x as a client of our server.
//
//   node client_v1.mjs COMMAND [ARGUMENT...]     COMMAND is examples/everything on stdio
//   node client_v1.mjs http://HOST:PORT/PATH     it listens there; a PATH that ends in /sse is of
//                                                the transport of 2024-11-05
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as types from '@modelcontextprotocol/sdk/types.js';

import { ALL, checks, says } from './checks.mjs';
import { Report, assert, record } from './harness.mjs';
import { watchedFetch } from './http.mjs';
import { httpChecks } from './http_checks.mjs';

const [command, ...args] = process.argv.slice(2);
if (!command) {
  console.error('usage: client_v1.mjs COMMAND [ARGUMENT...]|URL');
  process.exit(2);
}

const kind = !command.startsWith('http://') ? 'stdio' : command.endsWith('/sse') ? 'sse' : 'http';
const REVISION = '2025-11-25';
const NOTIFICATIONS = {
  'notifications/message': types.LoggingMessageNotificationSchema,
  'notifications/resources/updated': types.ResourceUpdatedNotificationSchema,
  'notifications/tools/list_changed': types.ToolListChangedNotificationSchema,
};

const report = new Report();

function connection(fetch) {
  if (kind === 'stdio') return new StdioClientTransport({ command, args });
  if (kind === 'sse') return new SSEClientTransport(new URL(command), { fetch });
  return new StreamableHTTPClientTransport(new URL(command), { fetch });
}

async function open({
  capabilities, info = { name: 'interop-v1', version: '1.0.0' }, prepare,
}) {
  const client = new Client(info, { capabilities });
  const network = watchedFetch();
  prepare?.(network);
  const session = {
    kind,
    network,
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

  const transport = connection(network.fetch);
  session.transport = transport;
  // The SDK tells the negotiated revision to the transport only, which on stdio has no use for it.
  const set = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (version) => {
    session.revision = version;
    set?.(version);
  };
  await client.connect(transport);
  session.wire = record(transport);
  report.watch(session.wire);
  return session;
}

await checks(report, open, REVISION);
if (kind !== 'stdio') await httpChecks(report, open);

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
