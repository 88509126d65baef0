/** A set of combinations that has every pair of levels: what is tried on the real server in place of all. Pure. */
import { FACTOR_NAMES, FACTORS, GOOD, type Combination, type Factor } from './factors.js';

export type Levels = { readonly [F in Factor]: readonly Combination[F][] };
type Pair = string;

const pairOf = (a: Factor, x: string, b: Factor, y: string): Pair => `${a}=${x}&${b}=${y}`;

/** Every pair of levels of two factors. */
export function pairsOf(levels: Levels): ReadonlySet<Pair> {
  const pairs = new Set<Pair>();
  FACTOR_NAMES.forEach((a, index) => {
    for (const b of FACTOR_NAMES.slice(index + 1))
      for (const x of levels[a]) for (const y of levels[b]) pairs.add(pairOf(a, x, b, y));
  });
  return pairs;
}

export function pairsIn(combination: Combination): Pair[] {
  return FACTOR_NAMES.flatMap((a, index) =>
    FACTOR_NAMES.slice(index + 1).map((b) => pairOf(a, combination[a], b, combination[b])),
  );
}

/**
 * Greedy: each combination starts from a pair that is missing and takes for every other factor the level with which most
 * missing pairs come in. Always the same for the same levels.
 */
export function pairwise(levels: Levels): Combination[] {
  const missing = new Set(pairsOf(levels));
  const found: Combination[] = [];
  for (let first = missing.values().next(); !first.done; first = missing.values().next()) {
    const chosen = new Map<Factor, string>(
      first.value.split('&').map((part) => part.split('=') as [Factor, string]),
    );
    for (const factor of FACTOR_NAMES) {
      if (chosen.has(factor)) continue;
      const gain = (level: string): number =>
        [...chosen].filter(([other, is]) =>
          missing.has(
            FACTOR_NAMES.indexOf(factor) < FACTOR_NAMES.indexOf(other)
              ? pairOf(factor, level, other, is)
              : pairOf(other, is, factor, level),
          ),
        ).length;
      const best = [...(levels[factor] as readonly string[])].sort((x, y) => gain(y) - gain(x))[0];
      chosen.set(factor, best ?? GOOD[factor]);
    }
    const combination = Object.fromEntries(chosen) as unknown as Combination;
    for (const pair of pairsIn(combination)) missing.delete(pair);
    found.push(combination);
  }
  return found;
}

/** An end that is being recorded would be recorded at once by a real control worker; a cell of the matrix holds it up instead. */
const SERVER_LEVELS: Levels = {
  ...FACTORS,
  lease: FACTORS.lease.filter((level) => level !== 'being recorded'),
};
/** Levels that pass every guard. */
const ADMISSIBLE: Levels = {
  tenant: ['own'],
  run: ['this'],
  slot: ['retry-wait'],
  worker: ['lost', 'failed', 'succeeded', 'released', 'cancelled'],
  lease: ['expired', 'released', 'revoked', 'void'],
  owner: ['the actor', 'nobody'],
  reason: ['given'],
  workerClass: ['two', 'one', 'one and two'],
};

/**
 * For the server: every pair of levels; every level with all else in order, since an early guard hides the later ones; and
 * every pair of levels that pass.
 */
export function coveringSet(): Combination[] {
  const single = FACTOR_NAMES.flatMap((factor) =>
    SERVER_LEVELS[factor].map((level) => ({ ...GOOD, [factor]: level })),
  );
  const all = [...single, ...pairwise(ADMISSIBLE), ...pairwise(SERVER_LEVELS)];
  const seen = new Map(all.map((combination) => [pairsIn(combination).join(), combination]));
  return [...seen.values()];
}
