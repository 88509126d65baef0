/** Follows one run until its explored slots have succeeded, or until it is plain that they will not. */
import { setTimeout as sleep } from 'node:timers/promises';
import { BatonClient } from '../../client/client.js';
import { queryState } from '../../client/reads.js';
import type { LaunchedRun } from '../../client/client.js';
import type { BatonError, ErrorCode } from '../../domain/errors.js';
import type { RunState, Slot } from '../../domain/types.js';
import { lastLines, throwRefusal, type ExplorerHost, type Lab, type Lane } from './lab.js';

const LOOK_MS = 100;
const REASON = 'crash explorer';
/** Answers to a reassign that came a moment too early or too late; the next look tells. */
const LATER: readonly ErrorCode[] = [
  'SlotNotInRetryWait',
  'WorkerNotTerminal',
  'LeaseNotTerminal',
  'RollingOver',
  'OutcomeUnknown',
  'RunClosed',
];

export interface Followed {
  readonly lab: Lab;
  readonly lane: Lane;
  readonly run: LaunchedRun;
  /** Slots that must succeed. */
  readonly slots: readonly string[];
  readonly host: ExplorerHost;
  /** `performance.now()` after which nobody waits any more. */
  readonly until: number;
  /** Losses are what was caused: their slots are reassigned. Otherwise a loss is a problem. */
  readonly crashed: boolean;
}

/** `succeeded`; `host-ended` by SIGKILL or by itself; else what is wrong. */
export type FollowEnd =
  | { readonly kind: 'succeeded' | 'host-ended'; readonly state: RunState }
  | { readonly kind: 'problem'; readonly state: RunState | null; readonly why: string };

/** @throws BatonError when server or store fail, or the lab's signal fires */
export async function follow(followed: Followed): Promise<FollowEnd> {
  const { lab, lane, run, slots, host, until, crashed } = followed;
  const session = BatonClient.sessionOf(lane.baton);
  let state: RunState | null = null;
  for (;;) {
    lab.signal.throwIfAborted();
    // Asked before the state: a host that ended since may have brought the run to its end first.
    const ended = host.exit() !== null;
    state = (await queryState(session, run.run))?.state ?? state;
    const explored = slots.flatMap((slot) => state?.slots[slot] ?? []);
    if (state && explored.every((slot) => slot.state === 'succeeded')) return { kind: 'succeeded', state };
    for (const slot of explored) {
      const why = problemOf(slot, crashed);
      if (why !== null) return { kind: 'problem', state, why };
      if (isLost(slot)) await reassign(run, slot);
    }
    if (state && ended) return { kind: 'host-ended', state };
    if (performance.now() > until) {
      const open = explored.filter((slot) => slot.state !== 'succeeded').map(openText);
      return { kind: 'problem', state, why: `it did not end in time: ${open.join('; ') || 'no answer'}` };
    }
    await sleep(LOOK_MS);
  }
}

/** Waits, as after a crash, for time to pass or for somebody to hand it on. */
const isLost = ({ state, ending, gate }: Slot): boolean =>
  state === 'retry-wait' && ending === null && gate !== 'open';

function problemOf({ slot, state, counts, ending, failure, number }: Slot, crashed: boolean): string | null {
  // What was reported is known once the end is recorded.
  if (ending !== null) return null;
  const said = failure === null ? '' : ` with ${failure.code}: ${failure.message}`;
  if (counts.failures > 0) return `attempt ${number} of slot ${slot} failed${said}`;
  if (state === 'failed' || state === 'cancelled') return `slot ${slot} is ${state}${said}`;
  if (counts.losses > 0 && !crashed)
    return `attempt ${number} of slot ${slot} lost its lease${said}; an agent must not block its process for as long as the lease’s TTL (option ttlMs)`;
  return null;
}

function openText({ slot, state, claimFailure }: Slot): string {
  const claim = claimFailure === null ? '' : `, its last claim failed with ${claimFailure.message}`;
  return `slot ${slot} is ${state}${claim}`;
}

async function reassign(run: LaunchedRun, { slot, prior, workerClass }: Slot): Promise<void> {
  try {
    await run.slot(slot).reassign({ workerClass: prior?.workerClass ?? workerClass, reason: REASON });
  } catch (error) {
    if (!LATER.includes((error as BatonError).code)) throw error;
  }
}

/** Why a host ended that should have gone on. @throws BatonError what it refused */
export function endedByItself(host: ExplorerHost): string {
  throwRefusal(host.records());
  const exit = host.exit();
  return `its host ended by itself (code ${exit?.code}, signal ${exit?.signal}); ${lastLines(host.child)}`;
}
