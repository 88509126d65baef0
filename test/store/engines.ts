/** The engines by name, each with a place for a fresh store. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freshDatabase, noPostgres } from '../support/databases.js';
import { administer } from '../support/postgres.js';

export interface Place {
  /** A store's address; nothing is there yet. */
  readonly url: string;
  remove(): Promise<void>;
}

export interface TestEngine {
  readonly name: string;
  /** Why it cannot be tried here. */
  readonly missing: string | null;
  place(): Promise<Place>;
}

const sqlite: TestEngine = {
  name: 'sqlite in a file',
  missing: null,
  async place() {
    const directory = await mkdtemp(path.join(tmpdir(), 'baton-store-'));
    return { url: `sqlite:${directory}/x.db`, remove: () => rm(directory, { recursive: true }) };
  },
};

const inMemory: TestEngine = {
  name: 'sqlite in memory',
  missing: null,
  place: async () => ({ url: 'sqlite::memory:', remove: () => Promise.resolve() }),
};

/** Databases that a test is done with, emptied: the schema is there already, which saves most of the time. */
const emptied: string[] = [];

export const postgres: TestEngine = {
  name: 'postgres',
  missing: noPostgres,
  async place() {
    const url = emptied.pop() ?? (await freshDatabase()).url;
    return {
      url,
      remove: async () => {
        await administer(url, EMPTY);
        emptied.push(url);
      },
    };
  },
};

const EMPTY = `do $$ begin
  execute (select 'truncate ' || string_agg(quote_ident(tablename), ', ') || ' restart identity'
    from pg_tables where schemaname = 'public' and tablename not like 'kysely%');
end $$`;

export const ENGINES: readonly TestEngine[] = [inMemory, sqlite, postgres];
/** Those that several processes can have open. */
export const SHARED: readonly TestEngine[] = [sqlite, postgres];
