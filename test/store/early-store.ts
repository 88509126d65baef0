/** Stores as a version before the collection of closed runs has written them. */
import { cp } from 'node:fs/promises';
import { Kysely, Migrator, PostgresDialect } from 'kysely';
import pg from 'pg';
import { expect } from 'vitest';
import { MIGRATIONS } from '../../src/store/migrations/index.js';
import { openSqlite } from '../../src/store/sqlite.js';

const EARLY = Object.fromEntries(Object.entries(MIGRATIONS).filter(([name]) => name < '0006'));
/** Those that others refer to come first. */
export const TABLES = [
  ...['meta', 'blobs', 'blob_parts', 'revisions', 'runs', 'attempts', 'leases'],
  ...['effects', 'artifacts', 'commands', 'void_claims', 'audit'],
];
/** Given by the database. */
const GIVEN = ['phase', 'seq'];

type Raw = Kysely<Record<string, Record<string, unknown>>>;

async function raw(url: string): Promise<Raw> {
  if (url.startsWith('sqlite:'))
    return (await openSqlite(url.slice('sqlite:'.length), true)) as unknown as Raw;
  return new Kysely({
    dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: url, max: 2 }) }),
  });
}

/** Reads or writes the tables behind the store's back. */
export async function within<T>(url: string, work: (db: Raw) => Promise<T>): Promise<T> {
  const db = await raw(url);
  return work(db).finally(() => db.destroy());
}

/** Makes the store at `to` as a version without 0006 would have written the one at `from`. */
export async function asBefore(from: string, to: string): Promise<void> {
  await within(to, async (early) => {
    const { error } = await new Migrator({
      db: early,
      provider: { getMigrations: () => Promise.resolve(EARLY) },
    }).migrateToLatest();
    expect(error).toBeUndefined();
    const tables = await early.introspection.getTables();
    const columnsOf = (table: string): string[] =>
      (tables.find(({ name }) => name === table)?.columns ?? [])
        .map(({ name }) => name)
        .filter((name) => !GIVEN.includes(name));
    expect(columnsOf('blobs')).toEqual(['digest', 'size', 'bytes']);
    await within(from, (today) =>
      early.transaction().execute(async (trx) => {
        for (const table of TABLES) {
          const rows = await today.selectFrom(table).select(columnsOf(table)).execute();
          if (rows.length > 0) await trx.insertInto(table).values(rows).execute();
        }
      }),
    );
  });
  const files = (url: string) => `${url.slice('sqlite:'.length)}.blobs`;
  if (to.startsWith('sqlite:')) await cp(files(from), files(to), { recursive: true });
}
