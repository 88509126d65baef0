/** The processes under load, and what they take of the machine. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { packageRoot } from '../src/cli/demo/stage.js';
import { startChild, type Child } from '../src/server/processes.js';
import type { AtEnd } from '../faults/ends.js';
import type { HostInput } from './host-process.js';

/** Twenty starts on two cores: each loads Temporal's native code. */
const START_MS = 120_000;
/** Compiled, whether this file runs from source or not. */
const dist = (file: string): string => path.join(packageRoot(), 'dist', file);

export async function startControl(
  given: Pick<HostInput, 'address' | 'namespace' | 'taskQueue'>,
  store: string,
  atEnd: AtEnd,
): Promise<Child> {
  const { address, namespace, taskQueue } = given;
  const where = ['--address', address, '--namespace', namespace, '--task-queue', taskQueue];
  return start('control worker', [dist('src/cli/main.js'), 'worker', '--json', ...where], store, atEnd);
}

export const startHostProcess = (input: HostInput, store: string, atEnd: AtEnd): Promise<Child> =>
  start('agent host', [dist('load/host-process.js'), JSON.stringify(input)], store, atEnd);

async function start(name: string, args: readonly string[], store: string, atEnd: AtEnd): Promise<Child> {
  // Not in the arguments, which everybody on the machine can list: it may carry a password.
  const env = { ...process.env, BATON_STORE: store };
  const child = await startChild(process.execPath, args, { name, env });
  atEnd(async () => {
    child.kill('SIGKILL');
    await child.exited;
  });
  await child.ready('json', START_MS);
  return child;
}

/** Most memory that the process has had at once, in MiB; null where the system does not tell (it is Linux that does). */
export async function peakMemory(pid: number): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const kib = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
  return kib === undefined ? null : Number(kib) / 1024;
}
