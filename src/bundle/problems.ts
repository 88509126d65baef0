/** What is wrong with a bundle: which file, which field of it, and why. */

/**
 * `missing`: named and not there. `extra`: there and named by nobody. `changed`: other bytes than the manifest, the name or the
 * stated digest says. `malformed`: cannot be read for what it should be. `inconsistent`: records contradict each other.
 */
export type ProblemKind = 'missing' | 'extra' | 'changed' | 'malformed' | 'inconsistent';

export interface Problem {
  readonly kind: ProblemKind;
  /** Relative to the bundle. */
  readonly file: string;
  /** Place in a record, such as `[3].epoch`; null when it is the file as a whole. */
  readonly field: string | null;
  readonly message: string;
}

/** Problems that a verdict lists; the others are counted. */
const LISTED = 200;

export class Problems {
  readonly #listed: Problem[] = [];
  #count = 0;

  add(kind: ProblemKind, file: string, message: string, field: string | null = null): void {
    this.#count += 1;
    if (this.#listed.length < LISTED) this.#listed.push({ kind, file, field, message });
  }

  get count(): number {
    return this.#count;
  }

  get listed(): readonly Problem[] {
    return this.#listed;
  }
}
