/** What no SQL does: rows go before their closed run is marked, a mark is taken back, a collected run is worked on again. */
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openStore } from '../../src/store/open.js';
import type { Store } from '../../src/store/port.js';
import { administer } from '../support/postgres.js';
import { SHARED } from './engines.js';
import { wholeRun } from './whole-run.js';

async function execute(url: string, statement: string): Promise<void> {
  if (!url.startsWith('sqlite:')) return administer(url, statement);
  const database = new Database(url.slice('sqlite:'.length));
  database.pragma('foreign_keys = OFF'); // the rules are what is tested
  try {
    database.exec(statement);
  } finally {
    database.close();
  }
}

const MARK = `update runs set collecting_at = 5 where tenant = 'acme' and run = `;

describe.each(SHARED)('retention rules: $name', ({ missing, place }) => {
  let url: string;
  let remove: () => Promise<void>;
  let store: Store;
  beforeEach(async () => {
    if (missing !== null) return;
    ({ url, remove } = await place());
    store = await openStore(url);
  });
  afterEach(async () => {
    if (missing !== null) return;
    await store.close();
    await remove();
  });

  it.skipIf(missing !== null)('keep the rows of every run that is not marked, closed or not', async () => {
    await wholeRun(store, { run: 'closed' });
    await wholeRun(store, { run: 'open', endedAt: null });
    for (const table of ['attempts', 'leases', 'effects', 'artifacts'])
      for (const run of ['closed', 'open'])
        await expect(execute(url, `delete from ${table} where run = '${run}'`), table).rejects.toThrow(
          /are kept for ever, unless their closed run is collected/,
        );
    await expect(execute(url, 'delete from runs')).rejects.toThrow(/keeps its id for ever/);
    await execute(url, `${MARK}'closed'`);
    for (const table of ['artifacts', 'effects', 'attempts'])
      await expect(execute(url, `delete from ${table}`), table).rejects.toThrow(/kept for ever/);
    expect(await store.attempts.list('acme', 'open')).toHaveLength(2);
  });

  it.skipIf(missing !== null)(
    'mark no run that is open, held or has an open effect, and for good',
    async () => {
      await wholeRun(store, { run: 'open', endedAt: null });
      await wholeRun(store, { run: 'held', held: true });
      await wholeRun(store, { run: 'effect', effect: 'unresolved' });
      await wholeRun(store, { run: 'closed' });
      for (const run of ['open', 'held', 'effect'])
        await expect(execute(url, `${MARK}'${run}'`), run).rejects.toThrow(/only a closed run is collected/);
      const of = `where tenant = 'acme' and run = 'closed'`;
      await expect(execute(url, `update runs set status = 'running' ${of}`)).rejects.toThrow(/never changes/);
      await execute(url, `${MARK}'closed'`);
      for (const change of ['collecting_at = null', `status = 'failed'`])
        await expect(execute(url, `update runs set ${change} ${of}`), change).rejects.toThrow(
          /never changes/,
        );
      await expect(execute(url, `update runs set collected_at = 6 ${of}`)).rejects.toThrow(
        /once its rows are/,
      );
      const rows = `(tenant, run, slot, attempt, node, number, worker, worker_class, worker_status, spec, claimed_at)`;
      const attempt = `insert into attempts ${rows} values ('acme', 'closed', 'a', 'x', 'a', 9, 'w', 'c', 'claimed', 's', 1)`;
      await expect(execute(url, attempt)).rejects.toThrow(/is not worked on/);
      // However old a later collection wants them: it is gone on with.
      const listed = await store.retention.runs({ tenant: 'acme', before: 0, after: null, limit: 9 });
      expect(listed).toMatchObject([{ run: 'closed', collecting: true }]);
      await store.retention.collect({ tenant: 'acme', run: 'closed', before: 0, by: 'ada', at: 7 });
      await expect(execute(url, `update runs set input = '1' ${of}`)).rejects.toThrow(/never changes/);
      await expect(execute(url, attempt)).rejects.toThrow(/is not worked on/);
    },
  );

  it.skipIf(missing !== null)('empty what stays of a run', async () => {
    await wholeRun(store, { run: 'closed' });
    await store.retention.collect({ tenant: 'acme', run: 'closed', before: 20_000, by: 'ada', at: 30_000 });
    // Any row that this finds may not be changed, and says so.
    const left = `input <> 'null' or pins <> '{}' or digest <> ''`;
    await execute(url, `update runs set collected_by = 'x' where ${left}`);
    await expect(execute(url, `update runs set collected_by = 'x'`)).rejects.toThrow(/never changes/);
  });
});
