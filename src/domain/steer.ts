/**
 * What an operator may do to a slot besides reassigning it: hold, release-hold, revoke, cancel, and settle its effects. Pure.
 */
import { endAttempt } from './attempt.js';
import type { CancelRunCommand, ReasonedCommand, ResolveEffectCommand } from './commands.js';
import { refusal, type ErrorCode, type Refusal } from './errors.js';
import { judge, reasonGuard, runGuards, settledGuard, slotGuard, tenantGuard, type Guard } from './guards.js';
import { cancelled, endRun, specOf } from './run.js';
import type { RunState, Slot, SlotState } from './types.js';

type Name = 'hold' | 'releaseHold' | 'revoke' | 'cancelSlot';

/** States from which a command is possible, and what it is refused with elsewhere. */
const FROM: Readonly<Record<Name, { states: readonly SlotState[]; code: ErrorCode }>> = {
  hold: { states: ['blocked', 'open', 'retry-wait'], code: 'SlotNotClaimable' },
  releaseHold: { states: ['on-hold'], code: 'SlotNotClaimable' },
  revoke: { states: ['active'], code: 'StaleLease' },
  cancelSlot: {
    states: ['blocked', 'open', 'claiming', 'active', 'on-hold', 'retry-wait'],
    code: 'SlotNotClaimable',
  },
};

/** The one rule for these commands. */
export function checkSteer(
  name: Name,
  state: RunState,
  command: ReasonedCommand,
  now: number,
): Refusal | null {
  const { states, code } = FROM[name];
  const stateGuard: Guard<ReasonedCommand> = {
    code,
    check: ({ slot }) =>
      states.includes(slot.state)
        ? null
        : refusal(code, `\`${name}\` is not possible: the slot is ${slot.state}`, {
            slot: slot.slot,
            state: slot.state,
          }),
  };
  // A claim under way ends in a moment, one way or the other; cancelling between would leave its rows without an owner.
  const claimingGuard: Guard<ReasonedCommand> = {
    code: 'AlreadyLeased',
    check: ({ slot }) =>
      slot.state === 'claiming'
        ? refusal('AlreadyLeased', 'the slot is claiming', { slot: slot.slot, state: slot.state })
        : null,
  };
  return judge(
    [tenantGuard, ...runGuards, slotGuard, stateGuard, claimingGuard, settledGuard, reasonGuard],
    state,
    command,
    now,
  );
}

export function applySteer(name: Name, state: RunState, command: ReasonedCommand, now: number): Slot {
  const slot = state.slots[command.slot] as Slot;
  const reason = command.reason ?? '';
  if (name === 'hold') {
    const from = slot.state as 'blocked' | 'open' | 'retry-wait';
    return {
      ...slot,
      state: 'on-hold',
      gate: null,
      hold: { from, gate: slot.gate, reason, actor: command.actor, at: now },
    };
  }
  // `blocked` opens by itself when its dependencies are done: the run advances after every command.
  if (name === 'releaseHold')
    return { ...slot, state: slot.hold?.from ?? 'open', gate: slot.hold?.gate ?? null, hold: null };
  const message = `${reason} (by ${command.actor})`;
  const cancellation = { code: 'Cancelled', message };
  if (name === 'cancelSlot')
    return { ...cancelled(slot, specOf(state, slot), cancellation, now), failure: cancellation };
  return endAttempt(slot, specOf(state, slot), {
    end: 'revoked',
    failure: { code: 'Revoked', message },
    staged: null,
    now,
  });
}

/** Whether a claim or a success of the slot is being recorded. */
export const isBeingRecorded = (slot: Slot): boolean =>
  slot.state === 'claiming' || (slot.state === 'active' && slot.ending !== null);

/** A slot whose claim or success is being recorded. Such a success may be the one that ends the run: it is waited for. */
export const slotBeingRecorded = (state: RunState): Slot | undefined =>
  Object.values(state.slots).find(isBeingRecorded);

export function checkCancelRun(state: RunState, command: CancelRunCommand, now: number): Refusal | null {
  const beingRecorded = slotBeingRecorded(state);
  const quiet: Guard<CancelRunCommand> = {
    code: 'LeaseNotTerminal',
    check: () =>
      beingRecorded
        ? refusal('LeaseNotTerminal', 'a claim or a success is being recorded', {
            slot: beingRecorded.slot,
            state: beingRecorded.state,
          })
        : null,
  };
  return judge([tenantGuard, ...runGuards, quiet, reasonGuard], state, command, now);
}

export const applyCancelRun = (state: RunState, now: number): RunState => endRun(state, 'cancelled', now);

/**
 * Whether there is such an effect, and whether it may be settled, is for the store to say: it alone has all of them. While an end
 * is being recorded the lease still stands there, and what the run is about to be told of effects would be out of date.
 */
export const checkResolveEffect = (
  state: RunState,
  command: ResolveEffectCommand,
  now: number,
): Refusal | null =>
  judge([tenantGuard, ...runGuards, slotGuard, settledGuard, reasonGuard], state, command, now);
