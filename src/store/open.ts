/** Opens a store by its address and puts the verb groups together. */
import { artifactStore } from './artifacts.js';
import { auditLog } from './audit.js';
import { attemptStore } from './attempts.js';
import { BLOBS_VARIABLE, blobStoreAt } from './blob-location.js';
import { blobs } from './blobs.js';
import { byteCollection } from './collect-bytes.js';
import { runCollection } from './collect-runs.js';
import { commandLog } from './commands.js';
import { effectStore } from './effects.js';
import { unavailable } from './engine-errors.js';
import { engineAt } from './engine.js';
import { storePlace } from './location.js';
import { storeKey } from './meta.js';
import type { Store } from './port.js';
import { revisionStore } from './revisions.js';
import { runStore } from './runs.js';

export interface StoreOptions {
  /**
   * Where artifacts over 64 KiB are kept: `files` (SQLite's default: beside the database, `<file>.blobs`), `database` (the
   * default of Postgres, which has no files) or `s3://bucket/prefix?endpoint=URL&pathStyle=true`. Default: `BATON_BLOBS`. All
   * processes of a run must say the same.
   */
  readonly blobs?: string | undefined;
  /** False: a store that is not there is `StoreUnavailable` instead of made. Default true. */
  readonly create?: boolean | undefined;
}

/**
 * @param url `sqlite:./file.db` (from the working directory), `sqlite:/absolute/file.db`, `sqlite::memory:` (gone at close), or
 *   `postgresql://user:password@host:5432/database` with the options of its driver and `poolSize` (10), `statementTimeoutMs`
 *   (15000), `connectTimeoutMs` (5000)
 * @returns the store, its schema up to date; several processes may have it open: of one machine (SQLite), of any (Postgres)
 * @throws BatonError `InvalidCommand` for another address, `StoreUnavailable` when the engine does not open it
 */
export async function openStore(url: string, options: StoreOptions = {}): Promise<Store> {
  const engine = await engineAt(storePlace(url));
  const { name, location } = engine;
  const large = await blobStoreAt(options.blobs ?? process.env[BLOBS_VARIABLE], engine);
  const db = await engine.open(options.create ?? true).catch(async (error: unknown) => {
    await large?.close();
    throw error;
  });
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
    audit: guarded(auditLog(db), whileOpen),
    retention: guarded({ ...runCollection(db), ...byteCollection(db, location, large) }, whileOpen),
    async key() {
      whileOpen();
      // A failed read is not kept: the next call asks again.
      key ??= storeKey(db).catch((error: unknown) => {
        key = undefined;
        throw error;
      });
      return Uint8Array.from(await key);
    },
    describe: () => ({ engine: name, location }),
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
