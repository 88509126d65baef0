/**
 * What a reassign must answer, as a table of its own: written down from the design, not from the product's guards, which are
 * judged by it. The first line that fits speaks.
 */
import type { Combination, Factor } from './factors.js';

type Line = { readonly code: string } & { readonly [F in Factor]?: readonly Combination[F][] };

export const REFUSALS: readonly Line[] = [
  { code: 'TooLarge', reason: ['too long'] },
  { code: 'RunNotFound', tenant: ['foreign', 'own in another case'] },
  { code: 'RunClosed', run: ['closed'] },
  { code: 'RunMismatch', run: ['another'] },
  { code: 'SlotNotFound', slot: ['absent'] },
  {
    code: 'SlotNotInRetryWait',
    slot: ['blocked', 'open', 'claiming', 'active', 'on-hold', 'succeeded', 'failed', 'cancelled'],
  },
  { code: 'NoPriorWorker', worker: ['none'] },
  { code: 'WorkerNotTerminal', worker: ['claimed', 'running'] },
  { code: 'LeaseNotTerminal', lease: ['provisional', 'live', 'being recorded'] },
  { code: 'ReasonRequired', reason: ['missing', 'blank'] },
  { code: 'OwnerActorMismatch', owner: ['another actor'] },
  { code: 'NoCompatibleLaunchSpec', workerClass: ['none'] },
];

/** Specification that is selected: the first in declared order that admits the class. */
const SELECTED: Readonly<Record<Combination['workerClass'], string | null>> = {
  one: 'one',
  two: 'two',
  'one and two': 'one',
  none: null,
};

export type Verdict = { readonly refused: string } | { readonly accepted: string };

export function expected(combination: Combination): Verdict {
  for (const { code, ...levels } of REFUSALS) {
    const fits = Object.entries(levels).every(([factor, of]) =>
      (of as readonly string[]).includes(combination[factor as Factor]),
    );
    if (fits) return { refused: code };
  }
  const spec = SELECTED[combination.workerClass];
  if (spec === null) throw new RangeError('no line of the table speaks of a class that nothing admits');
  return { accepted: spec };
}

export const verdictText = (verdict: Verdict): string =>
  'refused' in verdict ? verdict.refused : `accepted with specification ${verdict.accepted}`;
