/** Points of a run: listed from what the undisturbed run has saved, found again in the calls of another run's host. */
import type { ArtifactRow, Store } from '../../store/port.js';
import { watchStore, type StoreCall } from '../watch-store.js';
import type { CrashCell, CrashPoint, CrashPointKind } from './types.js';

type Saved = Pick<ArtifactRow, 'kind' | 'name' | 'step'>;

/**
 * @param rows all that the run has saved, in order of saving
 * @param nodeOf node of each slot that is explored; rows of others are left out
 */
export function listPoints(
  rows: readonly (Saved & { slot: string })[],
  nodeOf: ReadonlyMap<string, string>,
): readonly CrashPoint[] {
  const counts = new Map<string, number>();
  return rows.flatMap((row, index): CrashPoint[] => {
    const node = nodeOf.get(row.slot);
    if (node === undefined) return [];
    const kind = isEnd(row, rows.slice(index + 1)) ? 'result' : kindOf(row);
    const key = JSON.stringify([row.slot, kind, row.name]);
    const nth = (counts.get(key) ?? 0) + 1;
    counts.set(key, nth);
    return [{ slot: row.slot, node, kind, name: row.name, nth }];
  });
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
  const dead = (): Promise<never> => {
    kill();
    return new Promise(() => undefined);
  };
  return watchStore(store, async (call, proceed) => {
    if (!makes(call, point)) return proceed();
    if (when === 'before' && done + 1 === point.nth) return dead();
    const answer = await proceed();
    // Counted when done: a call that the store refused is repeated.
    done += 1;
    return when === 'after' && done === point.nth ? dead() : answer;
  });
}

/** `step draft of slot write`, with the number of a save that is not the first of its name. */
export function pointText({ kind, name, nth, slot }: CrashPoint): string {
  const what = kind === 'result' ? 'the result' : `${kind} ${name}${nth > 1 ? ` (${nth})` : ''}`;
  return `${what} of slot ${slot}`;
}
