/** The shapes in which attempts and artifacts are shown: `attempts --json`, `artifacts --json`, the handoff. Pure. */
import { isTerminalLease } from '../domain/types.js';
import type { ArtifactRow, AttemptRow } from '../store/port.js';
import type { ArtifactView, AttemptView } from './types.js';

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

/** An artifact as everybody is shown it. */
export const artifactView = ({ attempt, kind, name, digest, size }: ArtifactRow): ArtifactView => ({
  attempt,
  kind,
  name,
  digest,
  size,
});

const isoTime = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());
