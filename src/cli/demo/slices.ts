/**
 * How long a host is let run between two looks at what it has done: short enough not to miss the moment at which it is to
 * be frozen for good, long enough that a slow machine gets on. Pure: lengths in milliseconds, by what the last ones brought.
 */

const LONGEST_FIRST_MS = 25;
const LONGEST_MS = 250;
/** A machine on which leases expired has to be let run, even if a small project may then be done between two looks. */
const LONGEST_AFTER_ACCIDENT_MS = 1_000;

export class Slices {
  #next: number;
  #cap: number;

  /** @param total what there is to do in all: the less it is, the sooner it is done */
  constructor(total: number) {
    this.#next = Math.min(LONGEST_FIRST_MS, Math.max(1, total / 20));
    this.#cap = Math.min(LONGEST_MS, Math.max(this.#next, total / 2));
  }

  /** Length of the slice that is due. */
  get next(): number {
    return this.#next;
  }

  /**
   * Sets the next slice by the last: half of what is left at the rate that was seen; twice as long when nothing was.
   * @param gained done in the last slice
   * @param left still to do until the moment that must not be missed
   */
  record(gained: number, left: number): void {
    const wanted = gained > 0 ? ((left / 2) * this.#next) / gained : this.#next * 2;
    this.#next = Math.min(this.#cap, Math.max(1, wanted));
  }

  /** After a lease that expired: slices were too short for this machine. */
  lengthen(): void {
    this.#cap = Math.min(LONGEST_AFTER_ACCIDENT_MS, this.#cap * 4);
    this.#next = this.#cap;
  }
}
