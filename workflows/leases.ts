/** Leases: one `performAttempt` activity alive for every attempt that is. Its end is the attempt's end. */
import { CancellationScope, isCancellation, workflowInfo } from '@temporalio/workflow';
import type { AttemptRef, Slot } from '../src/domain/types.js';
import { brief } from '../src/domain/markdown.js';
import type { Wants } from '../src/domain/wants.js';
import { readDeadlines } from '../src/domain/answers.js';
import { lease, persistently, recorded } from './activities.js';
import { endOfCompletion, endOfFailure, type ObservedEnd } from './failures.js';
import type { Machine } from './machine.js';

/** Code points of a reason: a summary is one line of the event list. */
const REASON = 80;

interface Lease {
  readonly activityId: string;
  readonly scope: CancellationScope;
}

export class Leases {
  private readonly alive = new Map<string, Lease>();
  /** When a lease of an outside holder ends unless it beats: known only after a roll-over, until the first beat. */
  readonly deadlines: Map<string, number>;
  private readonly before: Readonly<Record<string, string>>;

  constructor(private readonly machine: Machine) {
    const carried = machine.input.carried;
    this.before = carried?.previous?.leases ?? {};
    this.deadlines = new Map(Object.entries(carried?.deadlines ?? {}));
    if (carried?.previous) this.carryDeadlines(carried.previous.workflowRunId);
  }

  /** Activity ids of the live leases, by attempt. */
  activityIds(): Record<string, string> {
    return Object.fromEntries([...this.alive].map(([attempt, { activityId }]) => [attempt, activityId]));
  }

  reconcile(wants: Wants): void {
    for (const [attempt, { scope }] of this.alive) {
      if (wants.leases.has(attempt)) continue;
      this.alive.delete(attempt);
      this.deadlines.delete(attempt);
      scope.cancel();
    }
    if (this.machine.rollingOver) return;
    for (const [attempt, want] of wants.leases)
      if (!this.alive.has(attempt)) this.start(want.slot, want.attempt);
  }

  /** Called when a carried deadline is due: a holder that has not beaten since the roll-over has lost its lease. */
  async checkDeadlines(now: number): Promise<void> {
    const due = [...this.deadlines].filter(([, deadline]) => deadline <= now).map(([attempt]) => attempt);
    for (const attempt of due) this.deadlines.delete(attempt);
    const found = await this.ask(workflowInfo().runId, due, this.activityIds());
    for (const attempt of due) {
      const slot = this.slotOf(attempt);
      if (!slot || found[attempt]?.beaten) continue;
      const failure = { code: 'LeaseExpired', message: 'no beat since before the roll-over' };
      this.machine.observe({
        kind: 'attempt-ended',
        slot: slot.slot,
        attempt,
        end: 'expired',
        staged: null,
        failure,
      });
    }
  }

  private start(slot: Slot, attempt: AttemptRef): void {
    const { tenant, run, pins } = this.machine.state;
    const activityId = `work:${slot.slot}:${attempt.epoch}`;
    const scope = new CancellationScope({ cancellable: true, parent: this.machine.detached });
    this.alive.set(attempt.attempt, { activityId, scope });
    const activity = lease({
      taskQueue: attempt.hostQueue,
      activityId,
      ttlMs: attempt.ttlMs,
      summary: attemptSummary(slot, attempt),
    });
    const work = { tenant, run, slot: slot.slot, node: slot.node, pins };
    const ended = (end: ObservedEnd) =>
      this.machine.observe({ kind: 'attempt-ended', slot: slot.slot, attempt: attempt.attempt, ...end });
    void scope
      .run(() => activity.performAttempt({ ...work, attempt, priorTrace: slot.prior?.trace }))
      .then(
        (result) => ended(endOfCompletion(result)),
        (error: unknown) => {
          // Cancelled by the run itself: the end is in the state already.
          if (isCancellation(error) && scope.consideredCancelled) return;
          ended(endOfFailure(error, attempt.ttlMs, attempt.attempt in this.before));
        },
      );
  }

  /**
   * After a roll-over: an attachment is no beat, so a holder outside keeps what was left of its lease. Hosts answer an
   * attachment themselves, and need nothing.
   */
  private carryDeadlines(previousRunId: string): void {
    const outside = Object.entries(this.before).filter(
      ([attempt]) => this.slotOf(attempt)?.active?.hostQueue === this.machine.input.taskQueue,
    );
    if (outside.length === 0) return;
    void this.ask(
      previousRunId,
      outside.map(([attempt]) => attempt),
      this.before,
    ).then((found) => {
      for (const [attempt, answer] of Object.entries(found)) {
        if (!answer || !this.slotOf(attempt)) continue;
        // Not beaten in the execution before either: what was carried into it still counts.
        const earlier = this.deadlines.get(attempt);
        this.deadlines.set(attempt, answer.beaten || earlier === undefined ? answer.deadline : earlier);
      }
      this.machine.reconcile();
    });
  }

  private async ask(
    workflowRunId: string,
    attempts: readonly string[],
    activityIds: Readonly<Record<string, string>>,
  ) {
    const leases = attempts.flatMap((attempt) => {
      const activityId = activityIds[attempt];
      const active = this.slotOf(attempt)?.active;
      return activityId && active ? [{ attempt, activityId, ttlMs: active.ttlMs }] : [];
    });
    if (leases.length === 0) return {};
    const { tenant, run } = this.machine.state;
    const scope = new CancellationScope({ cancellable: false, parent: this.machine.detached });
    const read = () =>
      recorded('read the last beats of outside holders').leaseDeadlines({
        tenant,
        run,
        workflowRunId,
        leases,
      });
    return scope.run(() => persistently(read, readDeadlines));
  }

  private slotOf(attempt: string): Slot | undefined {
    return Object.values(this.machine.state.slots).find((slot) => slot.active?.attempt === attempt);
  }
}

function attemptSummary({ slot, reassign }: Slot, { number, worker, workerClass }: AttemptRef): string {
  const after = reassign ? `, reassigned by ${reassign.actor}: ${brief(reassign.reason, REASON)}` : '';
  return `${slot} attempt ${number} by ${worker} (${workerClass})${after}`;
}
