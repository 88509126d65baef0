/** Reads attempt and lease rows as one, and words the refusal that every fenced write shares. */
import type { Selectable } from 'kysely';
import { BatonError } from '../domain/errors.js';
import type { Failure, ReassignRecord } from '../domain/types.js';
import type { AttemptRow, Fence, Staged } from './port.js';
import type { Db, Tables } from './schema.js';

export const json = (value: unknown): string | null =>
  value === null || value === undefined ? null : JSON.stringify(value);
const parsed = <T>(text: string | null): T | null => (text === null ? null : (JSON.parse(text) as T));

export function attemptQuery(db: Db) {
  return db
    .selectFrom('attempts as a')
    .innerJoin('leases as l', (join) =>
      join
        .onRef('l.tenant', '=', 'a.tenant')
        .onRef('l.run', '=', 'a.run')
        .onRef('l.attempt', '=', 'a.attempt'),
    )
    .selectAll('l')
    .select([
      'a.node',
      'a.number',
      'a.worker',
      'a.worker_class',
      'a.worker_status',
      'a.owner_actor',
      'a.spec',
      'a.reassign',
      'a.command_id',
      'a.claimed_at',
      'a.started_at',
      'a.ended_at',
      'a.end_kind',
      'a.failure',
      'a.result',
    ]);
}

/** An attempt with its lease, as the database has it. */
export type JoinedRow = Selectable<Tables['leases']> &
  Omit<Selectable<Tables['attempts']>, keyof Tables['leases']>;

export function attemptRow(row: JoinedRow): AttemptRow {
  return {
    tenant: row.tenant,
    run: row.run,
    slot: row.slot,
    node: row.node,
    attempt: row.attempt,
    number: row.number,
    epoch: row.epoch,
    claimId: row.claim_id,
    worker: row.worker,
    workerClass: row.worker_class,
    workerStatus: row.worker_status,
    ownerActor: row.owner_actor,
    lease: row.lease,
    leaseStatus: row.status,
    spec: row.spec,
    hostQueue: row.host_queue,
    ttlMs: row.ttl_ms,
    maxDurationMs: row.max_duration_ms,
    reassign: parsed<ReassignRecord>(row.reassign),
    commandId: row.command_id,
    claimedAt: row.claimed_at,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    failure: parsed<Failure>(row.failure),
    deadline: row.deadline,
    attachment: attachmentOf(row),
    staged: stagedOf(row),
  };
}

/** What the holder staged, or null. */
export function stagedOf(
  row: Pick<JoinedRow, 'staged_id' | 'staged_kind' | 'staged_result' | 'staged_failure'>,
): Staged | null {
  if (row.staged_id === null || row.staged_kind === null) return null;
  return {
    id: row.staged_id,
    kind: row.staged_kind,
    result: row.staged_result,
    failure: parsed<Failure>(row.staged_failure),
  };
}

/** The row that a fence names, whatever its state; undefined when the fence is of no row. */
export function fencedRow(db: Db, fence: Fence): Promise<JoinedRow | undefined> {
  return attemptQuery(db)
    .where('l.tenant', '=', fence.tenant)
    .where('l.run', '=', fence.run)
    .where('l.attempt', '=', fence.attempt)
    .where('l.slot', '=', fence.slot)
    .where('l.epoch', '=', fence.epoch)
    .executeTakeFirst();
}

/** The lease that a fence names, if it is live: what every insert and update of a worker reads from, so that it is one statement. */
export const liveLease = (db: Db, { tenant, run, slot, attempt, epoch }: Fence) =>
  db
    .selectFrom('leases as l')
    .where('l.tenant', '=', tenant)
    .where('l.run', '=', run)
    .where('l.attempt', '=', attempt)
    .where('l.slot', '=', slot)
    .where('l.epoch', '=', epoch)
    .where('l.status', '=', 'live');

/** An update of the lease that a fence names; the caller adds the states in which it may happen. */
export function fencedUpdate(db: Db, fence: Fence) {
  return db
    .updateTable('leases')
    .where('tenant', '=', fence.tenant)
    .where('run', '=', fence.run)
    .where('attempt', '=', fence.attempt)
    .where('slot', '=', fence.slot)
    .where('epoch', '=', fence.epoch);
}

/** @param status the lease's status when it is known */
export function staleLease(fence: Pick<Fence, 'slot' | 'attempt' | 'epoch'>, status?: string): BatonError {
  const { slot, attempt, epoch } = fence;
  const why =
    status === undefined
      ? 'no such lease'
      : status === 'live'
        ? 'the lease is not this one'
        : `the lease is ${status}`;
  return BatonError.of('StaleLease', why, { slot, attempt, epoch });
}

/** Null until the worker has attached, and as long as nobody knows where. */
function attachmentOf(row: JoinedRow): AttemptRow['attachment'] {
  const { workflow_run_id: workflowRunId, activity_id: activityId, task_token: taskToken } = row;
  if (workflowRunId === null || activityId === null || taskToken === null) return null;
  return { workflowRunId, activityId, taskToken: new Uint8Array(taskToken) };
}
