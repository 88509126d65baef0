/**
 * What the run's state asks of the world: offers out, leases alive, ends recorded, one deadline. Level-triggered: the
 * workflow compares it with what it has started, so that a continued run needs nothing but its state. Pure.
 */
import { pauseMs } from './attempt.js';
import { unclaimable } from './claim.js';
import { runDeadline, slotDeadline } from './deadlines.js';
import { observe } from './decide.js';
import { isOver, specOf } from './run.js';
import type { AttemptRef, Ending, LaunchSpec, RunState, RunStatus, Slot } from './types.js';

/** More pending activities than this would bring a run near the server's limit; further offers wait in slot order. */
export const MAX_PENDING = 1_000;

/** Shortest time from a failed claim to the next offer. */
const MIN_CLAIM_PAUSE_MS = 200;

export interface Wants {
  readonly offers: ReadonlyMap<string, { readonly spec: LaunchSpec; readonly workerClass: string }>;
  readonly leases: ReadonlyMap<string, { readonly slot: Slot; readonly attempt: AttemptRef }>;
  /** Keyed by slot. */
  readonly settles: ReadonlyMap<string, Ending>;
  /** When time alone changes something, or null. */
  readonly deadline: number | null;
  /** The run is over and everything is recorded. */
  readonly finished: boolean;
}

export function wants(state: RunState, now: number): Wants {
  const offers = new Map<string, { spec: LaunchSpec; workerClass: string }>();
  const leases = new Map<string, { slot: Slot; attempt: AttemptRef }>();
  const settles = new Map<string, Ending>();
  const claimable: Slot[] = [];
  let deadline: number | null = null;
  const wake = (at: number) => {
    if (deadline === null || at < deadline) deadline = at;
  };
  const due = runDeadline(state);
  if (due !== null) wake(due);
  for (const slot of Object.values(state.slots)) {
    const slotDue = slotDeadline(slot);
    if (slotDue !== null) wake(slotDue);
    if (slot.ending) settles.set(slot.slot, slot.ending);
    else if (slot.active) leases.set(slot.active.attempt, { slot, attempt: slot.active });
    else if (state.status === 'running' && specOf(state, slot).dispatch === 'queue') {
      const from = offerFrom(state, slot);
      if (from === null) continue;
      if (from <= now) claimable.push(slot);
      else wake(from);
    }
  }
  const room = Math.max(0, MAX_PENDING - leases.size - settles.size);
  for (const slot of claimable.slice(0, room))
    offers.set(slot.slot, { spec: specOf(state, slot), workerClass: slot.workerClass });
  const finished =
    state.status !== 'running' &&
    settles.size === 0 &&
    leases.size === 0 &&
    Object.values(state.slots).every(isOver);
  return { offers, leases, settles, deadline, finished };
}

/** From when the slot is on offer; null when time alone does not bring it there. */
function offerFrom(state: RunState, slot: Slot): number | null {
  const from = slot.gate === 'time' ? (slot.retryTime ?? 0) : 0;
  if (unclaimable(slot, from)) return null;
  if (!slot.claimFailure) return from;
  // A claim that keeps failing (damaged pins, a host that dies before it attaches) must not spin, not even without a backoff.
  const pause = Math.max(MIN_CLAIM_PAUSE_MS, pauseMs(specOf(state, slot).retry, slot.claimFailure.times));
  return Math.max(from, slot.claimFailure.at + pause);
}

/** The status with which the run closes if this end stands and nothing else is left; saves an activity at the end. */
export function closesWith(state: RunState, slot: Slot, now: number): RunStatus | null {
  const ending = slot.ending;
  if (!ending || ending.end === 'never-attached') return null;
  const success = ending.end === 'success';
  const settled = {
    end: ending.end,
    workerStatus: success ? 'succeeded' : 'failed',
    leaseStatus: 'released',
    failure: null,
    result: null,
  } as const;
  const after = observe(
    state,
    { kind: 'settled', slot: slot.slot, attempt: ending.attempt.attempt, settled },
    now,
  );
  return wants(after, now).finished ? after.status : null;
}
