/**
 * Kills a host while it is half way through its notes. When that is, the store's rows say. The host is let run in short
 * slices and frozen while they are counted, so that a fast machine or a small project cannot slip through between two looks.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { BatonError } from '../../domain/errors.js';
import type { Child } from '../../server/processes.js';
import type { Store } from '../../store/port.js';
import { NOTES, type Killed } from './facts.js';

/** Share of the notes after which the host dies. */
const SHARE = 0.4;
/** How often the store is looked at while nobody has claimed the notes, in milliseconds. */
const LOOK_MS = 5;

export interface KillOptions {
  readonly store: Store;
  readonly tenant: string;
  readonly run: string;
  readonly host: Child;
  readonly signal: AbortSignal;
  /** Called with the notes saved so far, of how many, and by whom. */
  readonly onProgress: (saved: number, packages: number, worker: string) => void;
}

/**
 * @returns who was killed, and how many packages the inventory has
 * @throws BatonError `InvalidCommand` for a project too small to be in the middle of, `Internal` when the host ended by itself
 */
export async function killInTheMiddle(options: KillOptions): Promise<{ killed: Killed; packages: number }> {
  const { store, tenant, run, host, signal } = options;
  const hostEnd = { yes: false };
  void host.exited.then(() => (hostEnd.yes = true));
  const attempt = await firstAttempt(options, () => hostEnd.yes);
  host.kill('SIGSTOP');
  const packages = await packagesIn(store, tenant, run);
  if (packages < 2) {
    throw BatonError.of(
      'InvalidCommand',
      'the demo needs a project with at least two packages: one to note before the kill, one after',
      { packages },
    );
  }
  const target = Math.min(packages - 1, Math.max(1, Math.round(packages * SHARE)));
  const slice = Math.min(25, Math.max(1, packages / 20));
  const saved = async (): Promise<number> => {
    const rows = await store.artifacts.list(tenant, run, NOTES);
    return rows.filter((row) => row.attempt === attempt.attempt && row.step !== null).length;
  };
  for (let count = 0; count < target; count = await saved()) {
    signal.throwIfAborted();
    if (hostEnd.yes)
      throw new BatonError('Internal', `the first host ended by itself. Its last lines:\n${host.tail()}`);
    options.onProgress(count, packages, attempt.worker);
    host.kill('SIGCONT');
    await sleep(slice);
    host.kill('SIGSTOP');
  }
  const at = Date.now();
  host.kill('SIGKILL');
  const exit = await host.exited;
  const killed = {
    pid: host.pid,
    exit,
    attempt: attempt.attempt,
    worker: attempt.worker,
    saved: await saved(),
    at,
  };
  return { killed, packages };
}

async function firstAttempt({ store, tenant, run, host, signal }: KillOptions, ended: () => boolean) {
  for (;;) {
    signal.throwIfAborted();
    const row = (await store.attempts.list(tenant, run, NOTES))[0];
    if (row) return row;
    const inventory = await store.attempts.newest(tenant, run, 'inventory');
    if (inventory?.failure)
      throw new BatonError('RunFailed', `the inventory failed: ${inventory.failure.message}`);
    if (ended())
      throw new BatonError('Internal', `the first host ended by itself. Its last lines:\n${host.tail()}`);
    await sleep(LOOK_MS);
  }
}

async function packagesIn(store: Store, tenant: string, run: string): Promise<number> {
  const rows = await store.artifacts.list(tenant, run, 'inventory');
  const row = rows.findLast((one) => one.name === 'inventory.json');
  if (!row) throw BatonError.of('ArtifactMissing', 'the inventory left no list', { run });
  const list = JSON.parse(Buffer.from(await store.artifacts.readBytes(row.digest)).toString('utf8')) as {
    packages: unknown[];
  };
  return list.packages.length;
}
