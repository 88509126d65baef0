/**
 * Guards as data: a code and a check, in the order of the design. One list serves validator, handler and dry run. Pure.
 */
import { refusal, type ErrorCode, type Refusal } from './errors.js';
import { isBlank } from './text.js';
import type { RunState, Slot } from './types.js';

/** What every command names. */
export interface Addressed {
  readonly tenant: string;
  readonly run: string;
  readonly actor: string;
  readonly commandId: string;
  readonly slot?: string;
  readonly reason?: string | null | undefined;
}

export interface Judged<C> {
  readonly state: RunState;
  readonly command: C;
  /** Undefined when the run has no such slot; guards behind `SlotNotFound` may rely on it. */
  readonly slot: Slot;
  readonly now: number;
}

export interface Guard<C> {
  readonly code: ErrorCode;
  /** The refusal, or null when the guard is passed. */
  check(judged: Judged<C>): Refusal | null;
}

/** A foreign tenant learns nothing: the answer is that of a run that does not exist. */
export function checkTenant(state: RunState, command: Addressed): Refusal | null {
  if (command.tenant === state.tenant) return null;
  return refusal('RunNotFound', 'no such run', { tenant: command.tenant, run: command.run });
}

export const tenantGuard: Guard<Addressed> = {
  code: 'RunNotFound',
  check: ({ state, command }) => checkTenant(state, command),
};

export const runGuards: readonly Guard<Addressed>[] = [
  {
    code: 'RunClosed',
    check: ({ state }) =>
      state.status === 'running'
        ? null
        : refusal('RunClosed', `the run is ${state.status}`, { run: state.run, status: state.status }),
  },
  {
    code: 'RunMismatch',
    check: ({ state, command }) =>
      command.run === state.run
        ? null
        : refusal('RunMismatch', 'the command is for another run', { run: state.run, named: command.run }),
  },
];

export const slotGuard: Guard<Addressed> = {
  code: 'SlotNotFound',
  check: ({ state, command }) =>
    command.slot !== undefined && Object.hasOwn(state.slots, command.slot)
      ? null
      : refusal('SlotNotFound', 'the run has no such slot', { run: state.run, slot: command.slot ?? '' }),
};

export const reasonGuard: Guard<Addressed> = {
  code: 'ReasonRequired',
  check: ({ command }) =>
    command.reason != null && !isBlank(command.reason)
      ? null
      : refusal('ReasonRequired', 'no reason was given, or it is blank', { field: 'reason' }),
};

/** The end of the last attempt must be in the store before anybody else gets authority. */
export const settledGuard: Guard<Addressed> = {
  code: 'LeaseNotTerminal',
  check: ({ slot }) =>
    slot.ending
      ? refusal('LeaseNotTerminal', 'the end of the last attempt is being recorded', {
          slot: slot.slot,
          state: slot.state,
          attempt: slot.ending.attempt.attempt,
        })
      : null,
};

/** First refusal in order, or null when the command may go ahead. */
export function judge<C extends Addressed>(
  guards: readonly Guard<C>[],
  state: RunState,
  command: C,
  now: number,
): Refusal | null {
  const judged = judgedOf(state, command, now);
  for (const guard of guards) {
    const refused = guard.check(judged);
    if (refused) return refused;
  }
  return null;
}

export function judgedOf<C extends Addressed>(state: RunState, command: C, now: number): Judged<C> {
  return { state, command, slot: state.slots[command.slot ?? ''] as Slot, now };
}
