/**
 * An agent host as its own process: takes offers to one worker class and runs the report's agents.
 *
 *     node dist/examples/dependency-report/host.js --class researcher --store sqlite:./baton.db --address localhost:7233
 *
 * Prints one JSON line when it is ready. SIGTERM or Ctrl-C releases its leases, so that a successor can claim at once.
 */
import { parseArgs } from 'node:util';
import { NativeConnection } from '@temporalio/worker';
import { DEFAULT_TASK_QUEUE } from '../../src/domain/wire.js';
import { loadConnection } from '../../src/server/connect.js';
import { openStore, startHost } from '../../src/worker.js';
import { reportAgent } from './agents.js';

const { values } = parseArgs({
  options: {
    class: { type: 'string' },
    name: { type: 'string' },
    owner: { type: 'string' },
    address: { type: 'string' },
    namespace: { type: 'string' },
    profile: { type: 'string' },
    store: { type: 'string', default: process.env['BATON_STORE'] ?? 'sqlite:./baton.db' },
    'task-queue': { type: 'string', default: DEFAULT_TASK_QUEUE },
  },
});
const workerClass = values.class;
if (workerClass === undefined) {
  console.error('--class is missing: say which worker class this host is, for example --class researcher');
  process.exit(2);
}

const { address, namespace, profile } = values;
const temporal = loadConnection({ address, namespace, profile });
const connection = await NativeConnection.connect(temporal.options);
const store = await openStore(values.store);
const host = await startHost({
  connection,
  namespace: temporal.namespace,
  store,
  taskQueue: values['task-queue'],
  ...(values.owner === undefined ? {} : { owner: values.owner }),
  agents: [reportAgent(workerClass, values.name)],
});
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void host.shutdown());
console.log(JSON.stringify({ ready: true, workerClass, pid: process.pid, address: temporal.address }));
await host.run();
await store.close();
await connection.close();
