/**
 * What the run's state asks of the world: offers out, leases alive, ends recorded, one deadline. Level-triggered: the
 * workflow compares it with what it has started, so that a continued run needs nothing but its state. Pure.
 */
import { pauseMs } from './attempt.js';
import { unclaimable } from './claim.js';
import { runDeadline, slotDeadline } from './deadlines.js';
import { observe } from './decide.js';
import { isOver, slotNames, specOf } from './run.js';
import type { AttemptRef, Ending, LaunchSpec, RunPlan, RunState, RunStatus, Slot } from './types.js';

/** More pending activities than this would bring a run near the server's limit; further offers wait in slot order. */
export const MAX_PENDING = 1_000;
/** Offers out at once in a new run. Each claim makes room for the next, so that it bounds no fleet. */
export const OFFERS_AT_ONCE = 100;
/** However many classes there are. */
const LEAST_OF_CLASS = 10;

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

/**
 * @param offersAtOnce offers that may be out together; null: as many as may be pending. Each costs events again with every roll-over, so a run that offered
 *   all it could would spend its history on that. Every class of the plan has its own part: offers that nobody takes must
 *   not keep those of another class from being made.
 */
export function wants(state: RunState, now: number, offersAtOnce: number | null = null): Wants {
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
  const running = state.status === 'running';
  for (const slot of Object.values(state.slots)) {
    const slotDue = slotDeadline(slot);
    if (slotDue !== null) wake(slotDue);
    if (slot.ending) settles.set(slot.slot, slot.ending);
    else if (slot.active) leases.set(slot.active.attempt, { slot, attempt: slot.active });
    else if (running && mayBeOffered(slot) && specOf(state, slot).dispatch === 'queue') {
      const from = offerFrom(state, slot);
      if (from === null) continue;
      if (from <= now) claimable.push(slot);
      else wake(from);
    }
  }
  const room = Math.max(0, MAX_PENDING - leases.size - settles.size);
  const part = offersAtOnce === null ? room : partOfClass(state.plan, offersAtOnce);
  const taken = new Map<string, number>();
  for (const slot of claimable) {
    if (offers.size >= room) break;
    const { workerClass } = slot;
    const before = taken.get(workerClass) ?? 0;
    if (before >= part) continue;
    taken.set(workerClass, before + 1);
    offers.set(slot.slot, { spec: specOf(state, slot), workerClass });
  }
  return { offers, leases, settles, deadline, finished: isFinished(state) };
}

/** Over, and every end is recorded. */
const isFinished = (state: RunState): boolean =>
  state.status !== 'running' &&
  Object.values(state.slots).every((slot) => isOver(slot) && !slot.ending && !slot.active);

/** Offers that a class may have out at once: an equal part for each class that the plan offers to. */
function partOfClass(plan: RunPlan, offersAtOnce: number): number {
  let classes = classCounts.get(plan);
  if (classes === undefined) {
    const named = plan.nodes.flatMap(({ launch }) =>
      launch.flatMap((spec) => (spec.dispatch === 'queue' ? spec.workerClasses : [])),
    );
    classes = new Set(named).size;
    classCounts.set(plan, classes);
  }
  return Math.max(LEAST_OF_CLASS, Math.floor(offersAtOnce / Math.max(1, classes)));
}

const classCounts = new WeakMap<RunPlan, number>();

/** Most slots of a large run are not; a refusal in words for each, at each change, is what would take the time. */
const mayBeOffered = ({ state, gate }: Slot): boolean =>
  state === 'open' || (state === 'retry-wait' && gate !== 'reassign');

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
  const atWork = (name: string): boolean => {
    const other = state.slots[name];
    return other !== undefined && name !== slot.slot && (other.active ?? other.ending) !== null;
  };
  const others = slotNames(state.plan).some(atWork);
  if (others) return null;
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
  return isFinished(after) ? after.status : null;
}
