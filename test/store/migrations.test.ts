/** Rows of earlier versions of the schema are brought up to date with what they say already. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Database from 'better-sqlite3';
import { Migrator } from 'kysely';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { MIGRATIONS } from '../../src/store/migrations/index.js';
import { openStore } from '../../src/store/open.js';
import { openSqlite } from '../../src/store/sqlite.js';
import { handRun } from '../agent/run-fixture.js';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'baton-migrations-'));
});
afterEach(() => rm(directory, { recursive: true }));

it('0003 gives artifacts of before the epoch of their lease, and nothing that nobody said', async () => {
  const today = await openStore(`sqlite:${directory}/today.db`);
  const run = await handRun(today);
  for (const name of ['first', 'second']) {
    const { fence } = await run.claim('notes');
    await run.save(fence, { name, step: name });
    await run.end(fence, 'expired');
  }
  await today.close();

  const file = path.join(directory, 'early.db');
  const db = await openSqlite(file, true);
  const early = Object.fromEntries(Object.entries(MIGRATIONS).filter(([name]) => name < '0003'));
  const { error } = await new Migrator({
    db,
    provider: { getMigrations: async () => early },
  }).migrateToLatest();
  expect(error).toBeUndefined();
  await db.destroy();
  const raw = new Database(file);
  raw.pragma('foreign_keys = OFF'); // only what artifacts are read with is copied
  raw.exec(`ATTACH '${directory}/today.db' AS today`);
  for (const table of ['blobs', 'attempts', 'leases', 'artifacts']) {
    const columns = (raw.pragma(`main.table_info(${table})`) as { name: string }[])
      .map(({ name }) => name)
      .join(', ');
    expect(columns).not.toContain('agent_revision');
    raw.exec(`INSERT INTO main.${table} (${columns}) SELECT ${columns} FROM today.${table}`);
  }
  raw.close();

  const store = await openStore(`sqlite:${file}`);
  expect(await store.artifacts.list('acme', 'run-1')).toMatchObject(
    ['first', 'second'].map((name, index) => ({
      name,
      step: name,
      epoch: index + 1,
      tags: [],
      agentRevision: null,
      stepRevision: null,
      derivedFrom: [],
    })),
  );
  await store.close();
});
