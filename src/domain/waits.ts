/** What a slot waits for and who may act, in words: for `show`, `watch` and the Temporal UI. Pure. */
import { exhausted } from './attempt.js';
import { effectsInWords } from './effect.js';
import { nodeOf, specOf } from './run.js';
import type { Failure, RunState, Slot } from './types.js';

const time = (at: number): string => new Date(at).toISOString();

const firstWords = ({ code, message }: Failure): string =>
  message.length > 160 ? `${code}: ${message.slice(0, 160)}…` : `${code}: ${message}`;

/** What the slot waits for, and until when, and its open effects unless somebody works on it; null when it is over. */
export function waitsFor(state: RunState, slot: Slot): string | null {
  const what = awaited(state, slot);
  if (what === null) return null;
  const until = slot.deadline === undefined ? what : `${what}, until ${time(slot.deadline)}`;
  // What its worker has found out of them meanwhile, the run does not know.
  const effects = slot.active ? null : openEffectsOf(slot);
  return effects === null ? until : `${until}; ${effects}`;
}

/** The slot's open effects in words, or null. */
export const openEffectsOf = ({ effects }: Slot): string | null =>
  effects ? `outcome not known of ${effectsInWords(effects)}` : null;

function awaited(state: RunState, slot: Slot): string | null {
  if (slot.ending)
    return slot.state === 'active'
      ? 'the success to be recorded'
      : 'the end of the last attempt to be recorded';
  const spec = specOf(state, slot);
  const by =
    spec.dispatch === 'queue'
      ? `a host of class ${slot.workerClass}`
      : `a direct claim by ${spec.workerClasses.join(' or ')}`;
  switch (slot.state) {
    case 'blocked':
      return `nodes ${nodeOf(state.plan, slot.node).dependsOn.join(', ')}`;
    case 'open':
      return slot.claimFailure ? `${by} (last claim failed: ${firstWords(slot.claimFailure)})` : by;
    case 'claiming':
      return `the claim of ${slot.pendingWorker ?? 'a worker'}`;
    case 'active':
      return `${slot.active?.worker ?? 'its worker'} to finish`;
    case 'on-hold':
      return `release-hold (held by ${slot.hold?.actor ?? 'somebody'}: ${slot.hold?.reason ?? ''})`;
    case 'retry-wait': {
      if (slot.gate === 'open') return by;
      if (slot.gate === 'time') return `${by}, from ${time(slot.retryTime ?? 0)}`;
      const used = exhausted(slot, spec.retry);
      const revoked = slot.prior?.status === 'cancelled';
      const why = used
        ? `budget of ${spec.retry[used]} ${used} used up`
        : revoked
          ? 'its lease was revoked'
          : 'manual retry';
      const owner = slot.prior?.ownerActor;
      return `a reassign${owner ? ` by ${owner}` : ''} (${why})`;
    }
    default:
      return null;
  }
}

/** Longest list in search attributes and details (design, "Bounds"). */
export const LISTED = 50;
/** Largest value of a search attribute, in bytes of its JSON: with a larger one the server refuses a launch, and hangs a run. */
const LISTED_BYTES = 2_048;

/** In the list of what is waited for: some slot of the run has effects whose outcome is not known. */
const UNRESOLVED_EFFECTS = 'unresolved-effects';
/** Some slot waits for that command. No `slot:class` is like them. */
const REASSIGN = 'reassign';
const RELEASE_HOLD = 'release-hold';

/**
 * `slot:class` of the slots that wait for a worker. Before them what somebody has to do, over or not: runs that need a person are
 * found by it, however many slots they have.
 *
 * @param options.commands whether the commands that slots wait for are listed; runs of earlier versions have it otherwise
 */
export function waitingList(state: RunState, options: { readonly commands: boolean }): string[] {
  const slots = Object.values(state.slots);
  const marks = slots.some(({ effects }) => effects) ? [UNRESOLVED_EFFECTS] : [];
  if (options.commands) {
    if (slots.some((slot) => slot.state === 'retry-wait' && slot.gate === 'reassign')) marks.push(REASSIGN);
    if (slots.some((slot) => slot.state === 'on-hold')) marks.push(RELEASE_HOLD);
  }
  const waiting = slots
    .filter((slot) => slot.state === 'open' || slot.state === 'retry-wait')
    .slice(0, LISTED);
  return fitting([...marks, ...waiting.map((slot) => `${slot.slot}:${slot.workerClass}`)]);
}

/** As many of the first as the server takes. All are of ids, whose characters are one byte each. */
function fitting(list: readonly string[]): string[] {
  let bytes = '[]'.length - ','.length;
  const listed = list.slice(0, LISTED);
  const beyond = listed.findIndex((value) => (bytes += `"${value}",`.length) > LISTED_BYTES);
  return beyond < 0 ? listed : listed.slice(0, beyond);
}
