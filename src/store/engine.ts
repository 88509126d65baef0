/** What the store needs of an engine; all else is the same code over Kysely. Each engine is loaded only when it is asked for. */
import type { BlobStore } from './blob-port.js';
import type { StorePlace } from './location.js';
import type { EngineName } from './migrations/ddl.js';
import type { Db } from './schema.js';

export interface Engine {
  readonly name: EngineName;
  /** Where it is, for people: no secret. */
  readonly location: string;
  /** Where bytes go that are too large for a row, unless an object store is set; null: into the row all the same. */
  readonly large: BlobStore | null;
  /**
   * Opens it and brings its schema up to date; called once.
   * @param create false: what is not there yet is `StoreUnavailable`, not made
   * @throws BatonError `StoreUnavailable`
   */
  open(create: boolean): Promise<Db>;
}

export async function engineAt(place: StorePlace): Promise<Engine> {
  if (place.engine === 'sqlite') return (await import('./sqlite.js')).sqliteEngine(place.file);
  return (await import('./postgres.js')).postgresEngine(place);
}
