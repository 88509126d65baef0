/**
 * A bound on how many commands of one client are under way at once in one run: Temporal refuses updates above a number in
 * flight per run, and waiting here costs the server nothing.
 */
export class Places {
  readonly #waiting = new Map<string, (() => void)[]>();
  readonly #taken = new Map<string, number>();

  constructor(readonly perKey: number) {}

  /** Runs `work` when a place of `key` is free; gives the place back however it ends. */
  async use<T>(key: string, work: () => Promise<T>): Promise<T> {
    await this.#take(key);
    try {
      return await work();
    } finally {
      this.#give(key);
    }
  }

  #take(key: string): Promise<void> {
    const taken = this.#taken.get(key) ?? 0;
    if (taken < this.perKey) {
      this.#taken.set(key, taken + 1);
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      this.#waiting.set(key, [...(this.#waiting.get(key) ?? []), resolve]);
    });
  }

  #give(key: string): void {
    const [next, ...rest] = this.#waiting.get(key) ?? [];
    if (next) {
      // The place goes on to the one who waited longest; the number taken stays.
      if (rest.length > 0) this.#waiting.set(key, rest);
      else this.#waiting.delete(key);
      next();
      return;
    }
    const taken = (this.#taken.get(key) ?? 1) - 1;
    if (taken > 0) this.#taken.set(key, taken);
    else this.#taken.delete(key);
  }
}
