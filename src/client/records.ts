/**
 * All that is known of a run, read so that it fits together although the run may go on meanwhile: what refers is read before
 * what it refers to. Effects name attempts, slots name attempts; artifacts are cut at the first one of an attempt that began
 * later, and what they were made from was saved before them.
 */
import { artifactView, attemptView, effectView } from '../agent/views.js';
import type {
  ArtifactRecord,
  AttemptRecord,
  RevisionRecord,
  RunRecord,
  RunRecords,
} from '../bundle/records.js';
import { FORMAT } from '../bundle/layout.js';
import { parseRef } from '../definitions/fields.js';
import { loadVerifiedPlan } from '../definitions/resolve.js';
import { BatonError } from '../domain/errors.js';
import type { Pins, RunPlan } from '../domain/types.js';
import { workflowIdOf } from '../domain/wire.js';
import type { ArtifactRow, AttemptRow, Json, RevisionKind, RunRow, Store } from '../store/port.js';
import { viewAttempt } from './history.js';
import { readRunAnyhow, type RunRead } from './reads.js';
import { runNotFound, runRow, type Session } from './session.js';
import { iso, showRead, type RunShown } from './show.js';

/**
 * Of open and closed runs. Without a control worker, and without a server, from the store.
 *
 * @throws BatonError `RunNotFound`, `PinsDamaged`, `StoreUnavailable`
 */
export async function readRecords(session: Session, run: string): Promise<RunRecords> {
  const row = await runRow(session, run);
  const store = await session.store();
  const { tenant, pins } = row;
  const exportedAt = Date.now();
  const read = await readRunAnyhow(session, row);
  const shown = await showRead(session, read);
  const effects = await store.effects.list(tenant, run);
  const rows = await store.attempts.list(tenant, run);
  const saved = await store.artifacts.list(tenant, run);
  const commands = await store.commands.list(tenant, run);
  // Rows go once the run is marked: as long as it is not, none of these reads has missed any.
  if (await store.retention.isCollected(tenant, run)) throw runNotFound(session, run);
  const [plan, pinned, revisions] = await Promise.all([
    loadVerifiedPlan(store, tenant, pins),
    contentsOf(store, tenant, pins),
    revisionsOf(store, tenant, pins),
  ]);
  const attempts = await Promise.all(rows.map((attempt) => attemptRecord(session, attempt, read)));
  return {
    run: runRecord(row, shown, { exportedAt, server: read.server, revisions }),
    pinned,
    attached: attachedTo(plan),
    attempts,
    artifacts: artifactRecords(saved, rows, attempts),
    effects: effects.map(effectView),
    commands: commands.map(({ at, ...command }) => ({ ...command, at: isoOf(at) })),
  };
}

function runRecord(
  row: RunRow,
  shown: RunShown,
  known: Pick<RunRecord, 'server' | 'revisions'> & { readonly exportedAt: number },
): RunRecord {
  const { tenant, run, pins, digest, input, createdAt, endedAt } = row;
  const { status, source, deadline, failure, slots } = shown;
  return {
    format: FORMAT,
    exportedAt: isoOf(known.exportedAt),
    snapshot: status === 'running',
    source,
    server: known.server,
    tenant,
    run,
    workflowId: workflowIdOf(tenant, run),
    status,
    createdAt: isoOf(createdAt),
    endedAt: iso(endedAt),
    deadline,
    failure,
    pins,
    launchDigest: digest,
    input,
    revisions: known.revisions,
    slots,
  };
}

async function attemptRecord(
  session: Session,
  row: AttemptRow,
  { execution, server }: RunRead,
): Promise<AttemptRecord> {
  const { node, claimId, commandId, ttlMs, maxDurationMs, claimedAt, reassign, staged } = row;
  return {
    // Beats are known to the server alone: without it no lease is called over.
    ...(server || row.leaseStatus !== 'live' ? await viewAttempt(session, row, execution) : attemptView(row)),
    node,
    claimId,
    commandId,
    ttlMs,
    maxDurationMs,
    claimedAt: isoOf(claimedAt),
    predecessor: reassign?.predecessor ?? null,
    staged: staged && { kind: staged.kind, result: staged.result },
  };
}

function artifactRecords(
  saved: readonly ArtifactRow[],
  rows: readonly AttemptRow[],
  attempts: readonly AttemptRecord[],
): readonly ArtifactRecord[] {
  const savers = new Map(attempts.map((view, at) => [view.attempt, { view, ttlMs: rows[at]?.ttlMs ?? 0 }]));
  const later = saved.findIndex(({ attempt }) => !savers.has(attempt));
  return (later === -1 ? saved : saved.slice(0, later)).map((row) => ({
    ...artifactView(row, savers.get(row.attempt)),
    slot: row.slot,
    number: row.number,
  }));
}

const KINDS = ['package', 'workflow', 'binding'] as const satisfies readonly RevisionKind[];

async function ofEach<T>(of: (kind: RevisionKind) => Promise<T>): Promise<Readonly<Record<RevisionKind, T>>> {
  const [first, second, third] = await Promise.all([of(KINDS[0]), of(KINDS[1]), of(KINDS[2])]);
  return { package: first, workflow: second, binding: third };
}

const contentsOf = (
  store: Store,
  tenant: string,
  pins: Pins,
): Promise<Readonly<Record<RevisionKind, Json>>> =>
  ofEach((kind) => store.revisions.pinned(tenant, kind, pins[kind]));

const revisionsOf = (store: Store, tenant: string, pins: Pins): Promise<RunRecord['revisions']> =>
  ofEach(async (kind): Promise<RevisionRecord> => {
    const { ref } = pins[kind];
    const { name, revision } = parseRef(ref) ?? { name: ref, revision: null };
    const row = await store.revisions.get(tenant, kind, name, revision);
    // It was there a moment ago, when its content was read, and nothing takes revisions away.
    if (row === null)
      throw BatonError.of('PinsDamaged', 'the pinned revision is not in the store', { kind, ref });
    const { publishedAt, publishedBy, accepted } = row;
    return {
      publishedAt: isoOf(publishedAt),
      publishedBy,
      accepted: accepted && { actor: accepted.actor, at: isoOf(accepted.at) },
    };
  });

const attachedTo = (plan: RunPlan): readonly string[] => [
  ...new Set(plan.nodes.flatMap(({ attachments }) => attachments.map(({ digest }) => digest))),
];

const isoOf = (at: number): string => new Date(at).toISOString();
