/** Small statistics of samples: what a benchmark says about a series of numbers. */

export interface Spread {
  readonly n: number;
  readonly median: number;
  readonly p10: number;
  readonly p90: number;
  readonly min: number;
  readonly max: number;
}

/** Linear interpolation between the two nearest ranks. @param q 0 to 1 @throws RangeError without samples */
export function quantile(samples: readonly number[], q: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const rank = (sorted.length - 1) * q;
  const below = sorted[Math.floor(rank)];
  const above = sorted[Math.ceil(rank)];
  if (below === undefined || above === undefined) throw new RangeError('no samples');
  return below + (above - below) * (rank - Math.floor(rank));
}

/** @throws RangeError without samples */
export const median = (samples: readonly number[]): number => quantile(samples, 0.5);

/** Rounded to a thousandth: more digits than any clock here is worth. @throws RangeError without samples */
export function spread(samples: readonly number[]): Spread {
  const at = (q: number): number => round(quantile(samples, q));
  return { n: samples.length, median: at(0.5), p10: at(0.1), p90: at(0.9), min: at(0), max: at(1) };
}

/** Ratio of the medians of two series; null when there is nothing to divide by. */
export function ratioOfMedians(ours: readonly number[], theirs: readonly number[]): number | null {
  const base = median(theirs);
  return base === 0 ? null : round(median(ours) / base);
}

/** Median of the ratios pair by pair: what was measured side by side is compared first. The series have one length. */
export function medianOfRatios(ours: readonly number[], theirs: readonly number[]): number | null {
  const ratios = ours.flatMap((value, i) => {
    const base = theirs[i];
    return base === undefined || base === 0 ? [] : [value / base];
  });
  return ratios.length === 0 ? null : round(median(ratios));
}

export const round = (value: number): number => Math.round(value * 1_000) / 1_000;

/** All orders of the items, one after the other: each item is as often before each other one as after it. */
export function orders<T>(items: readonly T[]): readonly (readonly T[])[] {
  if (items.length <= 1) return [items];
  return items.flatMap((first, i) =>
    orders(items.filter((_, other) => other !== i)).map((rest) => [first, ...rest]),
  );
}
