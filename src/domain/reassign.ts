/**
 * Reassign: reopens a slot that waits after a bad end, for another class of worker (design, "Reassign"). It creates no
 * attempt, worker or lease; a later claim does. Pure.
 */
import type { ReassignCommand } from './commands.js';
import { refusal, type Refusal } from './errors.js';
import { judge, judgedOf, reasonGuard, runGuards, slotGuard, tenantGuard, type Guard } from './guards.js';
import { brief } from './markdown.js';
import { nodeOf } from './run.js';
import { isTerminalLease, isTerminalWorker, type LaunchSpec, type RunState, type Slot } from './types.js';
import type { DryRun } from './wire.js';

/** Code points of a reason that stay with the slot. A run may have thousands of slots, and carries them all. */
const SHOWN_REASON = 200;

/** All guards of a well-formed reassign, in the order of the design. */
export const REASSIGN_GUARDS: readonly Guard<ReassignCommand>[] = [
  tenantGuard,
  ...runGuards,
  slotGuard,
  {
    code: 'SlotNotInRetryWait',
    check: ({ slot }) =>
      slot.state === 'retry-wait'
        ? null
        : refusal('SlotNotInRetryWait', `the slot is ${slot.state}`, { slot: slot.slot, state: slot.state }),
  },
  {
    code: 'NoPriorWorker',
    check: ({ slot }) =>
      slot.prior
        ? null
        : refusal('NoPriorWorker', 'the slot has no prior worker', { slot: slot.slot, state: slot.state }),
  },
  {
    code: 'WorkerNotTerminal',
    check: ({ slot: { slot, state, prior } }) =>
      prior && !isTerminalWorker(prior.status)
        ? refusal('WorkerNotTerminal', `the prior worker is ${prior.status}`, {
            slot,
            state,
            worker: prior.worker,
            status: prior.status,
          })
        : null,
  },
  {
    code: 'LeaseNotTerminal',
    check: ({ slot: { slot, state, prior, ending } }) =>
      (prior && !isTerminalLease(prior.leaseStatus)) || ending
        ? refusal('LeaseNotTerminal', 'the end of the prior lease is being recorded', {
            slot,
            state,
            attempt: ending?.attempt.attempt ?? prior?.attempt,
            lease: prior?.leaseStatus,
          })
        : null,
  },
  reasonGuard,
  {
    code: 'OwnerActorMismatch',
    check: ({ slot, command }) => {
      const owner = slot.prior?.ownerActor ?? null;
      if (owner === null || owner === command.actor) return null;
      return refusal('OwnerActorMismatch', 'the prior worker has another owner', {
        slot: slot.slot,
        actor: command.actor,
        owner,
      });
    },
  },
  {
    code: 'NoCompatibleLaunchSpec',
    check: ({ state, slot, command }) =>
      compatibleSpec(state, slot, command.workerClass)
        ? null
        : refusal('NoCompatibleLaunchSpec', `no launch specification admits \`${command.workerClass}\``, {
            slot: slot.slot,
            workerClass: command.workerClass,
            admitted: [
              ...new Set(nodeOf(state.plan, slot.node).launch.flatMap((spec) => spec.workerClasses)),
            ],
          }),
  },
];

/** The one rule: refusal or null. Validator and handler both ask here. */
export function checkReassign(state: RunState, command: ReassignCommand, now: number): Refusal | null {
  return judge(REASSIGN_GUARDS, state, command, now);
}

/** The slot after an accepted reassign. */
export function applyReassign(state: RunState, command: ReassignCommand, now: number): Slot {
  const slot = state.slots[command.slot] as Slot;
  const spec = compatibleSpec(state, slot, command.workerClass);
  if (!spec || !slot.prior || command.reason == null) throw new RangeError('reassign was not checked');
  const { workerClass, reason, actor } = command;
  const lastReassign = { actor, at: now, workerClass, reason: brief(reason, SHOWN_REASON) };
  return {
    ...slot,
    gate: 'open',
    retryTime: null,
    spec: spec.id,
    workerClass,
    pendingWorker: null,
    active: null,
    before: null,
    spent: { failures: 0, losses: 0 },
    claimFailure: null,
    lastReassign,
    reassign: {
      reason,
      actor,
      at: now,
      workerClass,
      fromSpec: slot.spec,
      toSpec: spec.id,
      predecessor: slot.prior.attempt,
    },
  };
}

/** First launch specification, in declared order, that admits the class. */
function compatibleSpec(state: RunState, slot: Slot, workerClass: string): LaunchSpec | null {
  return (
    nodeOf(state.plan, slot.node).launch.find((spec) => spec.workerClasses.includes(workerClass)) ?? null
  );
}

/** Verdict of every guard, whatever the others say; changes nothing. */
export function dryRunReassign(state: RunState, command: ReassignCommand, now: number): DryRun {
  const judged = judgedOf(state, command, now);
  // A foreign tenant must learn nothing beyond the first guard; without a slot the later guards have nothing to judge.
  const upTo = tenantGuard.check(judged)
    ? 1
    : slotGuard.check(judged)
      ? REASSIGN_GUARDS.indexOf(slotGuard) + 1
      : Infinity;
  const verdicts = REASSIGN_GUARDS.slice(0, upTo).map((guard) => {
    const refused = guard.check(judged);
    return { code: guard.code, passed: refused === null, message: refused?.message ?? null };
  });
  const accepted = upTo === Infinity && verdicts.every((verdict) => verdict.passed);
  const spec = upTo === Infinity ? compatibleSpec(state, judged.slot, command.workerClass) : null;
  return { verdicts, accepted, spec: spec?.id ?? null };
}
