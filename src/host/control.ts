/**
 * The control worker: runs the run workflow from the prebuilt bundle, and the activities that need no host (settling,
 * direct claims and their attachments).
 */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import { makeClaimSlot } from '../../activities/claim-slot.js';
import { makeControlActivities } from '../../activities/control.js';
import { makePerformAttempt } from '../../activities/perform-attempt.js';
import { BatonError } from '../domain/errors.js';
import { DEFAULT_TASK_QUEUE } from '../domain/wire.js';
import type { Store } from '../store/port.js';
import { createInnerWorker, stopWorker, type Running } from './workers.js';

export interface ControlWorkerOptions {
  readonly connection: NativeConnection;
  /** Default `default`. */
  readonly namespace?: string;
  readonly store: Store;
  /** Default `baton`. */
  readonly taskQueue?: string;
  /** Default: one over `connection`. */
  readonly client?: Client;
  /** Runs kept in memory; another run's task replays its history first. Default: what Temporal's SDK takes for the memory. */
  readonly maxCachedWorkflows?: number;
}

/**
 * Makes a control worker; it polls once `run()` is called. Any number of them may serve one task queue.
 *
 * @throws BatonError `Internal` when the workflow bundle has not been built
 */
export async function startControlWorker(options: ControlWorkerOptions): Promise<Running> {
  const { connection, store, namespace = 'default', taskQueue = DEFAULT_TASK_QUEUE } = options;
  const client = options.client ?? new Client({ connection, namespace });
  const worker = await createInnerWorker({
    connection,
    namespace,
    taskQueue,
    workflowBundle: { codePath: bundlePath() },
    activities: {
      ...makeControlActivities({ store, client }),
      claimSlot: makeClaimSlot({ store }),
      performAttempt: makePerformAttempt({ store }),
    },
    maxConcurrentActivityTaskExecutions: 200,
    ...(options.maxCachedWorkflows === undefined ? {} : { maxCachedWorkflows: options.maxCachedWorkflows }),
    shutdownForceTime: '15s',
    // A run whose control worker was killed is answered by another one after this time, not after Temporal's ten seconds.
    stickyQueueScheduleToStartTimeout: '3s',
  });
  let run: Promise<void> | undefined;
  return {
    run: () => (run ??= worker.run()),
    async shutdown() {
      // A Worker that never ran would keep the connection from closing.
      run ??= worker.run();
      stopWorker(worker);
      await run.catch(() => undefined);
    },
  };
}

/** `dist/workflow-bundle.js` of this package, whether this file runs from source or compiled. */
function bundlePath(): string {
  let dir = path.dirname(fileURLToPath(import.meta.url));
  while (!isPackageRoot(dir)) {
    const parent = path.dirname(dir);
    if (parent === dir)
      throw new BatonError(
        'Internal',
        'the package temporal-baton is not complete: no package.json. Install it again.',
      );
    dir = parent;
  }
  const bundle = path.join(dir, 'dist', 'workflow-bundle.js');
  if (!existsSync(bundle))
    throw new BatonError('Internal', `there is no workflow bundle at ${bundle}. Run \`npm run build\`.`);
  return bundle;
}

function isPackageRoot(dir: string): boolean {
  const file = path.join(dir, 'package.json');
  if (!existsSync(file)) return false;
  return (JSON.parse(readFileSync(file, 'utf8')) as { name?: string }).name === 'temporal-baton';
}
