/** The JSON of `show`: a run with its slots, each lease seen through its deadline. */
import { NO_EFFECTS, type OpenEffects } from '../domain/effect.js';
import { specOf } from '../domain/run.js';
import { waitsFor } from '../domain/waits.js';
import type { Counts, Failure, Gate, Pins, RunStatus, Slot, SlotState } from '../domain/types.js';
import type { AttemptRow, Json } from '../store/port.js';
import { deadlineNow } from './expiry.js';
import { toBatonError } from './failure.js';
import { isExpired } from './leases.js';
import { readJson, readRun, type RunRead } from './reads.js';
import type { Session } from './session.js';

export interface SlotShown {
  readonly slot: string;
  readonly node: string;
  readonly state: SlotState;
  readonly gate: Gate | null;
  readonly spec: {
    readonly id: string;
    readonly workerClasses: readonly string[];
    readonly dispatch: 'queue' | 'direct';
  };
  readonly retryTime: string | null;
  /** When the slot fails unless it is over; null without one, and where only the store can be asked. */
  readonly deadline: string | null;
  readonly pendingWorker: string | null;
  readonly activeWorker: string | null;
  readonly priorWorker: string | null;
  readonly reassignReason: string | null;
  /** The active lease is past its deadline and not settled yet. */
  readonly expired: boolean;
  /** What the slot waits for, in words; null when it is over, or nobody can say. */
  readonly waitsFor: string | null;
  readonly epoch: number | null;
  readonly counts: Counts;
  readonly result: Json;
  /** Why the last attempt, or the slot, failed. */
  readonly failure: Failure | null;
  /** Effects whose outcome nobody knows: how many, and the oldest 50. */
  readonly effects: OpenEffects;
  /** Why the last claim failed; a failed claim is no attempt. */
  readonly claimFailure: Failure | null;
  readonly hold: { readonly reason: string; readonly actor: string; readonly at: string } | null;
}

export interface RunShown {
  readonly tenant: string;
  readonly run: string;
  readonly status: RunStatus;
  readonly pins: Pins;
  /** When the run fails unless it is over; null like a slot's. */
  readonly deadline: string | null;
  /** Why the run as a whole failed, where no slot says it. */
  readonly failure: Failure | null;
  readonly slots: readonly SlotShown[];
  /** `store` when no control worker answered: gates and reassigns are not known then. */
  readonly source: 'workflow' | 'store';
}

/** @throws BatonError `RunNotFound`, `TemporalUnavailable`, `StoreUnavailable` */
export async function showRun(session: Session, run: string): Promise<RunShown> {
  return showRead(session, await readRun(session, run));
}

/** What was read of a run, as it is shown. */
export async function showRead(session: Session, read: RunRead): Promise<RunShown> {
  const { tenant } = session;
  const slots = await Promise.all(
    Object.values(read.state.slots).map((slot) => showSlot(session, read, slot)),
  );
  const { state, status, source } = read;
  const [deadline, failure] = [deadlineOf(read, state.deadline), state.failure ?? null];
  return { tenant, run: state.run, status, pins: state.pins, deadline, failure, slots, source };
}

async function showSlot(session: Session, read: RunRead, slot: Slot): Promise<SlotShown> {
  const { id, workerClasses, dispatch } = specOf(read.state, slot);
  const { counts, epoch, failure, gate, node, state } = slot;
  const expired = await activeExpired(session, read, slot);
  return {
    slot: slot.slot,
    node,
    state,
    gate,
    spec: { id, workerClasses, dispatch },
    retryTime: iso(slot.retryTime),
    deadline: deadlineOf(read, slot.deadline),
    pendingWorker: slot.pendingWorker,
    activeWorker: slot.active?.worker ?? null,
    priorWorker: slot.prior?.worker ?? null,
    reassignReason: slot.reassign?.reason ?? null,
    expired,
    waitsFor: waiting(read, slot, expired),
    epoch,
    counts,
    result: await readJson(session, slot.result),
    failure,
    effects: await openEffects(session, read, slot),
    claimFailure: slot.claimFailure
      ? { code: slot.claimFailure.code, message: slot.claimFailure.message }
      : null,
    hold: slot.hold
      ? { reason: slot.hold.reason, actor: slot.hold.actor, at: iso(slot.hold.at) as string }
      : null,
  };
}

async function activeExpired(session: Session, read: RunRead, slot: Slot): Promise<boolean> {
  if (!slot.active || slot.ending || !read.server) return false;
  const store = await session.store();
  const row: AttemptRow | null = await store.attempts.get(
    session.tenant,
    read.state.run,
    slot.active.attempt,
  );
  if (row === null) return false;
  const deadline = await deadlineNow(session, row, read.execution).catch((error: unknown) => {
    throw toBatonError(error, { run: row.run });
  });
  return isExpired(row, deadline, Date.now());
}

/** While somebody works on the slot only the store knows them: the run is told at the attempt's end. */
async function openEffects(session: Session, read: RunRead, slot: Slot): Promise<OpenEffects> {
  if (!slot.active) return slot.effects ?? NO_EFFECTS;
  return (await session.store()).effects.open(session.tenant, read.state.run, slot.slot);
}

/** The store does not know when a slot opened. */
const deadlineOf = ({ source }: RunRead, deadline: number | undefined): string | null =>
  source === 'workflow' ? iso(deadline ?? null) : null;

/** Without the workflow the gate is unknown, and so is what a slot in retry-wait waits for. */
function waiting(read: RunRead, slot: Slot, expired: boolean): string | null {
  if (expired) return 'the end of its lease to be recorded';
  if (read.source === 'store' && slot.state === 'retry-wait') return null;
  return read.status === 'running' ? waitsFor(read.state, slot) : null;
}

/** ISO 8601 UTC; null stays null. */
export const iso = (time: number | null): string | null =>
  time === null ? null : new Date(time).toISOString();
