/** What is Postgres's own; the rest is in conformance.test.ts and concurrency.test.ts. */
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openStore } from '../../src/store/open.js';
import type { Store } from '../../src/store/port.js';
import { freshDatabase, noPostgres, rowsOf, type Database } from '../support/databases.js';
import { administer } from '../support/postgres.js';
import { attachment, claimInput, fenceOf, settleInput } from './inputs.js';

describe.skipIf(noPostgres !== null)(noPostgres === null ? 'postgres' : `skipped: ${noPostgres}`, () => {
  let database: Database;
  const opened: Store[] = [];
  const open = async (change: (url: URL) => void = () => undefined): Promise<Store> => {
    const url = new URL(database.url);
    change(url);
    const store = await openStore(url.href);
    opened.push(store);
    return store;
  };
  beforeEach(async () => {
    database = await freshDatabase();
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((store) => store.close()));
    await database.drop();
  });

  it('says engine and place, and keeps all in the database', async () => {
    const store = await open((url) => (url.password = 'secret'));
    const shown = database.url;
    expect(store.describe()).toEqual({ engine: 'postgres', location: shown });
    const ref = await store.attempts.claim(claimInput());
    const again = await open();
    expect(await again.key()).toEqual(await store.key());
    expect(await again.attempts.get('acme', 'r1', ref.attempt)).toMatchObject({ epoch: 1 });
  });

  it('refuses a database of another version, one without a store where none is to be made, another encoding', async () => {
    await expect(openStore(database.url, { create: false })).rejects.toThrow(/no store in this database/);
    await open();
    await expect(openStore(database.url, { create: false }).then((store) => store.close())).resolves.toBe(
      undefined,
    );
    await administer(
      database.url,
      `insert into kysely_migration (name, timestamp) values ('9999-later', '2999-01-01T00:00:00Z')`,
    );
    await expect(openStore(database.url)).rejects.toMatchObject({
      code: 'StoreUnavailable',
      message: expect.stringMatching(/another version/),
    });
    const ascii = await freshDatabase(`encoding 'SQL_ASCII' template template0`);
    await expect(openStore(ascii.url)).rejects.toMatchObject({
      code: 'StoreUnavailable',
      message: expect.stringMatching(/encoding SQL_ASCII/),
    });
    await ascii.drop();
  });

  it('is made in the first schema of the search path, beside another store', async () => {
    await open();
    await administer(database.url, 'create schema other');
    const other = await open((url) => url.searchParams.set('options', '-c search_path=other'));
    const [mine, theirs] = await Promise.all([opened[0]?.key(), other.key()]);
    expect(theirs).not.toEqual(mine);
    expect(
      await rowsOf(
        database.url,
        `select schemaname from pg_tables where tablename = 'attempts' order by schemaname`,
      ),
    ).toEqual([{ schemaname: 'other' }, { schemaname: 'public' }]);
  });

  it('needs no right to change a schema that is up to date', async () => {
    await open();
    const role = `reader_${Date.now()}`;
    await administer(
      database.url,
      `create role ${role} login`,
      `grant select, insert, update, delete on all tables in schema public to ${role}`,
      `revoke create on schema public from public`,
    );
    const store = await open((url) => (url.username = role));
    expect((await store.attempts.claim(claimInput())).epoch).toBe(1);
    await store.close();
    await administer(database.url, `drop owned by ${role}`, `drop role ${role}`);
  });

  it('goes on after all its connections were cut, idle ones and one in the middle', async () => {
    const store = await open();
    await Promise.all(
      Array.from({ length: 6 }, (_, i) => store.attempts.claim(claimInput({ slot: `s${i}` }))),
    );
    const cut = `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`;
    await administer(database.url, cut);
    const after = await store.attempts.claim(claimInput({ slot: 'next' })).catch((error: unknown) => error);
    if (after instanceof Error) expect(after).toMatchObject({ code: 'StoreUnavailable' });
    // A writer that waits for a lock when it is cut: unavailable, and nothing of it is there.
    const holder = new pg.Client({ connectionString: database.url });
    await holder.connect();
    await holder.query('begin');
    await holder.query('lock table attempts in exclusive mode');
    const waiting = store.attempts.claim(claimInput({ slot: 'cut' })).catch((error: unknown) => error);
    await expect
      .poll(() =>
        rowsOf(
          database.url,
          `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
        ),
      )
      .toHaveLength(1);
    await administer(database.url, `${cut} and wait_event_type = 'Lock'`);
    expect(await waiting).toMatchObject({ code: 'StoreUnavailable' });
    await holder.query('rollback');
    await holder.end();
    expect(await store.attempts.list('acme', 'r1', 'cut')).toEqual([]);
    expect((await store.attempts.claim(claimInput({ slot: 'cut' }))).epoch).toBe(1);
  });

  it('is unavailable after waiting for a lock and after a statement’s time, and goes on when it is free', async () => {
    const store = await open((url) => url.searchParams.set('statementTimeoutMs', '500'));
    const holder = new pg.Client({ connectionString: database.url });
    await holder.connect();
    await holder.query('begin');
    await holder.query('lock table attempts in exclusive mode');
    await expect(store.attempts.claim(claimInput())).rejects.toMatchObject({
      code: 'StoreUnavailable',
      details: { engineCode: '57014' },
    });
    await holder.query('rollback');
    await holder.end();
    expect((await store.attempts.claim(claimInput())).epoch).toBe(1);
  });

  it('runs a deadlock’s victim again, and serves more callers than it has connections', async () => {
    const store = await open((url) => url.searchParams.set('poolSize', '2'));
    const refs = await Promise.all(
      Array.from({ length: 30 }, (_, i) => store.attempts.claim(claimInput({ slot: `s${i}` }))),
    );
    expect(refs).toHaveLength(30);
    // Fails as a deadlock does, twice: the third time it goes through.
    await administer(
      database.url,
      'create sequence tries',
      `create function once_more() returns trigger language plpgsql as $$ begin
         if nextval('tries') < 3 then raise exception 'victim' using errcode = '40P01'; end if; return new; end $$`,
      'create trigger once_more before insert on attempts for each row execute function once_more()',
    );
    expect((await store.attempts.claim(claimInput({ slot: 'victim' }))).epoch).toBe(1);
    expect(await rowsOf(database.url, 'select last_value::int as n from tries')).toEqual([{ n: 3 }]);
  });

  it('reads and writes committed data, whatever the database’s default is', async () => {
    const [{ name }] = (await rowsOf<{ name: string }>(
      database.url,
      'select current_database() as name',
    )) as [{ name: string }];
    await administer(
      database.url,
      `alter database ${name} set default_transaction_isolation = 'serializable'`,
      `alter database ${name} set synchronous_commit = off`,
    );
    const store = await open();
    const refs = await Promise.all(
      Array.from({ length: 20 }, () => store.attempts.claim(claimInput({ slot: 'one' }))),
    );
    expect(new Set(refs.map((ref) => ref.epoch)).size).toBe(20);
  });

  it('sorts texts byte by byte, tells case apart, and keeps any text', async () => {
    const store = await open();
    const at = 1;
    for (const run of ['b', 'B', 'a', '_', 'é'])
      await store.runs.create({
        tenant: 'acme',
        run,
        digest: 'd',
        pins: {} as never,
        input: '\u0000 \u{1f600}',
        createdAt: at,
      });
    expect((await store.runs.list('acme')).map(({ run }) => run)).toEqual(['é', 'b', 'a', '_', 'B']);
    expect(await store.runs.list('Acme')).toEqual([]);
    expect((await store.runs.get('acme', 'a'))?.input).toBe('\u0000 \u{1f600}');
  });

  it('has invariants that no SQL breaks: I1 both ways, I2, I3', async () => {
    const store = await open();
    const ended = fenceOf(await store.attempts.claim(claimInput()));
    await store.attempts.attach({ fence: ended, attachment: attachment(), at: 1 });
    await store.attempts.settle(settleInput(ended));
    const live = fenceOf(await store.attempts.claim(claimInput()));
    await store.attempts.attach({ fence: live, attachment: attachment(), at: 1 });
    for (const statement of [
      `update attempts set worker_status = 'failed', end_kind = 'failure' where attempt = '${live.attempt}'`,
      `update leases set status = 'released' where attempt = '${live.attempt}'`,
      `insert into leases (tenant, run, slot, attempt, lease, epoch, status, claim_id, claim_try, host_queue, ttl_ms)
         select tenant, run, slot, 'a-2', 'l-2', 99, 'live', 'c2', 1, host_queue, ttl_ms from leases where status = 'live'`,
      `update leases set status = 'live' where attempt = '${ended.attempt}'`,
      `update attempts set failure = null where attempt = '${ended.attempt}'`,
      `delete from attempts where attempt = '${ended.attempt}'`,
      `delete from leases where attempt = '${ended.attempt}'`,
      `update leases set epoch = ${ended.epoch} where attempt = '${live.attempt}'`,
    ])
      await expect(administer(database.url, statement), statement).rejects.toThrow(
        /constraint|never changes|kept for ever/i,
      );
  });

  it('keeps large bytes as rows, repairs damaged ones, and never hands out wrong ones', async () => {
    const store = await open();
    const bytes = Buffer.alloc(2_500_000, 7);
    const { digest } = await store.artifacts.putBytes(bytes);
    const parts = () => rowsOf(database.url, 'select length(bytes) as n from blob_parts order by part');
    expect(await parts()).toEqual([{ n: 1_048_576 }, { n: 1_048_576 }, { n: 402_848 }]);
    await administer(database.url, 'delete from blob_parts where part = 1');
    await expect(store.artifacts.readBytes(digest)).rejects.toMatchObject({ code: 'ArtifactMismatch' });
    await administer(database.url, 'delete from blob_parts');
    await expect(store.artifacts.readBytes(digest)).rejects.toMatchObject({ code: 'ArtifactMissing' });
    await store.artifacts.putBytes(bytes);
    expect(Buffer.compare(Buffer.from(await store.artifacts.readBytes(digest)), bytes)).toBe(0);
    await expect(openStore(database.url, { blobs: 'files' })).rejects.toMatchObject({
      code: 'InvalidCommand',
      message: expect.stringMatching(/`files` is not for this engine/),
    });
  });
});
