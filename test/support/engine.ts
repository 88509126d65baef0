/** On which engine `startBaton` keeps its store: SQLite, unless the test file says otherwise. */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import Database from 'better-sqlite3';
import { expect } from 'vitest';
import type { EngineName } from '../../src/store/migrations/ddl.js';
import { administer } from './postgres.js';

let engine: EngineName = 'sqlite';

/** For all tests of the file. */
export function useEngine(name: EngineName): void {
  engine = name;
}

/** A place for a store that is not there yet. */
export async function storePlace(): Promise<{ url: string; remove(): Promise<void> }> {
  if (engine === 'postgres') {
    // Loading it starts the server, which most files do without.
    const { freshDatabase } = await import('./databases.js');
    const { url, drop } = await freshDatabase();
    return { url, remove: drop };
  }
  const dir = await mkdtemp(path.join(os.tmpdir(), 'baton-test-'));
  return {
    url: `sqlite:${path.join(dir, 'baton.db')}`,
    remove: () => rm(dir, { recursive: true, force: true }),
  };
}

/** Takes small bytes out of a store behind its back. */
export async function removeBytes(storeUrl: string, digest: string): Promise<void> {
  if (!storeUrl.startsWith('sqlite:'))
    return administer(storeUrl, `delete from blobs where digest = '${digest}'`);
  const database = new Database(storeUrl.slice('sqlite:'.length));
  database.pragma('foreign_keys = OFF');
  expect(database.prepare('delete from blobs where digest = ?').run(digest).changes).toBe(1);
  database.close();
}
