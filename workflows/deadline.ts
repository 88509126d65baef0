/** The run's one deadline timer: nearest retry time, maximum duration or carried lease deadline. */
import { CancellationScope, sleep } from '@temporalio/workflow';
import type { Machine } from './machine.js';

export class Deadline {
  private armed: { readonly at: number; readonly scope: CancellationScope } | null = null;

  constructor(
    private readonly machine: Machine,
    private readonly due: () => void,
  ) {}

  /** A timer that is armed for earlier stays: firing for nothing costs less history than cancelling each time. */
  reconcile(at: number | null): void {
    if (at === null || this.machine.rollingOver) return;
    if (this.armed && this.armed.at <= at) return;
    this.armed?.scope.cancel();
    const scope = new CancellationScope({ cancellable: true, parent: this.machine.detached });
    const armed = { at, scope };
    this.armed = armed;
    void scope
      .run(() =>
        sleep(Math.max(1, at - Date.now()), {
          summary: `next retry or deadline at ${new Date(at).toISOString()}`,
        }),
      )
      .then(
        () => {
          if (this.armed === armed) this.armed = null;
          this.due();
        },
        () => {},
      );
  }
}
