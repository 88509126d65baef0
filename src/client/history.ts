/** Reads of what stays: attempts, artifacts and the recovery of a slot. From the store; live leases are seen through Temporal. */
import { buildHandoff } from '../agent/handoff.js';
import type { ArtifactView, AttemptView, EffectView, Handoff } from '../agent/types.js';
import { artifactView, attemptView, effectView } from '../agent/views.js';
import { loadPlan } from '../definitions/resolve.js';
import { BatonError } from '../domain/errors.js';
import type { Gate, SlotState } from '../domain/types.js';
import type { ArtifactRow, AttemptRow, RunRow } from '../store/port.js';
import type { ExecutionView } from './lease-view.js';
import { deadlineNow } from './expiry.js';
import { toBatonError } from './failure.js';
import { describeRun, queryState } from './reads.js';
import { runRow, type Session } from './session.js';

/** @throws BatonError `RunNotFound`, `SlotNotFound`, `TemporalUnavailable` (only to judge a live lease), `StoreUnavailable` */
export async function listAttempts(
  session: Session,
  run: string,
  slot?: string,
): Promise<readonly AttemptView[]> {
  const row = await runRow(session, run);
  if (slot !== undefined) await checkSlot(session, row, slot);
  const rows = await (await session.store()).attempts.list(session.tenant, run, slot);
  const execution = rows.some((row) => row.leaseStatus === 'live') ? await describeRun(session, run) : null;
  return Promise.all(rows.map((row) => viewAttempt(session, row, execution)));
}

/** A staged end is no expiry, so such a row is shown as it is recorded. */
export async function viewAttempt(
  session: Session,
  row: AttemptRow,
  execution: ExecutionView | null,
): Promise<AttemptView> {
  const deadline = await deadlineNow(session, row, execution).catch((error: unknown) => {
    throw toBatonError(error, { run: row.run });
  });
  if (row.leaseStatus !== 'live' || row.staged !== null) return attemptView({ ...row, deadline });
  return attemptView(row, { now: Date.now(), deadline });
}

/** Rows of what was saved, with step and media type; {@link artifactView} gives the public shape. */
export async function listArtifactRows(
  session: Session,
  run: string,
  slot?: string,
): Promise<readonly ArtifactRow[]> {
  const row = await runRow(session, run);
  if (slot !== undefined) await checkSlot(session, row, slot);
  return (await session.store()).artifacts.list(session.tenant, run, slot);
}

/** @throws BatonError `RunNotFound`, `SlotNotFound`, `StoreUnavailable` */
export async function listArtifacts(
  session: Session,
  run: string,
  slot?: string,
): Promise<readonly ArtifactView[]> {
  const rows = await listArtifactRows(session, run, slot);
  const attempts = await (await session.store()).attempts.list(session.tenant, run, slot);
  // By the store alone, which needs no server: a loss that nobody has recorded yet marks nothing.
  const savers = new Map(attempts.map((row) => [row.attempt, { view: attemptView(row), ttlMs: row.ttlMs }]));
  return rows.map((row) => artifactView(row, savers.get(row.attempt)));
}

/**
 * Effects of a run, or of one slot, in order of their first intent. By the store alone.
 *
 * @throws BatonError `RunNotFound`, `SlotNotFound`, `StoreUnavailable`
 */
export async function listEffects(
  session: Session,
  run: string,
  slot?: string,
): Promise<readonly EffectView[]> {
  const row = await runRow(session, run);
  if (slot !== undefined) await checkSlot(session, row, slot);
  return (await (await session.store()).effects.list(session.tenant, run, slot)).map(effectView);
}

export interface RecoveryRead {
  readonly handoff: Handoff;
  /** Null when no control worker answers. */
  readonly state: SlotState | null;
  readonly gate: Gate | null;
}

/**
 * What the next worker of a slot would be given, before anybody claims it.
 *
 * @throws BatonError `RunNotFound`, `SlotNotFound`, `PinsDamaged`, `TemporalUnavailable`, `StoreUnavailable`
 */
export async function readRecovery(session: Session, run: string, slot: string): Promise<RecoveryRead> {
  await runRow(session, run);
  const store = await session.store();
  // First as the store has it: it also refuses a slot that is not the run's, and damaged pins, without a server.
  const where = { tenant: session.tenant, run, slot };
  await buildHandoff(store, where);
  const [attempts, view] = await Promise.all([
    listAttempts(session, run, slot),
    queryState(session, run).catch((error: unknown) => {
      if (error instanceof BatonError && error.code === 'RunNotFound') return null;
      throw error;
    }),
  ]);
  const { handoff } = await buildHandoff(store, { ...where, attempts });
  const now = view?.state.slots[slot];
  return { handoff, state: now?.state ?? null, gate: now?.gate ?? null };
}

async function checkSlot(session: Session, row: RunRow, slot: string): Promise<void> {
  const plan = await loadPlan(await session.store(), session.tenant, row.pins);
  if (plan.nodes.some((node) => node.slots.includes(slot))) return;
  throw BatonError.of('SlotNotFound', 'the run has no such slot', { run: row.run, slot });
}
