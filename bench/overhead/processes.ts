/** Worker processes of both sides: what they are told and how they are started. */
import { fileURLToPath } from 'node:url';
import { startChild, type Child } from '../../src/server/processes.js';

/** How many tasks of a class queue one host takes at once, on both sides. */
export const PLACES = 4;
const START_TIMEOUT_MS = 60_000;

export interface ProcessInput {
  readonly address: string;
  readonly role: 'control' | 'host';
  readonly baton: {
    readonly storeUrl: string;
    readonly taskQueue: string;
    readonly workerClass: string;
    /** The agent works until its lease ends, instead of answering at once. */
    readonly hangs: boolean;
  };
  readonly bare: { readonly taskQueue: string; readonly classQueue: string; readonly hostQueue: string };
}

/**
 * Starts a worker process and waits until it polls.
 *
 * @throws BatonError `Internal` when it does not come up; it is ended then
 */
export async function startWorkerProcess(side: 'baton' | 'bare', input: ProcessInput): Promise<Child> {
  const file = fileURLToPath(new URL(`./${side}-process.js`, import.meta.url));
  const name = `${side} ${input.role}`;
  const child = await startChild(process.execPath, [file, JSON.stringify(input)], { name });
  try {
    await child.ready('json', START_TIMEOUT_MS);
    return child;
  } catch (error) {
    await child.stop(0);
    throw error;
  }
}
