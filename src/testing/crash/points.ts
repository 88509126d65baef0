/** Points of a run: listed from what the undisturbed run has saved, found again in the calls of another run's host. */
import type { ArtifactRow, Store } from '../../store/port.js';
import { watchStore, type StoreCall } from '../watch-store.js';
import { effectCalls, type EffectPoint } from './effects.js';
import type { CrashCell, CrashPoint, CrashPointKind } from './types.js';

type Saved = Pick<ArtifactRow, 'kind' | 'name' | 'step'>;

/**
 * @param rows all that the run has saved, in order of saving
 * @param nodeOf node of each slot that is explored; rows of others are left out
 * @param effects points of effects, set between the others by time
 */
export function listPoints(
  rows: readonly (Saved & { slot: string; savedAt: number })[],
  nodeOf: ReadonlyMap<string, string>,
  effects: readonly EffectPoint[] = [],
): readonly CrashPoint[] {
  const waiting = [...effects].sort((a, b) => a.at - b.at);
  const takeUntil = (time: number): CrashPoint[] => {
    const later = waiting.findIndex(({ at }) => at > time);
    return waiting.splice(0, later === -1 ? waiting.length : later).map(({ at: _at, ...point }) => point);
  };
  const counts = new Map<string, number>();
  const points = rows.flatMap((row, index): CrashPoint[] => {
    const node = nodeOf.get(row.slot);
    if (node === undefined) return [];
    const kind = isEnd(row, rows.slice(index + 1)) ? 'result' : kindOf(row);
    const key = JSON.stringify([row.slot, kind, row.name]);
    const nth = (counts.get(key) ?? 0) + 1;
    counts.set(key, nth);
    return [...takeUntil(row.savedAt), { slot: row.slot, node, kind, name: row.name, nth }];
  });
  return [...points, ...takeUntil(Number.POSITIVE_INFINITY)];
}

/** The host saves the agent's result as the last thing of an attempt; an agent may save artifacts of that name too. */
function isEnd({ kind, name, slot }: Saved & { slot: string }, later: readonly { slot: string }[]): boolean {
  return kind === 'result' && name === 'result' && !later.some((row) => row.slot === slot);
}

function kindOf({ kind, step }: Saved): CrashPointKind {
  if (step !== null) return 'step';
  return kind === 'checkpoint' ? 'checkpoint' : 'artifact';
}

/** Whether a call of the store is what makes such a point. A result's is the record of its completion. */
function makes({ name, args }: StoreCall, point: CrashPoint): boolean {
  const input = args[0] as Saved & { fence: { slot: string } };
  if (point.kind === 'result')
    return (
      name === 'attempts.stage' && (input.kind as string) === 'completion' && input.fence.slot === point.slot
    );
  return (
    name === 'artifacts.save' &&
    input.fence.slot === point.slot &&
    input.name === point.name &&
    kindOf(input) === point.kind
  );
}

/**
 * @param kill ends this process
 * @returns the store, which calls `kill` right before or right after the point and never answers that call
 */
export function killAt(
  store: Store,
  { point, when }: Pick<CrashCell, 'point' | 'when'>,
  kill: () => void,
): Store {
  let done = 0;
  const makesEffect = effectCalls();
  const dead = (): Promise<never> => {
    kill();
    return new Promise(() => undefined);
  };
  return watchStore(store, async (call, proceed) => {
    if (!makesEffect(call, point) && !makes(call, point)) return proceed();
    if (when === 'before' && done + 1 === point.nth) return dead();
    const answer = await proceed();
    // Counted when done: a call that the store refused is repeated.
    done += 1;
    return when === 'after' && done === point.nth ? dead() : answer;
  });
}

const EFFECT_POINTS: ReadonlyMap<string, string> = new Map([
  ['effect-intent', 'the intent of effect'],
  ['effect-accepted', 'the acceptance of effect'],
  ['effect-outcome', 'the outcome of effect'],
]);

/** `step draft of slot write`, with the number of a save that is not the first of its name. */
export function pointText({ kind, name, nth, slot }: CrashPoint): string {
  const what =
    kind === 'result'
      ? 'the result'
      : `${EFFECT_POINTS.get(kind) ?? kind} ${name}${nth > 1 ? ` (${nth})` : ''}`;
  return `${what} of slot ${slot}`;
}
