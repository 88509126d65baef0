/**
 * Escalation: a policy that was pinned with the binding reassigns a slot by itself after a number of losses or failures. It
 * passes the same guards as a person's reassign, and is recorded in the same way with the actor `policy:<name>`, an actor that
 * no person can be (ids have no colon). A slot that somebody owns is his to reassign: the guards keep policies off it. Pure.
 */
import { usesBudget } from './attempt.js';
import { applyReassign, checkReassign } from './reassign.js';
import { nodeOf, withSlot } from './run.js';
import type { EndKind, Escalation, RunState, Slot } from './types.js';

/**
 * @param slot after its attempt's end was recorded
 * @param end how that attempt ended
 * @returns the slot reassigned by the first policy that is due and has not acted, or null
 */
export function escalated(state: RunState, slot: Slot, end: EndKind, now: number): Slot | null {
  if (slot.state !== 'retry-wait' || !usesBudget(end)) return null;
  const after = withSlot(state, slot);
  const policies = nodeOf(state.plan, slot.node).escalate ?? [];
  for (const policy of policies) {
    if (slot.spent[policy.count] < policy.after || slot.escalated?.includes(policy.name)) continue;
    const command = commandOf(state, slot, policy);
    if (checkReassign(after, command, now)) continue;
    return { ...applyReassign(after, command, now), escalated: [...(slot.escalated ?? []), policy.name] };
  }
  return null;
}

function commandOf({ tenant, run }: RunState, { slot, spent }: Slot, policy: Escalation) {
  const { name, count, workerClass, reason } = policy;
  const words = `${spent[count]} ${count} since the last reassign: escalated to ${workerClass}`;
  return {
    tenant,
    run,
    slot,
    workerClass,
    reason: reason ?? words,
    actor: `policy:${name}`,
    commandId: name,
  };
}
