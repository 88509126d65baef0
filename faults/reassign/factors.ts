/** The reassign matrix: what is varied, and the levels of each factor. Pure data. */

export const FACTORS = {
  tenant: ['own', 'foreign', 'own in another case'],
  run: ['this', 'another', 'closed'],
  slot: [
    'retry-wait',
    'absent',
    'blocked',
    'open',
    'claiming',
    'active',
    'on-hold',
    'succeeded',
    'failed',
    'cancelled',
  ],
  /** Status of the prior worker. */
  worker: ['lost', 'none', 'claimed', 'running', 'succeeded', 'failed', 'released', 'cancelled'],
  /** Status of the prior lease; `being recorded`: the run has not heard from the store yet. */
  lease: ['expired', 'provisional', 'live', 'released', 'revoked', 'void', 'being recorded'],
  /** Recorded owner actor of the prior worker, seen from who gives the command. */
  owner: ['the actor', 'nobody', 'another actor'],
  reason: ['given', 'missing', 'blank', 'too long'],
  /** Launch specifications that admit the requested class: the declared order is `one`, `two`. */
  workerClass: ['two', 'one', 'one and two', 'none'],
} as const;

export type Factor = keyof typeof FACTORS;
export const FACTOR_NAMES = Object.keys(FACTORS) as Factor[];

/** One cell: a level for each factor. */
export type Combination = { readonly [F in Factor]: (typeof FACTORS)[F][number] };

/** The first levels: a reassign that is accepted. */
export const GOOD = Object.fromEntries(
  FACTOR_NAMES.map((factor) => [factor, FACTORS[factor][0]]),
) as unknown as Combination;

/** Each combination of all levels, one after the other. */
export function* everyCombination(): Generator<Combination> {
  const total = combinationCount();
  for (let index = 0; index < total; index += 1) {
    let rest = index;
    const levels = FACTOR_NAMES.map((factor) => {
      const of = FACTORS[factor];
      const level = of[rest % of.length];
      rest = Math.floor(rest / of.length);
      return [factor, level];
    });
    yield Object.fromEntries(levels) as Combination;
  }
}

export const combinationCount = (): number =>
  FACTOR_NAMES.reduce((product, factor) => product * FACTORS[factor].length, 1);

/** In words, what differs from a reassign that is accepted. */
export function worded(combination: Combination): string {
  const differs = FACTOR_NAMES.filter((factor) => combination[factor] !== GOOD[factor]);
  return differs.map((factor) => `${factor}: ${combination[factor]}`).join(', ') || 'all in order';
}
