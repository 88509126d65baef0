/**
 * A user who has a Temporal Worker already: the `plugins` line is all that Baton needs. His workflows and activities go on
 * as before; a control worker and the agent run beside them, on queues of their own.
 *
 * Environment: TEMPORAL_ADDRESS, BATON_STORE, and for trying it beside other work TASK_QUEUE and BATON_TASK_QUEUE.
 * In a project of your own the import is `temporal-baton/worker`.
 */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { NativeConnection, Worker } from '@temporalio/worker';
import { BatonPlugin, defineAgent } from '../../src/worker.js';
import * as activities from './activities.js';

const { TEMPORAL_ADDRESS, BATON_STORE, TASK_QUEUE, BATON_TASK_QUEUE } = process.env;

const counter = defineAgent({
  workerClass: 'counter',
  async run(ctx) {
    const text = typeof ctx.input === 'string' ? ctx.input : '';
    const words = await ctx.step('count', () => text.split(/\s+/).filter(Boolean).length);
    ctx.progress({ words });
    return { words };
  },
});

const baton = new BatonPlugin({
  store: BATON_STORE ?? 'sqlite:./baton.db',
  agents: [counter],
  taskQueue: BATON_TASK_QUEUE ?? 'baton',
});

const here = fileURLToPath(import.meta.url);
const connection = await NativeConnection.connect({ address: TEMPORAL_ADDRESS ?? '127.0.0.1:7233' });
try {
  const worker = await Worker.create({
    connection,
    taskQueue: TASK_QUEUE ?? 'greetings',
    workflowsPath: path.join(path.dirname(here), `workflows${path.extname(here)}`),
    activities,
    plugins: [baton], // the one line
  });
  await worker.run(); // until SIGINT or SIGTERM; leases are released first
} finally {
  await connection.close();
  await baton.close();
}
