/** A real store in a file, with a second way in: tests damage rows as a broken disk or a careless hand would. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { openStore } from '../../src/store/open.js';
import type { Store } from '../../src/store/port.js';

export interface TestStore {
  readonly store: Store;
  /** Runs one statement behind the store's back and gives the number of rows it changed. */
  damage(statement: string, ...values: unknown[]): number;
  /** Rows of a table. */
  count(table: 'revisions' | 'blobs'): number;
  end(): Promise<void>;
}

export async function testStore(): Promise<TestStore> {
  const folder = await mkdtemp(join(tmpdir(), 'baton-store-'));
  const file = join(folder, 'baton.db');
  const store = await openStore(`sqlite:${file}`);
  const raw = new Database(file);
  return {
    store,
    damage: (statement, ...values) => raw.prepare(statement).run(...values).changes,
    count: (table) => (raw.prepare(`select count(*) as n from ${table}`).get() as { n: number }).n,
    async end() {
      raw.close();
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
