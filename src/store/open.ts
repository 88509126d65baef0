/** Opens a store by its address and puts the verb groups together. */
import { artifactStore } from './artifacts.js';
import { attemptStore } from './attempts.js';
import { blobFiles } from './blob-files.js';
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

/**
 * @param url `sqlite:./file.db` (from the working directory), `sqlite:/absolute/file.db` or `sqlite::memory:` (gone at close)
 * @returns the store, its schema up to date; several processes of one machine may have it open
 * @throws BatonError `InvalidCommand` for another address, `StoreUnavailable` when the engine does not open it
 */
export async function openStore(url: string): Promise<Store> {
  const location = sqliteFile(url);
  const inMemory = location === ':memory:';
  const db = await openSqlite(location);
  try {
    await migrate(db, location);
    if (!inMemory) await checkMachine(db, location, await machineId(), process.env[MOVED_VARIABLE] === '1');
  } catch (error) {
    await db.destroy();
    throw error;
  }
  const bytes = blobs(db, inMemory ? null : blobFiles(`${location}.blobs`));
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
    close: () => (closed ??= db.destroy()),
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
