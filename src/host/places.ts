/**
 * The places of one worker class on a host, counted exactly: polls, claims and agents together never exceed them, so an
 * offer is only taken where there is room. A permit lets Temporal's core poll; a claim takes a place of its own before
 * that permit comes back, and passes it to the agent.
 */
import type { ActivitySlotInfo, CustomSlotSupplier, SlotPermit } from '@temporalio/worker';

interface Waiting {
  readonly grant: () => void;
}

export class Places {
  #permits = 0;
  #taken = 0;
  readonly #waiting = new Set<Waiting>();

  /** @param total how many agents may be there at once, at least 1 */
  constructor(readonly total: number) {}

  /** Places of claims and agents. */
  get taken(): number {
    return this.#taken;
  }

  /** Takes a place for a claim; false when all are taken. */
  take(): boolean {
    if (this.#taken >= this.total) return false;
    this.#taken += 1;
    return true;
  }

  /** Gives one place back: a claim that came to nothing, or an agent that has really ended. */
  giveBack(): void {
    this.#taken -= 1;
    this.#grant();
  }

  /** What the class queue's Worker asks before it polls. */
  supplier(): CustomSlotSupplier<ActivitySlotInfo> {
    return {
      type: 'custom',
      reserveSlot: (_ctx, abort) => this.#reserve(abort),
      // Eager tasks come without a poll, past the queue's fairness: offers are never taken that way.
      tryReserveSlot: () => null,
      markSlotUsed: () => undefined,
      releaseSlot: () => {
        this.#permits -= 1;
        this.#grant();
      },
    };
  }

  #reserve(abort: AbortSignal): Promise<SlotPermit> {
    return new Promise<SlotPermit>((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiting.delete(waiting);
        reject(abort.reason as Error);
      };
      const waiting: Waiting = {
        grant: () => {
          abort.removeEventListener('abort', onAbort);
          resolve({});
        },
      };
      if (abort.aborted) return onAbort();
      abort.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(waiting);
      this.#grant();
    });
  }

  #grant(): void {
    for (const waiting of this.#waiting) {
      if (this.#permits + this.#taken >= this.total) return;
      this.#waiting.delete(waiting);
      this.#permits += 1;
      waiting.grant();
    }
  }
}
