/** Judges a run by its records: which steps ran again, and whether the results are the undisturbed run's. Pure. */
import { isDeepStrictEqual } from 'node:util';
import type { Json } from '../../store/port.js';
import { recordsOf, type HostRecord } from './records.js';
import type { ExploreOptions, RepeatedStep } from './types.js';

/** How often each step's function was run, by slot and step. */
export type StepCounts = ReadonlyMap<string, RepeatedStep>;

export function countSteps(records: readonly HostRecord[]): StepCounts {
  const counts = new Map<string, RepeatedStep>();
  for (const { slot, step } of recordsOf(records, 'step')) {
    const key = JSON.stringify([slot, step]);
    counts.set(key, { slot, step, times: (counts.get(key)?.times ?? 0) + 1 });
  }
  return counts;
}

/** Steps that ran more often than undisturbed: an agent may repeat a step that threw by itself. */
export const repeatedSteps = (counts: StepCounts, undisturbed: StepCounts): readonly RepeatedStep[] =>
  [...counts].flatMap(([key, counted]) =>
    counted.times > (undisturbed.get(key)?.times ?? 1) ? [counted] : [],
  );

/** What is wrong with the results, one text a slot. */
export function differences(
  undisturbed: Readonly<Record<string, Json>>,
  results: Readonly<Record<string, Json>>,
  equal: ExploreOptions['equal'] = isDeepStrictEqual,
): readonly string[] {
  return Object.entries(undisturbed).flatMap(([slot, expected]) => {
    const result = results[slot] ?? null;
    if (equal(expected, result, slot)) return [];
    return [
      `the result of slot ${slot} is ${short(result)}, undisturbed it is ${short(expected)} (if both are right, give \`equal\`)`,
    ];
  });
}

function short(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}
