/** Settles: every attempt's end is written to the store, for as long as that takes. */
import { CancellationScope } from '@temporalio/workflow';
import { closesWith, type Wants } from '../src/domain/wants.js';
import type { Ending, RunStatus } from '../src/domain/types.js';
import { readSettled } from '../src/domain/answers.js';
import { done, persistently, recorded } from './activities.js';
import type { Machine } from './machine.js';

export class Settles {
  private readonly running = new Set<string>();
  private closed: RunStatus | null = null;

  constructor(
    private readonly machine: Machine,
    private readonly activityIdOf: (attempt: string) => string | null,
  ) {}

  reconcile(wants: Wants): void {
    if (this.machine.rollingOver) return;
    for (const [slot, ending] of wants.settles)
      if (!this.running.has(ending.attempt.attempt)) this.start(slot, ending);
  }

  /** Records how the run ended, unless the last settle has done it. */
  async close(status: RunStatus): Promise<void> {
    if (this.closed === status) return;
    const { tenant, run } = this.machine.state;
    const scope = new CancellationScope({ cancellable: false, parent: this.machine.detached });
    const at = Date.now();
    await scope.run(() =>
      persistently(() => recorded(`record the run as ${status}`).closeRun({ tenant, run, status, at }), done),
    );
  }

  private start(name: string, ending: Ending): void {
    const { machine } = this;
    const { tenant, run } = machine.state;
    const slot = machine.slot(name);
    if (!slot) return;
    const { attempt, end, staged, failure, endedAt } = ending;
    this.running.add(attempt.attempt);
    const closes = closesWith(machine.state, slot, Date.now());
    const activityId = this.activityIdOf(attempt.attempt);
    const scope = new CancellationScope({ cancellable: false, parent: machine.detached });
    const record = () =>
      recorded(`record the end of ${name} attempt ${attempt.number}: ${end}`).settle({
        tenant,
        run,
        slot: name,
        attempt,
        activityId,
        end,
        staged,
        failure,
        endedAt,
        closes,
      });
    void scope
      .run(() => persistently(record, readSettled))
      .then((settled) => {
        this.running.delete(attempt.attempt);
        if (closes !== null && settled.end === end) this.closed = closes;
        machine.observe({ kind: 'settled', slot: name, attempt: attempt.attempt, settled });
      });
  }
}
