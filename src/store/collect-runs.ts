/** Closed runs go: marked first, then row by row in batches. The engine's own rules allow no other order (0006-retention). */
import { sql } from 'kysely';
import { OPEN_EFFECTS } from '../domain/effect.js';
import { exclusively } from './exclusive.js';
import {
  COLLECTED_ROWS,
  type CollectedRows,
  type KeptByStore,
  type RetentionStore,
} from './retention-port.js';
import type { Db, Tables } from './schema.js';

type RunKey = Readonly<{ tenant: string; run: string }>;
type CollectInput = Parameters<RetentionStore['collect']>[0];
type Part = (typeof COLLECTED_ROWS)[number];

const BATCH = 500;

/** In this order, for artifacts and effects name their attempt. The key tells rows of one run apart. */
const PARTS: readonly (readonly [part: Part, table: keyof Tables, key: string])[] = [
  ['artifacts', 'artifacts', 'seq'],
  ['effects', 'effects', 'seq'],
  ['commands', 'commands', 'command_id'],
  ['audit', 'audit', 'seq'],
  ['voidClaims', 'void_claims', 'claim_id'],
];

export const NO_ROWS = Object.fromEntries(COLLECTED_ROWS.map((part) => [part, 0])) as CollectedRows;
export const addRows = (left: CollectedRows, right: CollectedRows): CollectedRows =>
  Object.fromEntries(COLLECTED_ROWS.map((part) => [part, left[part] + right[part]])) as CollectedRows;
const isNone = (rows: CollectedRows): boolean => COLLECTED_ROWS.every((part) => rows[part] === 0);

export function runCollection(db: Db): Omit<RetentionStore, 'sweep'> {
  return {
    async runs({ tenant, before, after, limit }) {
      const rows = await db
        .selectFrom('runs as r')
        .select(['r.run', 'r.status', 'r.created_at', 'r.ended_at', 'r.collecting_at'])
        .select((eb) => [
          eb
            .selectFrom('effects as e')
            .whereRef('e.tenant', '=', 'r.tenant')
            .whereRef('e.run', '=', 'r.run')
            .where('e.state', 'in', OPEN_EFFECTS)
            .select(({ fn }) => fn.countAll<number>().as('count'))
            .as('open_effects'),
          eb
            .selectFrom('leases as l')
            .whereRef('l.tenant', '=', 'r.tenant')
            .whereRef('l.run', '=', 'r.run')
            .where('l.status', 'in', ['provisional', 'live'])
            .select(({ fn }) => fn.countAll<number>().as('count'))
            .as('held_leases'),
        ])
        .where('r.tenant', '=', tenant)
        .where('r.collected_at', 'is', null)
        .where((eb) =>
          eb.or([
            eb('r.collecting_at', 'is not', null),
            eb('r.ended_at', '<', before),
            eb.and([eb('r.status', '=', 'running'), eb('r.created_at', '<', before)]),
          ]),
        )
        .$if(after !== null, (query) => query.where('r.run', '>', after ?? ''))
        .orderBy('r.run')
        .limit(limit)
        .execute();
      return rows.map((row) => ({
        run: row.run,
        status: row.status,
        createdAt: row.created_at,
        endedAt: row.ended_at,
        collecting: row.collecting_at !== null,
        openEffects: row.open_effects ?? 0,
        heldLeases: row.held_leases ?? 0,
      }));
    },

    async count(tenant, run) {
      const counted: Record<string, number> = {};
      const tables = [...PARTS, ['attempts', 'attempts'], ['leases', 'leases']] as const;
      for (const [part, table] of tables) {
        const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.table(table)}
          where tenant = ${tenant} and run = ${run}`.execute(db);
        counted[part] = rows[0]?.count ?? 0;
      }
      return counted as CollectedRows;
    },

    async collect(input) {
      const run: RunKey = { tenant: input.tenant, run: input.run };
      const kept = await exclusively(db, ['run', run.tenant, run.run], (trx) => mark(trx, input));
      if (kept !== null) return { kept, rows: NO_ROWS };
      for (let rows = NO_ROWS; ;) {
        const removed = await exclusively(db, ['run', run.tenant, run.run], async (trx) => {
          const batch = await removeBatch(trx, run, input.batch ?? BATCH);
          if (isNone(batch)) await empty(trx, run, input.at);
          return batch;
        });
        if (isNone(removed)) return { kept: null, rows };
        rows = addRows(rows, removed);
      }
    },

    isCollected: (tenant, run) => isCollecting(db, { tenant, run }),
  };
}

/** Whether a run is gone for its readers. */
export async function isCollecting(db: Db, run: RunKey): Promise<boolean> {
  const row = await ofRun(db, run).where('collecting_at', 'is not', null).executeTakeFirst();
  return row !== undefined;
}

const ofRun = (db: Db, { tenant, run }: RunKey) =>
  db.selectFrom('runs').selectAll().where('tenant', '=', tenant).where('run', '=', run);

/** Holds the run's lock: no claim of it is under way, and from now on none begins. */
async function mark(trx: Db, { tenant, run, before, by, at }: CollectInput): Promise<KeptByStore | null> {
  const row = await ofRun(trx, { tenant, run }).executeTakeFirst();
  if (row === undefined || row.collected_at !== null) return 'unknown';
  if (row.collecting_at !== null) return null;
  if (row.status === 'running') return 'open';
  if (row.ended_at === null || row.ended_at >= before) return 'young';
  const held = await trx
    .selectFrom('leases')
    .select('attempt')
    .where('tenant', '=', tenant)
    .where('run', '=', run)
    .where('status', 'in', ['provisional', 'live'])
    .limit(1)
    .executeTakeFirst();
  if (held) return 'held';
  const open = await trx
    .selectFrom('effects')
    .select('seq')
    .where('tenant', '=', tenant)
    .where('run', '=', run)
    .where('state', 'in', OPEN_EFFECTS)
    .limit(1)
    .executeTakeFirst();
  if (open) return 'effects';
  await update(trx, { tenant, run }).set({ collecting_at: at, collected_by: by }).execute();
  return null;
}

async function removeBatch(trx: Db, { tenant, run }: RunKey, batch: number): Promise<CollectedRows> {
  const removed: Record<string, number> = { ...NO_ROWS };
  let left = batch;
  for (const [part, table, key] of PARTS) {
    if (left === 0) return removed as CollectedRows;
    const { numAffectedRows } = await sql`delete from ${sql.table(table)}
      where tenant = ${tenant} and run = ${run} and ${sql.ref(key)} in (
        select ${sql.ref(key)} from ${sql.table(table)} where tenant = ${tenant} and run = ${run} limit ${left})`.execute(
      trx,
    );
    removed[part] = Number(numAffectedRows ?? 0n);
    left -= removed[part];
  }
  if (left === 0) return removed as CollectedRows;
  const attempts = await trx
    .selectFrom('attempts')
    .select('attempt')
    .where('tenant', '=', tenant)
    .where('run', '=', run)
    .limit(left)
    .execute();
  if (attempts.length === 0) return removed as CollectedRows;
  const ids = attempts.map(({ attempt }) => attempt);
  for (const table of ['leases', 'attempts'] as const) {
    const { numDeletedRows } = await trx
      .deleteFrom(table)
      .where('tenant', '=', tenant)
      .where('run', '=', run)
      .where('attempt', 'in', ids)
      .executeTakeFirst();
    removed[table] = Number(numDeletedRows);
  }
  return removed as CollectedRows;
}

/** What stays of a run: its id, so that no other run gets its effects' keys and its epochs; nothing that it was given. */
const empty = (trx: Db, run: RunKey, at: number): Promise<unknown> =>
  update(trx, run)
    // Another collection may have been at it too, and faster.
    .where('collected_at', 'is', null)
    .set({ collected_at: at, digest: '', pins: '{}', input: 'null' })
    .execute();

const update = (trx: Db, { tenant, run }: RunKey) =>
  trx.updateTable('runs').where('tenant', '=', tenant).where('run', '=', run);
