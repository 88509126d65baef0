/**
 * Leases that expire though their host lives: on a machine that stands still for some seconds, nobody is in time to beat.
 * The system does then what it does for any lost worker: the slot waits for somebody to reassign it. Nobody stands beside
 * the demo, so it gives that command itself, to the same class, and says so.
 */
import { BatonClient } from '../../client/client.js';
import { queryState } from '../../client/reads.js';
import type { RunHandle } from '../../client/run-handle.js';
import { BatonError } from '../../domain/errors.js';
import type { AttemptRow } from '../../store/port.js';
import type { Accident } from './facts.js';
import type { Reporter } from './reporter.js';
import type { Stage } from './stage.js';

/** Shortest time between two looks, in milliseconds: each is a query to the run's workflow. */
const LOOK_EVERY_MS = 500;
const REASON = 'its lease expired though its host lives: the machine stood still';

export class Accidents {
  readonly #seen: Accident[] = [];
  #lastLook = -Infinity;

  constructor(
    private readonly stage: Stage,
    private readonly run: RunHandle,
    private readonly reporter: Pick<Reporter, 'step'>,
  ) {}

  /** Every accident so far, oldest first. */
  get all(): readonly Accident[] {
    return this.#seen;
  }

  /**
   * Reassigns each slot that waits for it after a loss, to the class that had it. Not to be called between a kill and the
   * story's own reassign: it would forestall it. Looks at most twice a second; what it cannot see now, it sees the next time.
   *
   * @throws BatonError `RunFailed` when an agent reported a failure: that is no accident, and nothing here would mend it
   */
  async mend(): Promise<void> {
    const now = performance.now();
    if (now - this.#lastLook < LOOK_EVERY_MS) return;
    this.#lastLook = now;
    const { stage, run } = this;
    const rows = await stage.store.attempts.list(run.tenant, run.run);
    const failed = rows.find((row) => row.failure !== null && row.workerStatus === 'failed');
    if (failed?.failure)
      throw new BatonError('RunFailed', `${failed.worker} failed: ${failed.failure.message}`);
    // Without a loss in the store's rows there is nothing to ask the workflow for.
    if (!rows.some((row) => row.workerStatus === 'lost')) return;
    const view = await queryState(BatonClient.sessionOf(stage.baton), run.run);
    for (const slot of Object.values(view?.state.slots ?? {})) {
      if (slot.state !== 'retry-wait' || slot.gate !== 'reassign' || slot.ending !== null) continue;
      const row = await stage.store.attempts.newest(run.tenant, run.run, slot.slot);
      if (row?.workerStatus !== 'lost') continue;
      await this.#reassign(row);
    }
  }

  async #reassign({ slot, attempt, worker, workerClass }: AttemptRow): Promise<void> {
    if (!this.#seen.some((one) => one.attempt === attempt)) {
      this.#seen.push({ slot, attempt, worker, workerClass });
      this.reporter.step(
        `the machine stood still, and the lease of ${worker} on ${slot} expired by accident: reassigning to ${workerClass}`,
      );
    }
    // The same command however often it is given: on a machine that stands still its answer may be late too.
    const commandId = `accident-${attempt}`;
    await this.run
      .slot(slot)
      .reassign({ workerClass, reason: REASON, commandId })
      .catch((error: unknown) => {
        if (!(error instanceof BatonError && error.code === 'TemporalUnavailable')) throw error;
      });
  }
}
