/** Starts a worker process of the matrix. */
import path from 'node:path';
import { packageRoot } from '../src/cli/demo/stage.js';
import { startChild, type Child } from '../src/server/processes.js';
import type { AtEnd } from './ends.js';
import type { WorkerInput } from './worker-process.js';

/** Compiled, whether this file runs from source or not. */
const PROCESS = path.join(packageRoot(), 'dist', 'faults', 'worker-process.js');
const START_MS = 60_000;

/** Returns once it polls, or waits to be told to. It is killed in the end: what it still does is of no use by then. */
export async function startWorker(input: WorkerInput, atEnd: AtEnd): Promise<Child> {
  const name = input.role === 'control' ? 'control worker' : 'agent host';
  const child = await startChild(process.execPath, [PROCESS, JSON.stringify(input)], { name, stdin: true });
  atEnd(async () => {
    child.kill('SIGKILL');
    await child.exited;
  });
  await child.ready(input.waits ? /^waiting$/ : /^polling$/, START_MS);
  return child;
}
