/** Opens a store by its address and puts the verb groups together. */
import { artifactStore } from './artifacts.js';
import { attemptStore } from './attempts.js';
import { blobFiles } from './blob-files.js';
import { BLOBS_VARIABLE, blobStoreAt } from './blob-location.js';
import { blobs } from './blobs.js';
import { commandLog } from './commands.js';
import { effectStore } from './effects.js';
import { unavailable } from './engine-errors.js';
import { sqliteFile } from './location.js';
import { checkMachine, machineId, MOVED_VARIABLE, storeKey } from './meta.js';
import { migrate } from './migrate.js';
import type { Store } from './port.js';
import { revisionStore } from './revisions.js';
import { runStore } from './runs.js';
import { openSqlite } from './sqlite.js';

export interface StoreOptions {
  /**
   * Where artifacts over 64 KiB are kept: `files` (default: beside the database, `<file>.blobs`) or
   * `s3://bucket/prefix?endpoint=URL&pathStyle=true`. Default: `BATON_BLOBS`. All processes of a run must say the same.
   */
  readonly blobs?: string | undefined;
  /** False: a SQLite file that is not there is `StoreUnavailable` instead of made. Default true. */
  readonly create?: boolean | undefined;
}

/**
 * @param url `sqlite:./file.db` (from the working directory), `sqlite:/absolute/file.db` or `sqlite::memory:` (gone at close)
 * @returns the store, its schema up to date; several processes of one machine may have it open
 * @throws BatonError `InvalidCommand` for another address, `StoreUnavailable` when the engine does not open it
 */
export async function openStore(url: string, options: StoreOptions = {}): Promise<Store> {
  const location = sqliteFile(url);
  const inMemory = location === ':memory:';
  const files = inMemory ? null : blobFiles(`${location}.blobs`);
  const large = await blobStoreAt(options.blobs ?? process.env[BLOBS_VARIABLE], files);
  const db = await openSqlite(location, options.create ?? true);
  try {
    await migrate(db, location);
    if (!inMemory) await checkMachine(db, location, await machineId(), process.env[MOVED_VARIABLE] === '1');
  } catch (error) {
    await Promise.allSettled([db.destroy(), large?.close()]);
    throw error;
  }
  const bytes = blobs(db, large);
  let key: Promise<Uint8Array> | undefined;
  let closed: Promise<void> | undefined;
  const whileOpen = (): void => {
    if (closed) throw unavailable('the store is closed', undefined, { store: location });
  };
  return {
    revisions: guarded(revisionStore(db), whileOpen),
    runs: guarded(runStore(db), whileOpen),
    attempts: guarded(attemptStore(db, bytes), whileOpen),
    artifacts: guarded(artifactStore(db, bytes), whileOpen),
    effects: guarded(effectStore(db), whileOpen),
    commands: guarded(commandLog(db), whileOpen),
    async key() {
      whileOpen();
      // A failed read is not kept: the next call asks again.
      key ??= storeKey(db).catch((error: unknown) => {
        key = undefined;
        throw error;
      });
      return Uint8Array.from(await key);
    },
    describe: () => ({ engine: 'sqlite', location }),
    close: () => (closed ??= Promise.all([db.destroy(), large?.close()]).then(() => undefined)),
  };
}

type Verbs = Readonly<Record<string, (...args: never[]) => Promise<unknown>>>;

/** The same verbs, each preceded by the check. */
function guarded<T extends object>(group: T, check: () => void): T {
  const verbs = Object.entries(group as unknown as Verbs).map(([name, verb]) => [
    name,
    async (...args: never[]) => {
      check();
      return verb(...args);
    },
  ]);
  return Object.fromEntries(verbs) as T;
}
