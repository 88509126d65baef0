/** Settle: the end of an attempt and of its authority becomes terminal, once. What is recorded is the truth from then on. */
import { ENDS } from '../domain/attempt.js';
import { NO_EFFECTS } from '../domain/effect.js';
import { BatonError } from '../domain/errors.js';
import type { EndKind, Failure, LeaseStatus, WorkerStatus } from '../domain/types.js';
import type { Blobs } from './blobs.js';
import { tombstone } from './claims.js';
import { openEffects } from './effects.js';
import { unavailable } from './engine-errors.js';
import { exclusively, slotOf } from './exclusive.js';
import type { Settled, SettleInput, Staged } from './port.js';
import { attemptQuery, fencedUpdate, json, stagedOf, staleLease, type JoinedRow } from './rows.js';
import type { Db } from './schema.js';

/** Worker and lease status of an end: the domain's table, and void for a claim that left no attempt. */
function statusesOf(end: EndKind): readonly [WorkerStatus, LeaseStatus] {
  if (end === 'never-attached') return ['cancelled', 'void'];
  return [ENDS[end].worker, ENDS[end].lease];
}

/** Failure recorded for ends that nobody gave a failure for. */
const FAILURES: Partial<Readonly<Record<EndKind, Failure>>> = {
  outside: {
    code: 'CompletedOutside',
    message: 'The activity was ended by somebody who is not the lease holder.',
  },
  expired: { code: 'LeaseExpired', message: 'No heartbeat within the lease’s time to live.' },
  'max-duration': { code: 'MaxDuration', message: 'The attempt reached its maximum duration.' },
  released: { code: 'Released', message: 'The worker gave the slot back.' },
  revoked: { code: 'Revoked', message: 'The lease was revoked.' },
  cancelled: { code: 'Cancelled', message: 'The slot or the run was cancelled.' },
};

const EFFECT_OPEN: Failure = {
  code: 'EffectUnresolved',
  message: 'An effect of the slot has no known outcome, so its completion does not count.',
};

const NOTHING: Settled = {
  end: 'never-attached',
  workerStatus: 'cancelled',
  leaseStatus: 'void',
  failure: null,
  result: null,
  effects: NO_EFFECTS,
};

interface Decision {
  readonly end: EndKind;
  readonly failure: Failure | null;
  readonly result: string | null;
}

/** See the port. */
export async function settle(db: Db, bytes: Blobs, input: SettleInput): Promise<Settled> {
  const { fence } = input;
  // Decided outside a transaction, since it may read files, and written only if the row is still as it was read. A row
  // moves forward only (provisional, live, staged, over), so this ends after four rounds at most.
  for (;;) {
    const row = await read(db, input);
    if (!row) return NOTHING;
    if (row.end_kind !== null) return recorded(db, row, row.end_kind);
    const decision = await decide(db, bytes, row, input);
    const [workerStatus, leaseStatus] = statusesOf(decision.end);
    const written = await exclusively(db, slotOf(fence), async (trx) => {
      const { numUpdatedRows } = await fencedUpdate(trx, fence)
        .where('status', '=', row.status)
        .where('staged_id', row.staged_id === null ? 'is' : '=', row.staged_id)
        .set({ status: leaseStatus, deadline: input.deadline ?? row.deadline })
        .executeTakeFirst();
      if (numUpdatedRows === 0n) return false;
      await trx
        .updateTable('attempts')
        .set({
          worker_status: workerStatus,
          end_kind: decision.end,
          ended_at: input.endedAt,
          failure: json(decision.failure),
          result: decision.result,
        })
        .where('tenant', '=', fence.tenant)
        .where('run', '=', fence.run)
        .where('attempt', '=', fence.attempt)
        .execute();
      if (leaseStatus === 'void') await tombstone(trx, fence, row.claim_id);
      return true;
    });
    const { end, failure, result } = decision;
    if (written)
      return { end, workerStatus, leaseStatus, failure, result, effects: await openEffects(db, fence) };
  }
}

async function read(db: Db, { fence, end }: SettleInput): Promise<JoinedRow | null> {
  const row = await attemptQuery(db)
    .where('l.tenant', '=', fence.tenant)
    .where('l.run', '=', fence.run)
    .where('l.attempt', '=', fence.attempt)
    .executeTakeFirst();
  if (row?.slot === fence.slot && row.epoch === fence.epoch) return row;
  if (row) throw staleLease(fence, row.status);
  // A claim that never attached and left no row is somebody's invention: there is nothing to record, and nobody to wait for.
  if (end === 'never-attached') return null;
  // The run saw this attempt claimed, so the store has lost it: another file, or an older copy. Repeating helps once the
  // right one is back; an invented end would not.
  const { attempt, slot } = fence;
  throw unavailable('the store has no record of an attempt that was claimed in it', undefined, {
    slot,
    attempt,
  });
}

async function recorded(db: Db, row: JoinedRow, end: EndKind): Promise<Settled> {
  const effects = await openEffects(db, row);
  const failure = row.failure === null ? null : (JSON.parse(row.failure) as Failure);
  return {
    end,
    workerStatus: row.worker_status,
    leaseStatus: row.status,
    failure,
    result: row.result,
    effects,
  };
}

async function decide(
  db: Db,
  bytes: Blobs,
  row: JoinedRow,
  { end, staged: id, failure }: SettleInput,
): Promise<Decision> {
  if (row.status === 'provisional') {
    // Whatever the run took its end for (a loss, when the process died with the attachment in hand): nobody held a lease.
    return { end: 'never-attached', failure: end === 'never-attached' ? failure : null, result: null };
  }
  const staged = stagedOf(row);
  const matched = staged !== null && staged.id === id ? staged : null;
  const as = (kind: EndKind, said: Failure | null): Decision => ({
    end: kind,
    failure: said ?? FAILURES[kind] ?? null,
    result: null,
  });
  const outside = as('outside', null);
  switch (end) {
    case 'success':
      if (matched?.kind !== 'completion' || !(await whole(bytes, matched))) return outside;
      // Staging has refused this already; a row that came from elsewhere (a restored copy) is refused here.
      if ((await openEffects(db, row)).count > 0) return as('failure', EFFECT_OPEN);
      return { end, failure: null, result: matched.result };
    case 'failure':
      return matched?.kind === 'failure' ? as(end, matched.failure ?? failure) : outside;
    case 'released':
      if (id === null) return as(end, failure);
      return matched?.kind === 'release' ? as(end, matched.failure ?? failure) : outside;
    case 'never-attached':
      // It did attach, though the run was not told: the work may have begun, so it counts as lost.
      return as('expired', null);
    default:
      return as(end, failure);
  }
}

/** Whether the result's bytes are there and right; an engine that does not answer throws. */
async function whole(bytes: Blobs, { result }: Staged): Promise<boolean> {
  if (result === null) return true;
  try {
    await bytes.read(result);
    return true;
  } catch (error) {
    if (
      error instanceof BatonError &&
      (error.code === 'ArtifactMissing' || error.code === 'ArtifactMismatch')
    )
      return false;
    throw error;
  }
}
