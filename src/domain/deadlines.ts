/**
 * What time alone ends: attempts that take too long, slots and runs that are not done by their deadline. Pure; the time is
 * the server's. A claim or success that is being recorded is waited for: it may be in time.
 */
import { endAttempt } from './attempt.js';
import { advance, cancelled, endRun, isOver, specOf, withSlot } from './run.js';
import { isBeingRecorded, slotBeingRecorded } from './steer.js';
import type { Failure, RunState, Slot } from './types.js';

/** When time alone next ends something of the slot, or null. */
export function slotDeadline(slot: Slot): number | null {
  if (isOver(slot) || isBeingRecorded(slot)) return null;
  const { active, deadline } = slot;
  const longest = active?.maxDurationMs == null ? null : active.startedAt + active.maxDurationMs;
  if (longest === null) return deadline ?? null;
  return deadline === undefined ? longest : Math.min(longest, deadline);
}

/** When the run fails unless it is over, or null. */
export const runDeadline = (state: RunState): number | null =>
  state.status === 'running' && !slotBeingRecorded(state) ? (state.deadline ?? null) : null;

/** The state at a time: whatever is past its deadline has ended. */
export function timePassed(state: RunState, now: number): RunState {
  let next = state;
  for (const slot of Object.values(state.slots)) {
    const due = slotDeadline(slot);
    if (due !== null && now >= due) next = withSlot(next, ended(next, slot, now));
  }
  if (next !== state) next = advance(next, now);
  const due = runDeadline(next);
  if (due === null || now < due) return next;
  const failure = exceeded('run', due);
  return { ...endRun(next, 'failed', now, failure), failure };
}

/** An attempt over its maximum duration is lost; a slot past its deadline fails, and its attempt is told as a cancelled one. */
function ended(state: RunState, slot: Slot, now: number): Slot {
  const spec = specOf(state, slot);
  if (slot.deadline !== undefined && now >= slot.deadline) {
    const failure = exceeded('slot', slot.deadline);
    return { ...cancelled(slot, spec, failure, now), state: 'failed', failure };
  }
  const failure = {
    code: 'MaxDuration',
    message: `the attempt took longer than ${slot.active?.maxDurationMs} ms`,
  };
  return endAttempt(slot, spec, { end: 'max-duration', failure, staged: null, now });
}

const exceeded = (what: 'slot' | 'run', deadline: number): Failure => ({
  code: 'DeadlineExceeded',
  message: `the ${what} was not over by its deadline, ${new Date(deadline).toISOString()}`,
});
