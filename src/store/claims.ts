/** Claims: provisional rows with a fresh epoch, and the tombstones that keep a withdrawn offer from coming back. */
import { randomBytes } from 'node:crypto';
import { BatonError } from '../domain/errors.js';
import type { AttemptRef } from '../domain/types.js';
import { isCollecting } from './collect-runs.js';
import { alongside, exclusively, slotOf } from './exclusive.js';
import type { AttemptStore, ClaimInput } from './port.js';
import { attemptQuery, json, type JoinedRow } from './rows.js';
import type { Db } from './schema.js';

type VoidInput = Parameters<AttemptStore['voidClaim']>[0];
type SlotKey = Pick<ClaimInput, 'tenant' | 'run' | 'slot'>;

const newId = (prefix: string): string => `${prefix}-${randomBytes(6).toString('hex')}`;

const ofClaim = (
  db: Db,
  { tenant, run, claimId }: Pick<ClaimInput, 'tenant' | 'run' | 'claimId'>,
): Promise<JoinedRow | undefined> =>
  attemptQuery(db)
    .where('l.tenant', '=', tenant)
    .where('l.run', '=', run)
    .where('l.claim_id', '=', claimId)
    .where('l.status', '<>', 'void')
    .executeTakeFirst();

const refOf = (row: JoinedRow): AttemptRef => ({
  attempt: row.attempt,
  number: row.number,
  epoch: row.epoch,
  worker: row.worker,
  workerClass: row.worker_class,
  ownerActor: row.owner_actor,
  lease: row.lease,
  spec: row.spec,
  hostQueue: row.host_queue,
  ttlMs: row.ttl_ms,
  maxDurationMs: row.max_duration_ms,
  startedAt: row.claimed_at,
});

/** See the port. */
export function claim(db: Db, input: ClaimInput): Promise<AttemptRef> {
  return exclusively(db, slotOf(input), async (trx) => {
    if (!(await isThere(trx, input)))
      throw BatonError.of('RunNotFound', 'the run was collected', { run: input.run, slot: input.slot });
    await refuseTombstone(trx, input);
    const known = await ofClaim(trx, input);
    if (known && (await repeats(trx, known, input))) return refOf(known);
    const holder = await slotHolder(trx, input);
    if (holder?.status !== 'live') await refuseCarriedOut(trx, input);
    if (holder?.status === 'live') {
      throw BatonError.of('AlreadyLeased', 'another lease of the slot is live', {
        slot: input.slot,
        attempt: holder.attempt,
      });
    }
    if (holder) {
      await voidRow(trx, holder, input.at);
      // A later try of the same offer goes on below; any other offer is over for good.
      if (holder.claim_id !== input.claimId) await tombstone(trx, input, holder.claim_id);
    }
    return insert(trx, input);
  });
}

/** See the port. */
export function voidClaim(db: Db, input: VoidInput): Promise<void> {
  return exclusively(db, slotOf(input), async (trx) => {
    if (!(await isThere(trx, input))) return;
    await tombstone(trx, input, input.claimId);
    const row = await ofClaim(trx, input);
    if (row?.status === 'provisional') await voidRow(trx, row, row.claimed_at);
  });
}

/**
 * False for a run that is collected, to the end of the transaction: a workflow reset may bring one back that its rows have left.
 * One that nobody launched through a client has no row, and is there.
 */
async function isThere(trx: Db, { tenant, run }: SlotKey): Promise<boolean> {
  await alongside(trx, ['run', tenant, run]);
  return !(await isCollecting(trx, { tenant, run }));
}

/** Marks a claim id as used up, whether or not it has rows. */
export async function tombstone(db: Db, { tenant, run, slot }: SlotKey, claimId: string): Promise<void> {
  await db
    .insertInto('void_claims')
    .values({ tenant, run, slot, claim_id: claimId })
    .onConflict((conflict) => conflict.columns(['tenant', 'run', 'claim_id']).doNothing())
    .execute();
}

async function refuseTombstone(db: Db, { tenant, run, slot, claimId }: ClaimInput): Promise<void> {
  const dead = await db
    .selectFrom('void_claims')
    .select('claim_id')
    .where('tenant', '=', tenant)
    .where('run', '=', run)
    .where('claim_id', '=', claimId)
    .executeTakeFirst();
  if (dead) throw BatonError.of('StaleLease', 'the offer was withdrawn', { slot, claimId });
}

/**
 * A workflow reset carries out the claims that came after it once more. Whoever sent them has had his answer and works no
 * more, so an attempt of theirs would have a worker that is not there.
 */
async function refuseCarriedOut(db: Db, { tenant, run, slot, commandId }: ClaimInput): Promise<void> {
  if (commandId === null) return;
  const before = await attemptQuery(db)
    .where('l.tenant', '=', tenant)
    .where('l.run', '=', run)
    .where('a.command_id', '=', commandId)
    .where('l.status', 'not in', ['provisional', 'live', 'void'])
    .executeTakeFirst();
  if (before)
    throw BatonError.of('StaleLease', 'this claim was carried out before, and its attempt is over', {
      slot,
      attempt: before.attempt,
      commandId,
    });
}

/** Whether this is the claim that the row came from, told again; a later try from elsewhere is not. */
async function repeats(db: Db, row: JoinedRow, input: ClaimInput): Promise<boolean> {
  const facts = { slot: input.slot, claimId: input.claimId, try: input.try, newest: row.claim_try };
  if (input.try < row.claim_try) throw BatonError.of('StaleLease', 'a later try has taken the offer', facts);
  if (row.status !== 'provisional' && row.status !== 'live') {
    throw BatonError.of('StaleLease', 'the attempt of this claim is over', facts);
  }
  if (input.try === row.claim_try) return true;
  if (row.host_queue !== input.hostQueue || row.worker !== input.worker) return false;
  await db
    .updateTable('leases')
    .set({ claim_try: input.try })
    .where('tenant', '=', row.tenant)
    .where('run', '=', row.run)
    .where('attempt', '=', row.attempt)
    .execute();
  return true;
}

const slotHolder = (db: Db, { tenant, run, slot }: SlotKey): Promise<JoinedRow | undefined> =>
  attemptQuery(db)
    .where('l.tenant', '=', tenant)
    .where('l.run', '=', run)
    .where('l.slot', '=', slot)
    .where('l.status', 'in', ['provisional', 'live'])
    .executeTakeFirst();

/** The row keeps its epoch: it is never given out again. */
async function voidRow(
  db: Db,
  row: Pick<JoinedRow, 'tenant' | 'run' | 'attempt'>,
  at: number,
): Promise<void> {
  const { tenant, run, attempt } = row;
  await db
    .updateTable('leases')
    .set({ status: 'void' })
    .where('tenant', '=', tenant)
    .where('run', '=', run)
    .where('attempt', '=', attempt)
    .execute();
  await db
    .updateTable('attempts')
    .set({ worker_status: 'cancelled', end_kind: 'never-attached', ended_at: at })
    .where('tenant', '=', tenant)
    .where('run', '=', run)
    .where('attempt', '=', attempt)
    .execute();
}

async function insert(db: Db, input: ClaimInput): Promise<AttemptRef> {
  const { tenant, run, slot } = input;
  const newest = await db
    .selectFrom('leases as l')
    .innerJoin('attempts as a', (join) =>
      join
        .onRef('a.tenant', '=', 'l.tenant')
        .onRef('a.run', '=', 'l.run')
        .onRef('a.attempt', '=', 'l.attempt'),
    )
    .select(({ fn, eb }) => [
      fn.max('l.epoch').as('epoch'),
      fn.max(eb.case().when('l.status', '<>', 'void').then(eb.ref('a.number')).end()).as('number'),
    ])
    .where('l.tenant', '=', tenant)
    .where('l.run', '=', run)
    .where('l.slot', '=', slot)
    .executeTakeFirst();
  const ref: AttemptRef = {
    attempt: newId('a'),
    number: Math.max(input.lastNumber, newest?.number ?? 0) + 1,
    epoch: Math.max(input.lastEpoch, newest?.epoch ?? 0) + 1,
    worker: input.worker,
    workerClass: input.workerClass,
    ownerActor: input.ownerActor,
    lease: newId('l'),
    spec: input.spec,
    hostQueue: input.hostQueue,
    ttlMs: input.ttlMs,
    maxDurationMs: input.maxDurationMs,
    startedAt: input.at,
  };
  const key = { tenant, run, slot, attempt: ref.attempt };
  await db
    .insertInto('attempts')
    .values({
      ...key,
      node: input.node,
      number: ref.number,
      worker: ref.worker,
      worker_class: ref.workerClass,
      worker_status: 'claimed',
      owner_actor: ref.ownerActor,
      spec: ref.spec,
      reassign: json(input.reassign),
      command_id: input.commandId,
      claimed_at: input.at,
    })
    .execute();
  await db
    .insertInto('leases')
    .values({
      ...key,
      lease: ref.lease,
      epoch: ref.epoch,
      status: 'provisional',
      claim_id: input.claimId,
      claim_try: input.try,
      host_queue: ref.hostQueue,
      ttl_ms: ref.ttlMs,
      max_duration_ms: ref.maxDurationMs,
    })
    .execute();
  return ref;
}
