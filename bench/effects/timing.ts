/** Times calls side by side, in microseconds. */

/** Share of calls before the counted ones. */
const WARM_UP = 0.1;

/**
 * Calls both once in each round, in turns which first.
 *
 * @param times rounds that count
 * @returns microseconds of each side, in the order of the rounds
 */
export async function interleaved(
  times: number,
  one: (i: number) => unknown,
  other: (i: number) => unknown,
): Promise<readonly [number[], number[]]> {
  const warmUp = Math.ceil(times * WARM_UP);
  const taken: [number[], number[]] = [[], []];
  const timed = async (side: 0 | 1, call: (i: number) => unknown, i: number): Promise<void> => {
    const from = performance.now();
    await call(i);
    if (i >= warmUp) taken[side].push((performance.now() - from) * 1_000);
  };
  for (let i = 0; i < times + warmUp; i += 1) {
    const both = [() => timed(0, one, i), () => timed(1, other, i)];
    for (const call of i % 2 === 0 ? both : both.reverse()) await call();
  }
  return taken;
}
