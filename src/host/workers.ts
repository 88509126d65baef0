/**
 * The Temporal Workers that Baton runs by itself, beside a user's. Each is marked: a plugin that came in through the
 * connection sees its own Workers too and must leave them alone.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker, type WorkerOptions } from '@temporalio/worker';
import { activityInterceptors } from '../telemetry/activity.js';

/** Global, because two copies of this package may be loaded. */
const INNER = Symbol.for('temporal-baton.inner-worker');
/** How often a Worker's state is looked at: Temporal tells nobody that a Worker was asked to stop. */
const WATCH_MS = 50;

export async function createInnerWorker(options: WorkerOptions): Promise<Worker> {
  const worker = await Worker.create({ interceptors: { activity: [activityInterceptors] }, ...options });
  Object.defineProperty(worker, INNER, { value: true });
  return worker;
}

/**
 * Creates all of them or none: one that cannot be created (a second host of a class on the same connection) ends the
 * others, since a Worker that never ran keeps its connection from closing.
 */
export async function createInnerWorkers(all: readonly WorkerOptions[]): Promise<Worker[]> {
  const created = await Promise.allSettled(all.map(createInnerWorker));
  const failed = created.find((one) => one.status === 'rejected');
  const workers = created.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  if (!failed) return workers;
  await Promise.all(
    workers.map(async (worker) => {
      const ended = worker.run();
      stopWorker(worker);
      await ended;
    }),
  );
  throw failed.reason;
}

export const isInnerWorker = (worker: Worker): boolean => INNER in worker;

/** Resolves when the Worker is stopping (by its `shutdown`, or a signal that Temporal's runtime handles) or has stopped. */
export async function whenStopping(worker: Worker, until?: AbortSignal): Promise<void> {
  while (!until?.aborted) {
    const state = worker.getState();
    if (state !== 'INITIALIZED' && state !== 'RUNNING') return;
    await sleep(WATCH_MS, undefined, { ref: false, signal: until }).catch(() => undefined);
  }
}

/** Asks a Worker to stop; one that is stopping, or never ran, is left as it is. */
export function stopWorker(worker: Worker): void {
  if (worker.getState() === 'RUNNING') worker.shutdown();
}

/** {@link stopWorker}, for a Worker whose `run` was called but may still be held up by another plugin. */
export async function stopStarting(worker: Worker, until: AbortSignal): Promise<void> {
  while (worker.getState() === 'INITIALIZED' && !until.aborted) {
    await sleep(WATCH_MS, undefined, { ref: false, signal: until }).catch(() => undefined);
  }
  stopWorker(worker);
}

/** Something that runs until it is shut down: a host, a control worker. */
export interface Running {
  /** Polls until {@link shutdown}, a signal that Temporal's runtime handles, or a fatal error, which it rejects with. */
  run(): Promise<void>;
  /** Stops it in an orderly way; resolves when all is told. May be called at any time, any number of times. */
  shutdown(): Promise<void>;
}
