/**
 * Effects in the crash explorer: the points at which something of them is recorded, and how often their owners have committed each.
 */
import { effectLabel } from '../../domain/effect.js';
import { BatonError } from '../../domain/errors.js';
import type { EffectRow, EffectStore } from '../../store/port.js';
import type { StoreCall } from '../watch-store.js';
import type { CommittedEffect, CrashPoint, ExploreOptions } from './types.js';

type Begin = Parameters<EffectStore['begin']>[0];
type Record = Parameters<EffectStore['record']>[0];
export type EffectPoint = CrashPoint & { readonly at: number };

/** What was recorded of each effect: its intent, that its owner took it, its outcome. */
export function effectPoints(
  rows: readonly EffectRow[],
  nodeOf: ReadonlyMap<string, string>,
): readonly EffectPoint[] {
  return rows.flatMap((row): EffectPoint[] => {
    const node = nodeOf.get(row.slot);
    if (node === undefined) return [];
    const point = { slot: row.slot, node, name: effectLabel(row), nth: 1 };
    return [
      { ...point, kind: 'effect-intent', at: row.intentAt },
      // When it was accepted is not kept once it has ended: right after the intent is the order, not the time.
      ...(row.handle === null ? [] : [{ ...point, kind: 'effect-accepted', at: row.intentAt }]),
      ...(row.state === 'committed' || row.state === 'rejected'
        ? [{ ...point, kind: 'effect-outcome', at: row.updatedAt }]
        : []),
    ];
  });
}

/** Tells which calls of one host's store make such a point. A record has the key only: the intent before it tells the name. */
export function effectCalls(): (call: StoreCall, point: CrashPoint) => boolean {
  const labels = new Map<string, string>();
  return ({ name, args }, { kind, slot, name: label }) => {
    if (name === 'effects.begin') {
      const input = args[0] as Begin;
      labels.set(input.key, effectLabel(input));
      return kind === 'effect-intent' && input.fence.slot === slot && effectLabel(input) === label;
    }
    if (name !== 'effects.record') return false;
    const { fence, key, record } = args[0] as Record;
    if (fence.slot !== slot || labels.get(key) !== label) return false;
    return kind === 'effect-accepted'
      ? record.state === 'accepted'
      : kind === 'effect-outcome' && (record.state === 'committed' || record.state === 'rejected');
  };
}

/**
 * Asks the caller how often each effect of a run was committed.
 *
 * @throws BatonError `InvalidCommand` when the answer is no count
 */
export async function countCommits(
  rows: readonly EffectRow[],
  commits: ExploreOptions['commits'],
): Promise<readonly CommittedEffect[]> {
  return Promise.all(
    rows.map(async ({ run, slot, name, instance, key, state }) => {
      const times = (await commits?.({ run, slot, name, instance, key })) ?? null;
      if (times !== null && !(Number.isInteger(times) && times >= 0))
        throw BatonError.of('InvalidCommand', '`commits` must return how often an effect was committed', {
          field: 'commits',
          value: String(times),
        });
      return { slot, effect: effectLabel({ name, instance }), state, times };
    }),
  );
}

/** What is wrong with the effects of a run, one text each: done twice, or other than recorded. */
export const wrongEffects = (effects: readonly CommittedEffect[]): readonly string[] =>
  effects.flatMap(({ slot, effect, state, times }) => {
    if (times === null || (times <= 1 && (times === 1) === (state === 'committed'))) return [];
    return [`effect ${effect} of slot ${slot} is ${state}, and its owner has committed it ${times} times`];
  });
