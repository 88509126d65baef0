/**
 * What Temporal says about leases: the pending activities of a run's execution, with their last beat. The server is the only
 * clock; nothing here looks at this machine's. Imports nothing but Temporal's client, so that activities use it too.
 */
import { isGrpcServiceError, type Client } from '@temporalio/client';
import { rethrowKnownErrorTypes } from '@temporalio/client/lib/helpers.js';
import { optionalTsToMs } from '@temporalio/common/lib/time.js';
import { workflowIdOf } from '../domain/wire.js';
import type { Attachment } from '../store/port.js';
import { isNotFound } from './failure.js';

/** One activity that the server still holds as pending. Times are epoch milliseconds by the server's clock. */
export interface PendingLease {
  readonly activityId: string;
  readonly startedAt: number | null;
  /** Last beat, or null when there was none in this execution. */
  readonly beatAt: number | null;
  /** Somebody asked it to stop: cancel, pause or reset. */
  readonly stopping: boolean;
}

export interface ExecutionView {
  readonly workflowRunId: string;
  /** Temporal's own word: RUNNING, COMPLETED, FAILED, CANCELED, TERMINATED, TIMED_OUT, CONTINUED_AS_NEW. */
  readonly status: string;
  readonly running: boolean;
  readonly startedAt: number | null;
  readonly closedAt: number | null;
  readonly taskQueue: string | null;
  readonly leases: ReadonlyMap<string, PendingLease>;
}

const STATUS = [
  'UNSPECIFIED',
  'RUNNING',
  'COMPLETED',
  'FAILED',
  'CANCELED',
  'TERMINATED',
  'CONTINUED_AS_NEW',
  'TIMED_OUT',
  'PAUSED',
];
/** CANCEL_REQUESTED, PAUSED, PAUSE_REQUESTED of Temporal's PendingActivityState. */
const STOPPING = new Set([3, 4, 5]);
const STARTED = new Set([2, ...STOPPING]);

/**
 * Asks the server about an execution.
 *
 * @param at tenant and run; `workflowRunId` for one execution, without it the newest
 * @returns null when the server has no such workflow
 * @throws whatever the Temporal client throws, untranslated
 */
export async function describeExecution(
  client: Client,
  at: { tenant: string; run: string; workflowRunId?: string },
): Promise<ExecutionView | null> {
  const execution = {
    workflowId: workflowIdOf(at.tenant, at.run),
    ...(at.workflowRunId ? { runId: at.workflowRunId } : {}),
  };
  let found;
  try {
    found = await client.workflowService.describeWorkflowExecution({
      namespace: client.options.namespace,
      execution,
    });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    // A namespace that is not there has no workflow either, but that is not for the run to say.
    if (isGrpcServiceError(error)) rethrowKnownErrorTypes(error);
    return null;
  }
  const info = found.workflowExecutionInfo;
  const status = STATUS[info?.status ?? 0] ?? 'UNKNOWN';
  const leases = new Map<string, PendingLease>();
  for (const pending of found.pendingActivities) {
    const activityId = pending.activityId ?? '';
    const state = Number(pending.state);
    leases.set(activityId, {
      activityId,
      startedAt: STARTED.has(state) ? (optionalTsToMs(pending.lastStartedTime) ?? null) : null,
      beatAt: optionalTsToMs(pending.lastHeartbeatTime) ?? null,
      stopping: STOPPING.has(state) || pending.paused === true,
    });
  }
  return {
    workflowRunId: info?.execution?.runId ?? '',
    status,
    running: status === 'RUNNING' || status === 'PAUSED',
    startedAt: optionalTsToMs(info?.startTime) ?? null,
    closedAt: optionalTsToMs(info?.closeTime) ?? null,
    taskQueue: info?.taskQueue ?? null,
    leases,
  };
}

/**
 * How a lease stands by Temporal. `moving`: the newest execution is not the one that the lease is attached to, as in the gap of
 * a roll-over (or after a workflow reset, which never ends); only waiting tells.
 */
export type Standing =
  { readonly kind: 'pending' | 'stopping' | 'moving' } | { readonly kind: 'over'; readonly why: string };

/**
 * @param attachment of the attempt's row, as the store has it live
 * @param execution the run's newest one. A terminated execution still lists pending activities, so its status is looked at first
 */
export function standingOf(
  attachment: Pick<Attachment, 'workflowRunId' | 'activityId'> | null,
  execution: ExecutionView | null,
): Standing {
  if (!execution?.running) return { kind: 'over', why: 'the run is over' };
  if (attachment?.workflowRunId !== execution.workflowRunId) return { kind: 'moving' };
  const pending = execution.leases.get(attachment.activityId);
  if (!pending) return { kind: 'over', why: 'Temporal has ended the lease' };
  return { kind: pending.stopping ? 'stopping' : 'pending' };
}

/** When a pending lease ends unless it is beaten: last beat, else start, plus TTL. Null before the activity has started. */
export function deadlineOf(
  pending: PendingLease,
  ttlMs: number,
): { deadline: number; beaten: boolean } | null {
  const from = pending.beatAt ?? pending.startedAt;
  return from === null ? null : { deadline: from + ttlMs, beaten: pending.beatAt !== null };
}

/**
 * Deadlines of leases in one execution, by attempt; null for a lease that is not pending there (ended, or not started).
 * `beaten: false` means that nobody has beaten it in this execution: after a roll-over the deadline is then no more than
 * that of the attachment, and the last beat is to be read from the execution before.
 */
export async function leaseDeadlines(
  client: Client,
  input: {
    tenant: string;
    run: string;
    workflowRunId?: string;
    leases: readonly { attempt: string; activityId: string; ttlMs: number }[];
  },
): Promise<Readonly<Record<string, { deadline: number; beaten: boolean } | null>>> {
  const view = await describeExecution(client, input);
  const entries = input.leases.map(({ attempt, activityId, ttlMs }) => {
    const pending = view?.leases.get(activityId);
    return [attempt, pending ? deadlineOf(pending, ttlMs) : null] as const;
  });
  return Object.fromEntries(entries);
}
