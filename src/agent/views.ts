/** The shapes in which attempts and artifacts are shown: `attempts --json`, `artifacts --json`, the handoff. Pure. */
import { isTerminalLease } from '../domain/types.js';
import type { ArtifactRow, AttemptRow, EffectRow } from '../store/port.js';
import type { ArtifactView, AttemptView, EffectView, Trust } from './types.js';

/** What the asker knows of the lease now. */
export interface LeaseKnowledge {
  /** Present time, ms. */
  readonly now: number;
  /** Last beat + TTL as Temporal says, ms; null when the asker does not know: the row's own deadline counts. */
  readonly deadline: number | null;
}

/**
 * An attempt as everybody is shown it. Past its deadline and not settled a live lease shows as `expired` and its worker
 * as `lost`, with `endedAt` null: it is never shown as live because nobody has recorded its end yet.
 *
 * @param ask absent: statuses as recorded, deadline as far as the store was told
 */
export function attemptView(row: AttemptRow, ask?: LeaseKnowledge): AttemptView {
  const settled = isTerminalLease(row.leaseStatus);
  // A settled row has the deadline at its end; before that Temporal's is newer than the store's.
  const deadline = settled ? (row.deadline ?? ask?.deadline ?? null) : (ask?.deadline ?? row.deadline);
  const overdue = row.leaseStatus === 'live' && ask !== undefined && deadline !== null && ask.now >= deadline;
  return {
    attempt: row.attempt,
    slot: row.slot,
    number: row.number,
    epoch: row.epoch,
    workerClass: row.workerClass,
    ownerActor: row.ownerActor,
    worker: { id: row.worker, status: overdue ? 'lost' : row.workerStatus },
    lease: { id: row.lease, status: overdue ? 'expired' : row.leaseStatus, deadline: isoTime(deadline) },
    spec: row.spec,
    reassignedBy: row.reassign && {
      reason: row.reassign.reason,
      actor: row.reassign.actor,
      at: new Date(row.reassign.at).toISOString(),
      workerClass: row.reassign.workerClass,
      fromSpec: row.reassign.fromSpec,
      toSpec: row.reassign.toSpec,
    },
    startedAt: isoTime(row.startedAt),
    endedAt: isoTime(row.endedAt),
    failure: row.failure,
  };
}

/** An artifact as everybody is shown it. @param by the attempt that saved it; absent only when its row is gone */
export const artifactView = (row: ArtifactRow, by?: Saver): ArtifactView => ({
  attempt: row.attempt,
  kind: row.kind,
  name: row.name,
  digest: row.digest,
  size: row.size,
  mediaType: row.mediaType,
  tags: row.tags,
  step: row.step,
  stepRevision: row.stepRevision,
  epoch: row.epoch,
  agentRevision: row.agentRevision,
  derivedFrom: row.derivedFrom,
  savedAt: new Date(row.savedAt).toISOString(),
  trust: trustOf(row.savedAt, by),
});

export interface Saver {
  readonly view: AttemptView;
  readonly ttlMs: number;
}

/**
 * Only of an attempt that was lost can a save be in doubt: every other end is one that the holder, or a command to it, came
 * to while the lease was live. Of a lost one the recorded deadline is last beat + TTL, so deadline − TTL is the last moment at
 * which the server is known to have heard from it; without a recorded deadline that is the attachment.
 *
 * Compared is the clock of the process that saved (`savedAt`) with the Temporal server's (deadline): clocks that differ shift
 * the line by their difference. It marks, and decides nothing.
 */
export function trustOf(savedAt: number, by: Saver | undefined): Trust {
  if (by === undefined) return 'after-last-renewal';
  const { worker, lease, startedAt } = by.view;
  if (worker.status !== 'lost') return 'committed';
  const renewed =
    lease.deadline === null
      ? Date.parse(startedAt ?? new Date(0).toISOString())
      : Date.parse(lease.deadline) - by.ttlMs;
  return savedAt <= renewed ? 'committed' : 'after-last-renewal';
}

/** An effect as everybody is shown it. */
export const effectView = (row: EffectRow): EffectView => ({
  slot: row.slot,
  name: row.name,
  instance: row.instance,
  key: row.key,
  state: row.state,
  requestDigest: row.requestDigest,
  receipt: row.receipt,
  handle: row.handle,
  failure: row.failure,
  attempt: row.attempt,
  epoch: row.epoch,
  resolvedBy: row.resolvedBy && { ...row.resolvedBy, at: new Date(row.resolvedBy.at).toISOString() },
  intentAt: new Date(row.intentAt).toISOString(),
  updatedAt: new Date(row.updatedAt).toISOString(),
});

const isoTime = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());
