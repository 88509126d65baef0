/** A store that a version before the collection has written: it is brought up to date, nothing of it is lost, and a dry run writes nothing. */
import { readdir } from 'node:fs/promises';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { publish } from '../../src/definitions/publish.js';
import { sha256 } from '../../src/store/canonical.js';
import { openStore } from '../../src/store/open.js';
import type { Store } from '../../src/store/port.js';
import { all } from '../definitions/fixtures.js';
import { asBefore, TABLES, within } from './early-store.js';
import { SHARED } from './engines.js';
import { readAll, wholeRun } from './whole-run.js';

const TENANT = 'acme';
const DAY = 86_400_000;
/** Everything that a collection could change. */
async function everything(url: string): Promise<unknown> {
  const tables = await within(url, async (db) => {
    const rows: Record<string, unknown[]> = {};
    for (const table of [...TABLES, 'blob_puts'])
      rows[table] = (await db.selectFrom(table).selectAll().execute())
        .map((row) => JSON.stringify(row))
        .sort();
    return rows;
  });
  const folder = `${url.slice('sqlite:'.length)}.blobs`;
  return {
    tables,
    files: url.startsWith('sqlite:') ? (await readdir(folder, { recursive: true })).sort() : [],
  };
}

const isThere = (store: Store, bytes: Uint8Array): Promise<boolean> =>
  store.artifacts.readBytes(sha256(bytes)).then(
    () => true,
    () => false,
  );

describe.each(SHARED)('a store of before: $name', ({ missing, place }) => {
  it.skipIf(missing !== null)('is collected like any other, once its bytes have an age', async () => {
    const [from, to] = [await place(), await place()];
    onTestFinished(async () => {
      await from.remove();
      await to.remove();
    });
    const [own, large, shared] = [
      Buffer.from('own'),
      Buffer.alloc(70_000, 'own'),
      Buffer.alloc(70_000, 'both'),
    ];
    const today = await openStore(from.url);
    await publish(today, { tenant: TENANT, actor: 'ada', at: 1, documents: all() });
    await wholeRun(today, { run: 'old', contents: [own, large, shared] });
    await wholeRun(today, { run: 'open', contents: [shared], endedAt: null });
    await wholeRun(today, { run: 'unsettled', contents: [Buffer.from('u')], effect: 'unresolved' });
    const view = async (store: Store) => [
      await store.runs.list(TENANT),
      ...(await Promise.all(['old', 'open', 'unsettled'].map((run) => store.attempts.list(TENANT, run)))),
      await store.effects.list(TENANT, 'unsettled'),
    ];
    const before = await view(today);
    await today.close();
    await asBefore(from.url, to.url);

    const store = await openStore(to.url);
    onTestFinished(() => store.close());
    expect(await view(store)).toEqual(before);
    for (const run of ['old', 'open', 'unsettled']) await readAll(store, TENANT, run);
    // A put that was killed long ago, beside: the next collection clears it away, its dry run does not.
    await within(to.url, (db) => sql`insert into blob_puts values (${'0'.repeat(64)}, 'x', 1)`.execute(db));

    const at = Date.now();
    const without = new Set([`${TENANT}/old`]);
    const untouched = await everything(to.url);
    for (const old of [at - 1, at + DAY])
      expect((await store.retention.sweep({ before: old, at, dryRun: true, without })).bytes).toEqual([]);
    expect(await everything(to.url)).toEqual(untouched);

    const collected = { tenant: TENANT, run: 'old', before: 20_000, by: 'ada', at };
    expect(await store.retention.collect(collected)).toMatchObject({ kept: null, rows: { attempts: 2 } });
    // What has no age may have been put a moment ago: it is given one.
    expect((await store.retention.sweep({ before: at - 1, at, dryRun: false })).bytes).toEqual([]);
    for (const bytes of [own, large, shared]) expect(await isThere(store, bytes)).toBe(true);

    const dated = await everything(to.url);
    expect(dated).not.toEqual(untouched);
    const dry = await store.retention.sweep({ before: at + DAY, at, dryRun: true });
    expect(await everything(to.url)).toEqual(dated);
    expect(dry.bytes.reduce((sum, { objects }) => sum + objects, 0)).toBe(4); // and two results, one of them never told
    expect(await store.retention.sweep({ before: at + DAY, at, dryRun: false })).toEqual(dry);
    expect(await Promise.all([own, large, shared].map((bytes) => isThere(store, bytes)))).toEqual([
      false,
      false,
      true,
    ]);
    for (const run of ['open', 'unsettled']) expect(await readAll(store, TENANT, run)).toBe(1);
    expect(await isThere(store, Buffer.from('Be brief.'))).toBe(true); // an attachment
  });
});
