/**
 * The agent host of docker-compose.yml: told by its environment alone, which the compose file sets. TEMPORAL_ADDRESS and
 * TEMPORAL_NAMESPACE, BATON_STORE (with PGPASSWORD), BATON_TASK_QUEUE, HEALTH_PORT, and OpenTelemetry's own variables.
 *
 * `GET /health` answers 200 while it takes work. SIGTERM releases its leases, so that another host can claim at once.
 */
import { createServer } from 'node:http';
import { NativeConnection } from '@temporalio/worker';
import { DEFAULT_TASK_QUEUE } from '../../src/domain/wire.js';
import { loadConnection } from '../../src/server/connect.js';
import { openStore, startHost } from '../../src/worker.js';
import { counter } from './agents.js';

const { env } = process;
// Before anything is traced. The package is needed only where something is exported.
const sdk = env['OTEL_EXPORTER_OTLP_ENDPOINT']
  ? new (await import('@opentelemetry/sdk-node')).NodeSDK()
  : undefined;
sdk?.start();

const temporal = loadConnection();
const connection = await NativeConnection.connect(temporal.options);
const store = await openStore(env['BATON_STORE'] ?? 'sqlite:./baton.db');
const host = await startHost({
  connection,
  namespace: temporal.namespace,
  store,
  taskQueue: env['BATON_TASK_QUEUE'] || DEFAULT_TASK_QUEUE,
  agents: [counter],
});
const health = createServer((request, response) => {
  response.writeHead(request.url === '/health' ? 200 : 404).end();
});
health.listen(Number(env['HEALTH_PORT'] || 7301));
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void host.shutdown());
console.log(JSON.stringify({ ready: true, pid: process.pid, address: temporal.address }));
await host.run();
health.close();
health.closeAllConnections();
await sdk?.shutdown();
await store.close();
await connection.close();
