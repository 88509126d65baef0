/** Brings the schema up to date. Several processes may open a fresh file at once: one migrates, the others wait. */
import { CompiledQuery, Migrator } from 'kysely';
import { engineError, unavailable } from './engine-errors.js';
import { MIGRATIONS } from './migrations/index.js';
import type { Db } from './schema.js';

/**
 * Runs what is missing, all of it in one transaction that takes the write lock first (SQLite's DDL is transactional;
 * Kysely's migrator has no lock between processes for it and starts no transaction of its own).
 * @throws BatonError `StoreUnavailable`, also for a file that a newer version has written
 */
export async function migrate(db: Db, location: string): Promise<void> {
  const migrator = new Migrator({
    db,
    provider: { getMigrations: () => Promise.resolve({ ...MIGRATIONS }) },
  });
  await db.executeQuery(CompiledQuery.raw('begin immediate'));
  const { error } = await migrator.migrateToLatest();
  if (error === undefined) {
    await db.executeQuery(CompiledQuery.raw('commit'));
    return;
  }
  await db.executeQuery(CompiledQuery.raw('rollback')).catch(() => undefined); // the first error is the one to tell
  if (error instanceof Error && /^corrupted migrations/.test(error.message)) {
    throw unavailable('the store was written by another version of temporal-baton; use that version', error, {
      store: location,
    });
  }
  throw engineError(error, location);
}
