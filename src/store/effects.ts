/**
 * Effects: the intent before an act outside, and its outcome after it. What a worker writes is one statement fenced by its live
 * lease; which state may follow which is the domain's table, put into the statement itself.
 */
import { sql, type Selectable } from 'kysely';
import { LISTED_EFFECTS, mayPrecede, OPEN_EFFECTS, settleable, type OpenEffects } from '../domain/effect.js';
import { BatonError } from '../domain/errors.js';
import type { Failure } from '../domain/types.js';
import { exclusively, slotOf } from './exclusive.js';
import type { EffectRecord, EffectRow, EffectStore, Fence, Json } from './port.js';
import { fencedRow, liveLease, staleLease } from './rows.js';
import type { Db, Tables } from './schema.js';

type SlotKey = Pick<Fence, 'tenant' | 'run' | 'slot'>;
type BeginInput = Parameters<EffectStore['begin']>[0];
type RecordInput = Parameters<EffectStore['record']>[0];
type ResolveInput = Parameters<EffectStore['resolve']>[0];

const parsed = <T>(text: string | null): T | null => (text === null ? null : (JSON.parse(text) as T));

const rowOf = (row: Selectable<Tables['effects']>): EffectRow => ({
  tenant: row.tenant,
  run: row.run,
  slot: row.slot,
  name: row.name,
  instance: row.instance === '' ? null : row.instance,
  key: row.key,
  requestDigest: row.request_digest,
  state: row.state,
  receipt: parsed<Json>(row.receipt),
  handle: parsed<Json>(row.handle),
  failure: parsed<Failure>(row.failure),
  attempt: row.attempt,
  epoch: row.epoch,
  resolvedBy: parsed<EffectRow['resolvedBy']>(row.resolved_by),
  intentAt: row.intent_at,
  updatedAt: row.updated_at,
});

export function effectStore(db: Db): EffectStore {
  return {
    begin: (input) => exclusively(db, slotOf(input.fence), (trx) => begin(trx, input)),
    record: (input) => exclusively(db, slotOf(input.fence), (trx) => record(trx, input)),
    resolve: (input) => exclusively(db, slotOf(input), (trx) => resolve(trx, input)),
    open: (tenant, run, slot) => openEffects(db, { tenant, run, slot }),
    async list(tenant, run, slot) {
      const rows = await db
        .selectFrom('effects')
        .selectAll()
        .where('tenant', '=', tenant)
        .where('run', '=', run)
        .$if(slot !== undefined, (query) => query.where('slot', '=', slot ?? ''))
        .orderBy('seq')
        .execute();
      return rows.map(rowOf);
    },
  };
}

/** The open effects of a slot, for a statement that must not happen beside one. */
export const isEffectOpen = (db: Db, { tenant, run, slot }: SlotKey) =>
  db
    .selectFrom('effects as e')
    .select('e.seq')
    .where('e.tenant', '=', tenant)
    .where('e.run', '=', run)
    .where('e.slot', '=', slot)
    .where('e.state', 'in', OPEN_EFFECTS);

/** Effects of a slot whose outcome is not known, oldest first. */
export async function openEffects(db: Db, slot: SlotKey): Promise<OpenEffects> {
  const rows = await isEffectOpen(db, slot)
    .select(['e.name', 'e.instance', 'e.state'])
    .orderBy('e.seq')
    .limit(LISTED_EFFECTS)
    .execute();
  const listed = rows.map(({ name, instance, state }) => ({
    name,
    instance: instance === '' ? null : instance,
    state,
  }));
  if (rows.length < LISTED_EFFECTS) return { count: rows.length, listed };
  const counted = isEffectOpen(db, slot)
    .clearSelect()
    .select((eb) => eb.fn.countAll<number | bigint | string>().as('count'));
  const { count } = await counted.executeTakeFirstOrThrow();
  return { count: Number(count), listed };
}

async function begin(db: Db, input: BeginInput): Promise<{ row: EffectRow; begun: boolean }> {
  const { fence, name, instance, key, requestDigest, at } = input;
  const written = await db
    .insertInto('effects')
    .columns([
      'tenant',
      'run',
      'slot',
      'name',
      'instance',
      'key',
      'request_digest',
      'state',
      'attempt',
      'epoch',
      'intent_at',
      'updated_at',
    ])
    .expression(
      // An attempt whose end is staged begins nothing: what it completes with would not count it.
      liveLease(db, fence)
        .where('l.staged_id', 'is', null)
        .select([
          'l.tenant',
          'l.run',
          'l.slot',
          sql<string>`${name}`.as('name'),
          sql<string>`${instance ?? ''}`.as('instance'),
          sql<string>`${key}`.as('key'),
          sql<string>`${requestDigest}`.as('request_digest'),
          sql<'intent'>`'intent'`.as('state'),
          'l.attempt',
          'l.epoch',
          sql<number>`${at}`.as('intent_at'),
          sql<number>`${at}`.as('updated_at'),
        ]),
    )
    .onConflict((conflict) => conflict.columns(['tenant', 'run', 'slot', 'name', 'instance']).doNothing())
    .returningAll()
    .executeTakeFirst();
  if (written) return { row: rowOf(written), begun: true };
  const known = await ofKey(db, fence, key);
  const lease = await fencedRow(db, fence);
  if (lease?.status !== 'live') throw staleLease(fence, lease?.status);
  if (known) return { row: rowOf(known), begun: false };
  throw endStaged(fence);
}

/** `staged` tells it from a lease that is over: the attempt's end is still to be told. */
const endStaged = ({ slot, attempt }: Fence): BatonError =>
  BatonError.of('StaleLease', 'the attempt has ended its work already', { slot, attempt, staged: true });

async function record(db: Db, { fence, key, record: outcome, at }: RecordInput): Promise<EffectRow> {
  const written = await db
    .updateTable('effects')
    .set({ ...columnsOf(outcome, fence), updated_at: at })
    .where('tenant', '=', fence.tenant)
    .where('run', '=', fence.run)
    .where('slot', '=', fence.slot)
    .where('key', '=', key)
    .where('state', 'in', mayPrecede(outcome.state))
    .where((eb) =>
      eb.exists(
        liveLease(db, fence)
          .select('l.attempt')
          // What was sent may still be recorded after the end is staged; nothing more is sent.
          .$if(outcome.state === 'intent', (lease) => lease.where('l.staged_id', 'is', null)),
      ),
    )
    .returningAll()
    .executeTakeFirst();
  if (written) return rowOf(written);
  const lease = await fencedRow(db, fence);
  if (lease?.status !== 'live') throw staleLease(fence, lease?.status);
  const known = await ofKey(db, fence, key);
  if (!known) throw BatonError.of('EffectNotFound', 'no intent was recorded', { slot: fence.slot, key });
  if (outcome.state === 'intent' && lease.staged_id !== null) throw endStaged(fence);
  return rowOf(known);
}

/** The columns of an outcome. A handle is kept whatever follows it: it is how the effect is polled for. */
function columnsOf(outcome: EffectRecord, { attempt, epoch }: Fence) {
  switch (outcome.state) {
    case 'intent':
      // A new sending is this attempt's; what was known of the one before is not true of it.
      return { state: outcome.state, attempt, epoch, failure: null, handle: null };
    case 'accepted':
      return { state: outcome.state, handle: JSON.stringify(outcome.handle), failure: null };
    case 'committed':
      return { state: outcome.state, receipt: JSON.stringify(outcome.receipt), failure: null };
    case 'rejected':
    case 'unresolved':
      return { state: outcome.state, failure: JSON.stringify(outcome.failure) };
  }
}

const ofSlot = (db: Db, { tenant, run, slot }: SlotKey) =>
  db
    .selectFrom('effects')
    .selectAll()
    .where('tenant', '=', tenant)
    .where('run', '=', run)
    .where('slot', '=', slot);

const ofKey = (db: Db, slot: SlotKey, key: string) =>
  ofSlot(db, slot).where('key', '=', key).executeTakeFirst();

/** In a transaction that has the slot to itself. */
async function resolve(trx: Db, input: ResolveInput): Promise<EffectRow> {
  const { tenant, run, slot, name, instance, outcome, actor, reason, commandId, at } = input;
  const facts = { slot, name, ...(instance === null ? {} : { instance }) };
  const row = await ofSlot(trx, input)
    .where('name', '=', name)
    .where('instance', '=', instance ?? '')
    .executeTakeFirst();
  if (!row) throw BatonError.of('EffectNotFound', 'the slot has no such effect', facts);
  if (row.resolved_command === commandId) return rowOf(row);
  const holder = await trx
    .selectFrom('leases')
    .select('attempt')
    .where('tenant', '=', tenant)
    .where('run', '=', run)
    .where('slot', '=', slot)
    .where('status', 'in', ['provisional', 'live'])
    .executeTakeFirst();
  if (!settleable(holder !== undefined).includes(row.state)) {
    const by = parsed<EffectRow['resolvedBy']>(row.resolved_by);
    const what = holder && row.state !== 'committed' && row.state !== 'rejected' ? 'its worker is at it' : '';
    throw BatonError.of('EffectNotUnresolved', `the effect is ${row.state}${what && `, and ${what}`}`, {
      ...facts,
      state: row.state,
      ...(holder ? { attempt: holder.attempt } : {}),
      ...(by ? { resolvedBy: by.actor } : {}),
    });
  }
  const written = await trx
    .updateTable('effects')
    .set({
      state: outcome.state,
      receipt: outcome.state === 'committed' ? JSON.stringify(outcome.receipt) : null,
      failure: null,
      resolved_by: JSON.stringify({ outcome: outcome.state, actor, reason, at }),
      resolved_command: commandId,
      updated_at: at,
    })
    .where('seq', '=', row.seq)
    .returningAll()
    .executeTakeFirstOrThrow();
  return rowOf(written);
}
