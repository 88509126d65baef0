/**
 * The deadline of a host's lease that Temporal has ended and nobody has settled yet. A host's beats are known to Temporal
 * alone, and it forgets them with the activity; what remains is when it timed out, which is last beat + TTL within a tick.
 */
import type { AttemptRow } from '../store/port.js';
import { optionalTsToMs } from '@temporalio/common/lib/time.js';
import { workflowIdOf } from '../domain/wire.js';
import { leaseDeadline } from './leases.js';
import type { ExecutionView } from './lease-view.js';
import type { Session } from './session.js';

/** The end of an attempt is among the newest events as long as nobody has settled it; further back is not looked. */
const NEWEST_EVENTS = 200;

/** {@link leaseDeadline}, for a lease that may have ended unseen. */
export async function deadlineNow(
  session: Session,
  row: AttemptRow,
  execution: ExecutionView | null,
): Promise<number | null> {
  const { attachment } = row;
  const unseen =
    row.leaseStatus === 'live' && row.commandId === null && row.deadline === null && row.staged === null;
  if (!unseen || !attachment || attachment.workflowRunId !== execution?.workflowRunId)
    return leaseDeadline(row, execution);
  if (execution.leases.has(attachment.activityId)) return leaseDeadline(row, execution);
  return (await timedOutAt(session, row, attachment)) ?? leaseDeadline(row, execution);
}

async function timedOutAt(
  { client }: Session,
  { tenant, run }: AttemptRow,
  { workflowRunId, activityId }: { workflowRunId: string; activityId: string },
): Promise<number | null> {
  const { history } = await client.withDeadline(Date.now() + 3_000, () =>
    client.workflowService.getWorkflowExecutionHistoryReverse({
      namespace: client.options.namespace,
      execution: { workflowId: workflowIdOf(tenant, run), runId: workflowRunId },
      maximumPageSize: NEWEST_EVENTS,
    }),
  );
  const ends = new Map<string, number>();
  for (const event of history?.events ?? []) {
    const end = event.activityTaskTimedOutEventAttributes;
    const at = optionalTsToMs(event.eventTime);
    if (end && at !== undefined) ends.set(String(end.scheduledEventId), at);
    if (event.activityTaskScheduledEventAttributes?.activityId === activityId)
      return ends.get(String(event.eventId)) ?? null;
  }
  return null;
}
