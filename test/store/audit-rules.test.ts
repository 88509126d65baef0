/** What no SQL does to the audit: an entry never changes, and none goes away while its run is open. */
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { openStore } from '../../src/store/open.js';
import { administer } from '../support/postgres.js';
import { SHARED } from './engines.js';

async function execute(url: string, statement: string): Promise<void> {
  if (!url.startsWith('sqlite:')) return administer(url, statement);
  const database = new Database(url.slice('sqlite:'.length));
  try {
    database.exec(statement);
  } finally {
    database.close();
  }
}

describe.each(SHARED)('audit rules: $name', ({ missing, place }) => {
  it.skipIf(missing !== null)('is only added to, until its run is over', async () => {
    const { url, remove } = await place();
    const store = await openStore(url);
    const run = { tenant: 'acme', run: 'r1', digest: 'd', pins: {} as never, input: null, createdAt: 1 };
    await store.runs.create(run);
    const entry = { slot: null, actor: 'ada', commandId: null, at: 1, command: 'hold' };
    const refused = { verdict: 'refused', code: 'RunClosed', reason: null } as const;
    await store.audit.record({ tenant: 'acme', run: 'r1', ...entry, ...refused });
    const count = async () => (await store.audit.list({ tenant: 'acme', limit: 10 })).length;

    await expect(execute(url, `update audit set actor = 'eve'`)).rejects.toThrow(/never changes/);
    await expect(execute(url, `delete from audit`)).rejects.toThrow(/is kept for as long as the run/);
    expect(await count()).toBe(1);
    await store.runs.close({ tenant: 'acme', run: 'r1', status: 'succeeded', at: 2 });
    await expect(execute(url, `update audit set actor = 'eve'`)).rejects.toThrow(/never changes/);
    await execute(url, `delete from audit`);
    expect(await count()).toBe(0);
    await store.close();
    await remove();
  });
});
