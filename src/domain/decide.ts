/**
 * The run's transition function: state and fact in, state out, nothing done. The workflow applies its result and then
 * makes the world agree with {@link wants}. Facts that come too late (about an attempt that is over) change nothing.
 */
import {
  beginAttempt,
  effectSettled,
  endAttempt,
  failedForGood,
  settleAttempt,
  undoClaim,
} from './attempt.js';
import { applyClaiming, checkClaim } from './claim.js';
import type { Command } from './commands.js';
import type { Refusal } from './errors.js';
import { timePassed } from './deadlines.js';
import { escalated } from './escalation.js';
import { applyReassign, checkReassign } from './reassign.js';
import { advance, isOver, specOf, withSlot } from './run.js';
import { applyCancelRun, applySteer, checkCancelRun, checkResolveEffect, checkSteer } from './steer.js';
import type { AttemptRef, EndKind, Failure, RunState, Slot } from './types.js';
import type { SettledAttempt } from './wire.js';

export type Fact =
  | { readonly kind: 'claimed'; readonly slot: string; readonly attempt: AttemptRef }
  | { readonly kind: 'claim-failed'; readonly slot: string; readonly failure: Failure }
  | {
      readonly kind: 'attempt-ended';
      readonly slot: string;
      readonly attempt: string;
      readonly end: EndKind;
      readonly staged: string | null;
      readonly failure: Failure | null;
    }
  | {
      readonly kind: 'settled';
      readonly slot: string;
      readonly attempt: string;
      readonly settled: SettledAttempt;
    }
  | {
      /** An effect of the slot has an outcome now, or none is there. */
      readonly kind: 'effect-settled';
      readonly slot: string;
      readonly name: string;
      readonly instance: string | null;
    }
  | { readonly kind: 'time-passed' };

/** The guards of a well-formed command. `claim`: of a direct one. */
export function check(state: RunState, command: Command, now: number): Refusal | null {
  if (command.name === 'claim') return checkClaim(state, command, now);
  if (command.name === 'reassign') return checkReassign(state, command, now);
  if (command.name === 'cancelRun') return checkCancelRun(state, command, now);
  if (command.name === 'resolveEffect') return checkResolveEffect(state, command, now);
  return checkSteer(command.name, state, command, now);
}

/**
 * The state after a command that {@link check} let pass. A direct claim is `claiming` then, until its fact comes; what
 * `resolveEffect` settles is known with its fact only.
 */
export function obey(state: RunState, command: Command, now: number): RunState {
  if (command.name === 'cancelRun') return applyCancelRun(state, now);
  if (command.name === 'resolveEffect') return state;
  if (command.name === 'claim') return withSlot(state, applyClaiming(state, command));
  const slot =
    command.name === 'reassign'
      ? applyReassign(state, command, now)
      : applySteer(command.name, state, command, now);
  return advance(withSlot(state, slot), now);
}

/** The state after something that happened. */
export function observe(state: RunState, fact: Fact, now: number): RunState {
  if (fact.kind === 'time-passed') return timePassed(state, now);
  const slot = state.slots[fact.slot];
  if (!slot) return state;
  const next = observeSlot(state, slot, fact, now);
  if (next === slot) return state;
  const after = withSlot(state, next);
  // Nothing follows for the other slots from one that goes on.
  return state.status === 'running' && !isOver(next) ? after : advance(after, now);
}

function observeSlot(
  state: RunState,
  slot: Slot,
  fact: Exclude<Fact, { kind: 'time-passed' }>,
  now: number,
): Slot {
  switch (fact.kind) {
    case 'claimed': {
      // The run ended, or the slot was put on hold, while the offer's claim was on its way: the lease is given back at once.
      const begun = beginAttempt(slot, fact.attempt, now);
      if (isOver(slot) || slot.state === 'on-hold')
        return { ...endAttempt(begun, specOf(state, slot), gone(now)), state: slot.state };
      return begun;
    }
    case 'claim-failed':
      return isOver(slot) || slot.state === 'active' ? slot : undoClaim(slot, fact.failure, now);
    case 'attempt-ended':
      if (slot.active?.attempt !== fact.attempt || slot.ending) return slot;
      return endAttempt(slot, specOf(state, slot), {
        end: fact.end,
        staged: fact.staged,
        failure: fact.failure,
        now,
      });
    case 'settled':
      if (slot.ending?.attempt.attempt !== fact.attempt) return slot;
      return settled(state, slot, fact.settled, now);
    case 'effect-settled':
      return effectSettled(slot, fact);
  }
}

/** The verdict of the store first; then what policies make of it, before a used-up budget may fail the slot. */
function settled(state: RunState, slot: Slot, verdict: SettledAttempt, now: number): Slot {
  const spec = specOf(state, { ...slot, spec: slot.ending?.attempt.spec ?? slot.spec });
  const after = settleAttempt(slot, spec, verdict);
  return escalated(state, after, verdict.end, now) ?? failedForGood(after, spec.retry, verdict.end);
}

const gone = (now: number) => ({
  end: 'cancelled' as const,
  failure: { code: 'Cancelled', message: 'the slot was over' },
  staged: null,
  now,
});
