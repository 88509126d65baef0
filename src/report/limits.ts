/** How much of a run a page shows, so that it stays one that a browser opens, also of 2,000 slots. Pure. */

export interface Limits {
  /** Newest attempts of a slot. */
  readonly attempts: number;
  /** Newest artifacts of a slot. */
  readonly artifacts: number;
  readonly effects: number;
  /** Code points of a text or of a value's preview. */
  readonly text: number;
}

/** Rows of one kind on a page, shared by the slots. */
const ROWS = 4_000;
/** Longest text in a page of up to so many slots. */
const TEXTS = [
  [100, 400],
  [500, 120],
  [Infinity, 60],
] as const;

export function limitsFor(slots: number): Limits {
  const share = (most: number, least: number): number =>
    Math.min(most, Math.max(least, Math.floor(ROWS / Math.max(1, slots))));
  return {
    attempts: share(50, 2),
    artifacts: share(50, 2),
    effects: share(50, 1),
    text: TEXTS.find(([most]) => slots <= most)?.[1] ?? 0,
  };
}

export interface Cut<T> {
  readonly shown: readonly T[];
  readonly left: number;
}

/** The newest of a list, which is in order. */
export const newest = <T>(list: readonly T[], most: number): Cut<T> => ({
  shown: list.slice(-most),
  left: Math.max(0, list.length - most),
});
