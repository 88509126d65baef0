/**
 * A host of the remote job's agents as its own process.
 *
 *     node dist/examples/remote-job/host.js --store sqlite:./baton.db --address localhost:7233
 *
 * Prints one JSON line when it is ready. SIGTERM or Ctrl-C releases its leases, so that a successor can claim at once.
 */
import { parseArgs } from 'node:util';
import { NativeConnection } from '@temporalio/worker';
import { DEFAULT_TASK_QUEUE } from '../../src/domain/wire.js';
import { loadConnection } from '../../src/server/connect.js';
import { openStore, startHost } from '../../src/worker.js';
import { jobAgent } from './agents.js';

const { values } = parseArgs({
  options: {
    name: { type: 'string' },
    address: { type: 'string' },
    namespace: { type: 'string' },
    store: { type: 'string', default: process.env['BATON_STORE'] ?? 'sqlite:./baton.db' },
    'task-queue': { type: 'string', default: DEFAULT_TASK_QUEUE },
  },
});

const { address, namespace } = values;
const temporal = loadConnection({ address, namespace });
const connection = await NativeConnection.connect(temporal.options);
const store = await openStore(values.store);
const host = await startHost({
  connection,
  namespace: temporal.namespace,
  store,
  taskQueue: values['task-queue'],
  agents: [jobAgent('runner', values.name)],
});
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void host.shutdown());
console.log(JSON.stringify({ ready: true, pid: process.pid, address: temporal.address }));
await host.run();
await store.close();
await connection.close();
