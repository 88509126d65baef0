/** Runs as the store knows them: what was launched, and a projection of how it stands. One that is collected is no run any more. */
import type { Selectable } from 'kysely';
import { BatonError } from '../domain/errors.js';
import type { Pins } from '../domain/types.js';
import type { Json, RunRow, RunStore } from './port.js';
import type { Db, Tables } from './schema.js';

const rowOf = (row: Selectable<Tables['runs']>): RunRow => ({
  tenant: row.tenant,
  run: row.run,
  digest: row.digest,
  pins: JSON.parse(row.pins) as Pins,
  input: JSON.parse(row.input) as Json,
  status: row.status,
  createdAt: row.created_at,
  endedAt: row.ended_at,
});

export function runStore(db: Db): RunStore {
  const get: RunStore['get'] = async (tenant, run) => {
    const row = await db
      .selectFrom('runs')
      .selectAll()
      .where('tenant', '=', tenant)
      .where('run', '=', run)
      .where('collecting_at', 'is', null)
      .executeTakeFirst();
    return row ? rowOf(row) : null;
  };

  return {
    get,
    async create({ tenant, run, digest, pins, input, createdAt }) {
      await db
        .insertInto('runs')
        .values({
          tenant,
          run,
          digest,
          pins: JSON.stringify(pins),
          input: JSON.stringify(input),
          status: 'running',
          created_at: createdAt,
          ended_at: null,
        })
        .onConflict((conflict) => conflict.columns(['tenant', 'run']).doNothing())
        .execute();
      const row = await get(tenant, run);
      // Owners of effects know the keys and epochs of the run that had the id: it would get their answers to that one.
      if (row === null)
        throw BatonError.of('RunConflict', 'the run id was used by a run that was collected since', { run });
      if (row.digest !== digest) {
        throw BatonError.of('RunConflict', 'the run was launched with other pins or input', { run });
      }
      return row;
    },
    async list(tenant) {
      const rows = await db
        .selectFrom('runs')
        .selectAll()
        .where('tenant', '=', tenant)
        .where('collecting_at', 'is', null)
        .orderBy('created_at', 'desc')
        .orderBy('run', 'desc')
        .execute();
      return rows.map(rowOf);
    },
    async close({ tenant, run, status, at }) {
      // No row touched is fine: the end is recorded already, or the run was started without the client's launch.
      await db
        .updateTable('runs')
        .set({ status, ended_at: at })
        .where('tenant', '=', tenant)
        .where('run', '=', run)
        .where('status', '=', 'running')
        .execute();
    },
  };
}
