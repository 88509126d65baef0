/** Brings the schema up to date. Several processes may open a fresh store at once: one migrates, the others wait. */
import { CompiledQuery, Migrator, sql } from 'kysely';
import { BatonError } from '../domain/errors.js';
import { unavailable } from './engine-errors.js';
import { MIGRATIONS } from './migrations/index.js';
import type { Db } from './schema.js';

/**
 * Runs what is missing, all of it in one transaction that takes the write lock first (SQLite's DDL is transactional;
 * Kysely's migrator has no lock between processes for it and starts no transaction of its own).
 * @throws BatonError `StoreUnavailable`, also for a file that a newer version has written
 */
export async function migrateSqlite(db: Db, location: string): Promise<void> {
  await db.executeQuery(CompiledQuery.raw('begin immediate'));
  const { error } = await migratorOf(db).migrateToLatest();
  if (error === undefined) {
    await db.executeQuery(CompiledQuery.raw('commit'));
    return;
  }
  await db.executeQuery(CompiledQuery.raw('rollback')).catch(() => undefined); // the first error is the one to tell
  throw told(error, location);
}

/**
 * Runs what is missing, all of it in one transaction under the migrator's advisory lock. A schema that is up to date costs one
 * read and asks for no right to change it.
 * @param create false: a database without a store in it is refused
 * @param patient a connection for the migration itself, which may take longer than a statement should
 * @throws BatonError `StoreUnavailable`, also for a database that a newer version has written
 */
export async function migratePostgres(
  db: Db,
  location: string,
  create: boolean,
  patient: () => Db,
): Promise<void> {
  const done = await migrationsOf(db);
  if (done === null && !create)
    throw unavailable(
      'there is no store in this database; correct --store or BATON_STORE (`baton publish`, `launch` and `worker` make a new one)',
      undefined,
      { store: location },
    );
  const known = Object.keys(MIGRATIONS);
  if (done?.some((name) => !known.includes(name))) throw newer(location);
  if (known.every((name) => done?.includes(name))) return;
  const { rows } = await sql<{ schema: string | null }>`select current_schema() as schema`.execute(db);
  const schema = rows[0]?.schema;
  if (schema == null)
    throw unavailable('no schema of the search path is there to put the store in', undefined, {
      store: location,
    });
  const migrating = patient();
  try {
    // Named, since the migrator would else take another schema's tables for its own.
    const { error } = await migratorOf(migrating, schema).migrateToLatest();
    if (error !== undefined) throw told(error, location);
  } finally {
    await migrating.destroy();
  }
}

/** Null when there are none yet. */
async function migrationsOf(db: Db): Promise<readonly string[] | null> {
  try {
    const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db);
    return rows.map(({ name }) => name);
  } catch (error) {
    if (error instanceof BatonError && error.details['engineCode'] === '42P01') return null;
    throw error;
  }
}

const migratorOf = (db: Db, schema?: string): Migrator =>
  new Migrator({
    db,
    provider: { getMigrations: () => Promise.resolve({ ...MIGRATIONS }) },
    ...(schema === undefined ? {} : { migrationTableSchema: schema }),
  });

const newer = (location: string, cause?: unknown): BatonError =>
  unavailable('the store was written by another version of temporal-baton; use that version', cause, {
    store: location,
  });

const told = (error: unknown, location: string): unknown =>
  error instanceof Error && /^corrupted migrations/.test(error.message) ? newer(location, error) : error;
