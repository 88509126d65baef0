/**
 * When a slot may be claimed, and by whom (design, sections 2 and 3). Pure.
 */
import { beforeClaim } from './attempt.js';
import type { ClaimCommand } from './commands.js';
import { refusal, type Refusal } from './errors.js';
import { judge, runGuards, slotGuard, tenantGuard, type Guard } from './guards.js';
import { nodeOf, specOf } from './run.js';
import type { LaunchSpec, RunState, Slot } from './types.js';

const facts = (slot: Slot) => ({ slot: slot.slot, state: slot.state, gate: slot.gate });

/** Why nobody may claim the slot at `now`, whatever their class; null when it is claimable. */
export function unclaimable(slot: Slot, now: number): Refusal | null {
  if (slot.ending || slot.state === 'active' || slot.state === 'claiming') {
    return refusal(
      'AlreadyLeased',
      slot.ending ? 'the end of the last attempt is being recorded' : `the slot is ${slot.state}`,
      facts(slot),
    );
  }
  if (slot.state === 'open') return null;
  if (slot.state !== 'retry-wait')
    return refusal('SlotNotClaimable', `the slot is ${slot.state}`, facts(slot));
  if (slot.gate === 'reassign')
    return refusal('SlotNotClaimable', 'the slot waits for a reassign', facts(slot));
  if (slot.gate === 'time' && slot.retryTime !== null && now < slot.retryTime) {
    const retryTime = new Date(slot.retryTime).toISOString();
    return refusal('SlotNotClaimable', `the slot is claimable from ${retryTime}`, {
      ...facts(slot),
      retryTime,
    });
  }
  return null;
}

/** All guards of a well-formed direct claim, in order. */
const CLAIM_GUARDS: readonly Guard<ClaimCommand>[] = [
  tenantGuard,
  ...runGuards,
  slotGuard,
  { code: 'SlotNotClaimable', check: ({ slot, now }) => unclaimable(slot, now) },
  {
    code: 'SlotNotClaimable',
    check: ({ state, slot, command }) => {
      const spec = specToClaim(state, slot, command);
      if (!spec) {
        return refusal(
          'SlotNotClaimable',
          `the slot cannot be claimed with the specification \`${command.spec ?? ''}\``,
          {
            ...facts(slot),
            selected: slot.spec,
          },
        );
      }
      if (spec.dispatch === 'direct') return null;
      return refusal('SlotNotClaimable', 'the selected specification is dispatched to hosts by queue', {
        ...facts(slot),
        spec: spec.id,
      });
    },
  },
  {
    code: 'WorkerClassNotAdmitted',
    check: ({ state, slot, command }) => {
      const spec = specToClaim(state, slot, command) ?? specOf(state, slot);
      if (spec.workerClasses.includes(command.workerClass)) return null;
      return refusal('WorkerClassNotAdmitted', `\`${command.workerClass}\` is not admitted`, {
        slot: slot.slot,
        spec: spec.id,
        workerClass: command.workerClass,
        admitted: spec.workerClasses,
      });
    },
  },
];

/** The one rule for direct claims. */
export function checkClaim(state: RunState, command: ClaimCommand, now: number): Refusal | null {
  return judge(CLAIM_GUARDS, state, command, now);
}

/** A direct claim is on its way: specification chosen, worker pending. */
export function applyClaiming(state: RunState, command: ClaimCommand): Slot {
  const slot = state.slots[command.slot] as Slot;
  const spec = specToClaim(state, slot, command) ?? specOf(state, slot);
  const before = beforeClaim(slot);
  return {
    ...slot,
    state: 'claiming',
    gate: null,
    retryTime: null,
    spec: spec.id,
    pendingWorker: command.worker,
    before,
  };
}

/** From `open` any declared specification may be named, from `retry-wait` only the selected one. */
function specToClaim(state: RunState, slot: Slot, command: ClaimCommand): LaunchSpec | null {
  const selected = specOf(state, slot);
  if (command.spec == null || command.spec === selected.id) return selected;
  if (slot.state !== 'open') return null;
  return nodeOf(state.plan, slot.node).launch.find((spec) => spec.id === command.spec) ?? null;
}
