/**
 * Kills a host while it is half way through its notes. When that is, the store's rows say. The host is let run in short
 * slices and frozen while they are counted, so that a fast machine or a small project cannot slip through between two looks.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { LaunchedRun } from '../../client/client.js';
import { BatonError } from '../../domain/errors.js';
import { isTerminalWorker, type WorkerStatus } from '../../domain/types.js';
import type { Store } from '../../store/port.js';
import type { Accidents } from './accidents.js';
import { NOTES, type Killed } from './facts.js';
import { savedNotes } from './records.js';
import { Slices } from './slices.js';
import type { Stage } from './stage.js';

/** Share of the notes after which the host dies. */
const SHARE = 0.4;
/** How often the store is looked at while nobody works on the notes, in milliseconds. */
const LOOK_MS = 5;
const LIMIT_MS = 15 * 60_000;

export interface KillOptions {
  readonly stage: Stage;
  readonly run: LaunchedRun;
  readonly accidents: Accidents;
  /** Called with the notes saved so far, of how many, and by whom. */
  readonly onProgress: (saved: number, packages: number, worker: string) => void;
}

/**
 * @returns who was killed, and how many packages the inventory has
 * @throws BatonError `InvalidCommand` for a project too small to be in the middle of, `RunFailed` when an agent failed,
 *   `Internal` when the host ended by itself or the time is up
 */
export async function killInTheMiddle(options: KillOptions): Promise<{ killed: Killed; packages: number }> {
  const { stage, run, accidents, onProgress } = options;
  const { store, signal, first: host } = stage;
  const ended = { host: false };
  void host.exited.then(() => (ended.host = true));
  const until = performance.now() + LIMIT_MS;
  let known: { packages: number; target: number; slices: Slices } | undefined;
  let last: number | null = null;
  for (;;) {
    signal.throwIfAborted();
    if (ended.host)
      throw new BatonError('Internal', `the first host ended by itself. Its last lines:\n${host.tail()}`);
    if (performance.now() > until)
      throw new BatonError('Internal', `the notes were not half done within ${LIMIT_MS / 60_000} minutes`);
    const attempt = await store.attempts.newest(run.tenant, run.run, NOTES);
    if (attempt === null || endedBadly(attempt.workerStatus)) {
      // It has to run freely to claim, before the first time as after a lease that expired by accident.
      host.kill('SIGCONT');
      if (last !== null) known?.slices.lengthen();
      last = null;
      await accidents.mend();
      await sleep(LOOK_MS);
      continue;
    }
    host.kill('SIGSTOP');
    known ??= planFor(await packagesIn(store, run.tenant, run.run));
    const { packages, target, slices } = known;
    const saved = await savedNotes(stage, run);
    onProgress(saved, packages, attempt.worker);
    // One that has slipped through all the same is killed too: the checks say then that it was not in the middle.
    if (saved >= target || attempt.workerStatus === 'succeeded') {
      const at = Date.now();
      host.kill('SIGKILL');
      const exit = await host.exited;
      const dead = await savedNotes(stage, run);
      const { attempt: id, worker } = attempt;
      return { killed: { pid: host.pid, exit, attempt: id, worker, saved: dead, at }, packages };
    }
    if (last !== null) slices.record(saved - last, target - saved);
    last = saved;
    host.kill('SIGCONT');
    await sleep(slices.next);
  }
}

const endedBadly = (status: WorkerStatus): boolean => isTerminalWorker(status) && status !== 'succeeded';

function planFor(packages: number) {
  if (packages < 2) {
    throw BatonError.of(
      'InvalidCommand',
      'the demo needs a project with at least two packages: one to note before the kill, one after',
      { packages },
    );
  }
  const target = Math.min(packages - 1, Math.max(1, Math.round(packages * SHARE)));
  return { packages, target, slices: new Slices(packages) };
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
