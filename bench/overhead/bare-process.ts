/**
 * A worker process of the bare side, with the settings of Baton's: `control` runs the workflows and activities of its queue,
 * `host` polls a class queue with as many places as Baton's host has, and a queue of its own. Argument: one JSON object.
 */
import { CompleteAsyncError } from '@temporalio/activity';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { fileURLToPath } from 'node:url';
import { PLACES, type ProcessInput } from './processes.js';

const activities = {
  step: (value: number): Promise<number> => Promise.resolve(value + 1),
  hold: (): Promise<void> => Promise.reject(new CompleteAsyncError()),
};
export type BareActivities = typeof activities;

async function createWorkers(input: ProcessInput, connection: NativeConnection): Promise<Worker[]> {
  const { taskQueue, classQueue, hostQueue } = input.bare;
  if (input.role === 'control') {
    const workflowsPath = fileURLToPath(new URL('./bare-workflows.js', import.meta.url));
    const settings = { maxConcurrentActivityTaskExecutions: 200, shutdownForceTime: '15s' } as const;
    return [await Worker.create({ connection, taskQueue, workflowsPath, activities, ...settings })];
  }
  const common = { connection, activities, maxCachedWorkflows: 0 };
  const one = { type: 'fixed-size', numSlots: 1 } as const;
  const tuner = {
    activityTaskSlotSupplier: { type: 'fixed-size', numSlots: PLACES },
    workflowTaskSlotSupplier: one,
    localActivityTaskSlotSupplier: one,
    nexusTaskSlotSupplier: one,
  } as const;
  const activityTaskPollerBehavior = { type: 'simple-maximum', maximum: 2 } as const;
  return Promise.all([
    Worker.create({ ...common, taskQueue: classQueue, tuner }),
    Worker.create({ ...common, taskQueue: hostQueue, activityTaskPollerBehavior }),
  ]);
}

const input = JSON.parse(process.argv[2] ?? '') as ProcessInput;
Runtime.install({ logger: new DefaultLogger('ERROR') });
const connection = await NativeConnection.connect({ address: input.address });
const workers = await createWorkers(input, connection);
const running = Promise.all(workers.map((worker) => worker.run()));
console.log(JSON.stringify({ ready: true, pid: process.pid }));
await running;
await connection.close();
