/** The kit on Postgres, a real one: by a `pg` pool, and by Kysely. Skipped, and said why, where none runs. */
import { Kysely, PostgresDialect, sql, type Transaction } from 'kysely';
import pg from 'pg';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { effectOwner } from '../../../src/effects/owner/owner.js';
import { kyselyEngine, postgresEngine } from '../../../src/effects/owner/engines.js';
import { NoPostgres, startPostgres, type Postgres } from '../../support/postgres.js';
import { authorityOf, ownerConformance, type Subject } from './conformance.js';

const postgres = await startPostgres().catch((error: unknown) => {
  if (error instanceof NoPostgres) return error;
  throw error;
});
const server = postgres as Postgres;

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});
afterAll(() => (postgres instanceof NoPostgres ? undefined : postgres.stop()));

let databases = 0;
async function freshPool(): Promise<{ pool: () => pg.Pool }> {
  const url = await server.createDatabase(`owner_${(databases += 1)}`);
  const pool = (): pg.Pool => {
    const made = new pg.Pool({ connectionString: url, max: 4 });
    ends.push(() => made.end());
    return made;
  };
  await pool().query('create table book (n bigserial, entry text not null)');
  return { pool };
}
const entriesOf = async (pool: pg.Pool): Promise<readonly string[]> =>
  (await pool.query<{ entry: string }>('select entry from book order by n')).rows.map(({ entry }) => entry);

describe.skipIf(postgres instanceof NoPostgres)(
  postgres instanceof NoPostgres ? `skipped: ${postgres.message}` : 'on Postgres',
  () => {
    ownerConformance('pg', async (authority) => {
      const { pool: fresh } = await freshPool();
      const subject = (): Subject => {
        const pool = fresh();
        const owner = effectOwner({ engine: postgresEngine(pool), authority: authority.check });
        return {
          owner: owner as never,
          write: (entry, then = {}) =>
            (async (trx: pg.PoolClient) => {
              await trx.query('insert into book (entry) values ($1)', [entry]);
              if (then.throws !== undefined) throw then.throws;
              return then.answer;
            }) as never,
          entries: () => entriesOf(pool),
        };
      };
      return { subject: subject(), another: async () => subject() };
    });

    interface Book {
      book: { n: number; entry: string };
    }
    ownerConformance('Kysely on Postgres', async (authority) => {
      const { pool: fresh } = await freshPool();
      const subject = (): Subject => {
        const pool = fresh();
        const db = new Kysely<Book>({ dialect: new PostgresDialect({ pool }) });
        const owner = effectOwner({ engine: kyselyEngine(db, 'postgres'), authority: authority.check });
        return {
          owner: owner as never,
          write: (entry, then = {}) =>
            (async (trx: Transaction<Book>) => {
              await sql`insert into book (entry) values (${entry})`.execute(trx);
              if (then.throws !== undefined) throw then.throws;
              return then.answer;
            }) as never,
          entries: () => entriesOf(pool),
        };
      };
      return { subject: subject(), another: async () => subject() };
    });

    it('a database whose default is SERIALIZABLE waits at the fence, and does not fail there', async () => {
      const { pool } = await freshPool();
      const strict = pool();
      strict.on(
        'connect',
        (client) => void client.query("set default_transaction_isolation to 'serializable'"),
      );
      const owner = effectOwner({ engine: postgresEngine(strict), authority: authorityOf().check });
      await owner.migrate();
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, i) =>
          owner.commit({ authority: 's/1', key: `k${i}`, request: i }, async (trx) => {
            await trx.query('insert into book (entry) values ($1)', [`k${i}`]);
            return i;
          }),
        ),
      );
      expect(answers.map(({ repeated }) => repeated)).toEqual(Array(8).fill(false));
      expect(await entriesOf(strict)).toHaveLength(8);
    });

    it('a connection that dies in the middle takes the effect with it, and the pool goes on', async () => {
      const { pool: fresh } = await freshPool();
      const pool = fresh();
      pool.on('error', () => undefined);
      const owner = effectOwner({ engine: postgresEngine(pool), authority: authorityOf().check });
      await owner.migrate();
      const call = { authority: 's/1', key: 'k', request: 1 };
      await expect(
        owner.commit(call, async (trx) => {
          await trx.query("insert into book (entry) values ('half')");
          await trx.query('select pg_terminate_backend(pg_backend_pid())');
          return null;
        }),
      ).rejects.toThrow();
      expect(await owner.lookup({ authority: 's/1', key: 'k' })).toEqual({ state: 'absent' });
      expect(await entriesOf(pool)).toEqual([]);
      expect(await owner.commit(call, async () => 'done')).toMatchObject({
        receipt: 'done',
        repeated: false,
      });
    });
  },
);
