/**
 * What is shown of leases: each live row of the store together with what Temporal says of its activity. Only for the eye;
 * whether a holder may write is decided by the store's fence and by Temporal.
 */
import type { AttemptRow } from '../store/port.js';
import { deadlineOf, type ExecutionView } from './lease-view.js';

/**
 * When the lease ends, or ended: last beat + TTL. The last beat is Temporal's if it had one in the newest execution, else the
 * store's (beats before a roll-over, and at the end), else the attachment counts as one. Null before a worker attached.
 */
export function leaseDeadline(row: AttemptRow, execution: ExecutionView | null): number | null {
  if (row.leaseStatus !== 'live' && row.deadline !== null) return row.deadline;
  const here = row.attachment?.workflowRunId === execution?.workflowRunId;
  const pending = here && row.attachment ? execution?.leases.get(row.attachment.activityId) : undefined;
  const told = pending ? deadlineOf(pending, row.ttlMs) : null;
  if (told?.beaten) return told.deadline;
  const attached = row.startedAt === null ? null : row.startedAt + row.ttlMs;
  // An outside holder's attachment after a roll-over is no beat: its first attachment counts, as it does at the end.
  if (row.commandId !== null) return row.deadline ?? attached;
  if (row.leaseStatus !== 'live') return row.deadline;
  return row.deadline ?? told?.deadline ?? attached;
}

/**
 * Past its deadline and not settled yet. A staged end is no expiry: the holder has said how the attempt ended, and the run
 * has only to record it.
 */
export function isExpired(row: AttemptRow, deadline: number | null, now: number): boolean {
  return row.leaseStatus === 'live' && row.staged === null && deadline !== null && now >= deadline;
}
