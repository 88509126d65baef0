/** A worker process of Baton's side: its control worker, or a host with one agent. Argument: one JSON object. */
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { defineAgent, openStore, startControlWorker, startHost, type Running } from '../../src/worker.js';
import { PLACES, type ProcessInput } from './processes.js';

const input = JSON.parse(process.argv[2] ?? '') as ProcessInput;
const { address, role, baton } = input;
const { storeUrl, taskQueue, workerClass, hangs } = baton;
Runtime.install({ logger: new DefaultLogger('ERROR') });
const store = await openStore(storeUrl);
const connection = await NativeConnection.connect({ address });

const agent = defineAgent({
  workerClass,
  places: PLACES,
  async run(ctx) {
    if (!hangs) return 1;
    console.log(`at work ${ctx.attempt}`);
    // Works until its lease is over: in the measurement of SIGKILL that never happens in this process.
    await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve()));
    return null;
  },
});
const common = { connection, store, taskQueue };
const worker: Running =
  role === 'control' ? await startControlWorker(common) : await startHost({ ...common, agents: [agent] });
const running = worker.run();
console.log(JSON.stringify({ ready: true, pid: process.pid }));
await running;
await connection.close();
await store.close();
