/** What is SQLite's own; the rest is in conformance.test.ts. */
import { chmod, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { sha256 } from '../../src/store/canonical.js';
import { openStore } from '../../src/store/open.js';
import { collect } from '../../src/store/verified.js';
import { attachment, claimInput, fenceOf, settleInput } from './inputs.js';

const scratch = () => mkdtemp(path.join(tmpdir(), 'baton-store-'));

describe('sqlite', () => {
  let directory: string;
  let url: string;
  let file: string;
  beforeEach(async () => {
    directory = await scratch();
    file = path.join(directory, 'x.db');
    url = `sqlite:${file}`;
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await rm(directory, { recursive: true });
  });
  const raw = <T>(use: (db: Database.Database) => T): T => {
    const db = new Database(file);
    try {
      db.pragma('foreign_keys = ON');
      return use(db);
    } finally {
      db.close();
    }
  };

  it.each(['', 'x.db', 'mysql://h', 'sqlite:', 'sqlite::mem:', 'sqlite:///x', 'sqlite:./dir/'])(
    'refuses the address %j, naming the field and the forms, not the password',
    async (address) => {
      const error = await openStore(address).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'InvalidCommand', details: { field: 'store' } });
      expect(String(error)).toContain('sqlite:./file.db');
      expect(String(error)).not.toContain('secret');
    },
  );

  it('keeps all in the file, named from the working directory too', async () => {
    const store = await openStore(`sqlite:${path.relative(process.cwd(), file)}`);
    expect(store.describe()).toEqual({ engine: 'sqlite', location: file });
    const key = await store.key();
    const ref = await store.attempts.claim(claimInput());
    await store.close();
    const again = await openStore(url);
    expect(await again.key()).toEqual(key);
    expect(await again.attempts.get('acme', 'r1', ref.attempt)).toMatchObject({ epoch: 1 });
    await again.close();
  });

  it('shares one file between stores of one process without stopping each other', async () => {
    const stores = await Promise.all(Array.from({ length: 4 }, () => openStore(url)));
    const started = performance.now();
    const claims = stores.flatMap((store, n) =>
      Array.from({ length: 10 }, (_, i) => store.attempts.claim(claimInput({ slot: `s${n}.${i}` }))),
    );
    await Promise.all(claims);
    expect(performance.now() - started).toBeLessThan(4_000);
    const keys = await Promise.all(stores.map((store) => store.key()));
    expect(new Set(keys.map((key) => Buffer.from(key).toString('hex'))).size).toBe(1);
    await Promise.all(stores.map((store) => store.close()));
  });

  it('is unavailable, with the cause, when the place, the file or the lock is not to be had', async () => {
    await expect(openStore(`sqlite:${directory}/none/x.db`)).rejects.toMatchObject({
      code: 'StoreUnavailable',
    });
    await writeFile(file, 'no database, '.repeat(100));
    const error = await openStore(url).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'StoreUnavailable', cause: { code: 'SQLITE_NOTADB' } });
  });

  it('is unavailable after waiting for a lock, not before, and goes on when it is free', async () => {
    const store = await openStore(url);
    const other = new Database(file);
    other.exec('begin immediate');
    const claim = store.attempts.claim(claimInput());
    const started = performance.now();
    await expect(claim).rejects.toMatchObject({ code: 'StoreUnavailable', cause: { code: 'SQLITE_BUSY' } });
    expect(performance.now() - started).toBeGreaterThan(4_000);
    other.exec('rollback');
    other.close();
    await expect(store.attempts.claim(claimInput())).resolves.toMatchObject({ epoch: 1 });
    await store.close();
  });

  it('refuses a second machine, and takes the file over when told so', async () => {
    await (await openStore(url)).close();
    raw((db) => db.prepare(`update meta set value = ? where name = 'machine'`).run(Buffer.from('elsewhere')));
    const error = await openStore(url).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'StoreUnavailable' });
    expect(String(error)).toMatch(/Postgres.*BATON_STORE_MOVED=1/);
    vi.stubEnv('BATON_STORE_MOVED', '1');
    await (await openStore(url)).close();
    vi.unstubAllEnvs();
    await (await openStore(url)).close();
  });

  it('refuses a file of another version', async () => {
    await (await openStore(url)).close();
    raw((db) =>
      db.exec(`insert into kysely_migration (name, timestamp) values ('9999-later', '2999-01-01T00:00:00Z')`),
    );
    await expect(openStore(url)).rejects.toThrow(/another version/);
  });

  it('puts large bytes into files, repairs damaged ones, and never hands out wrong ones', async () => {
    const store = await openStore(url);
    const bytes = Buffer.alloc(100_000, 7);
    const { digest } = await store.artifacts.putBytes(bytes);
    const blob = path.join(`${file}.blobs`, digest.slice(0, 2), digest);
    expect((await stat(blob)).size).toBe(100_000);
    expect(await readdir(path.join(`${file}.blobs`, 'tmp'))).toEqual([]);
    await truncate(blob, 99_999);
    const stream = await store.artifacts.readStream(digest);
    await expect(collect(stream)).rejects.toMatchObject({ code: 'ArtifactMismatch' });
    await expect(store.artifacts.readBytes(digest)).rejects.toMatchObject({ code: 'ArtifactMismatch' });
    await rm(blob);
    await expect(store.artifacts.readBytes(digest)).rejects.toMatchObject({ code: 'ArtifactMissing' });
    await store.artifacts.putBytes(bytes);
    expect(sha256(await readFile(blob))).toBe(digest);
    const small = await store.artifacts.putBytes(Buffer.from('small'));
    raw((db) =>
      db.prepare('update blobs set bytes = ? where digest = ?').run(Buffer.from('SMALL'), small.digest),
    );
    await expect(store.artifacts.readBytes(small.digest)).rejects.toMatchObject({ code: 'ArtifactMismatch' });
    await store.artifacts.putBytes(Buffer.from('small'));
    expect(Buffer.from(await store.artifacts.readBytes(small.digest)).toString()).toBe('small');
    await store.close();
  });

  it('a success whose bytes were lost after staging is an end from outside', async () => {
    const store = await openStore(url);
    const fence = fenceOf(await store.attempts.claim(claimInput()));
    await store.attempts.attach({ fence, attachment: attachment(), at: 1 });
    const { digest } = await store.artifacts.putBytes(Buffer.alloc(70_000));
    const { id } = await store.attempts.stage({ fence, kind: 'completion', result: digest, failure: null });
    await rm(`${file}.blobs`, { recursive: true });
    expect(await store.attempts.settle(settleInput(fence, { end: 'success', staged: id }))).toMatchObject({
      end: 'outside',
    });
    await store.close();
  });

  it('says which pinned content is damaged', async () => {
    const store = await openStore(url);
    const document = {
      tenant: 'acme',
      kind: 'package',
      name: 'p',
      revision: null,
      content: { a: 1 },
      accept: true,
      actor: 'ada',
      at: 1,
    } as const;
    const { digest } = await store.revisions.publish(document);
    for (const content of ['{"a":2}', 'no json']) {
      raw((db) => db.prepare('update revisions set content = ?').run(content));
      const read = store.revisions.pinned('acme', 'package', { ref: 'p@1', digest });
      await expect(read).rejects.toMatchObject({ code: 'PinsDamaged', details: { ref: 'p@1' } });
    }
    await store.close();
  });

  it('has invariants that no SQL breaks: I1 both ways, I2, I3', async () => {
    const store = await openStore(url);
    const ended = fenceOf(await store.attempts.claim(claimInput()));
    await store.attempts.attach({ fence: ended, attachment: attachment(), at: 1 });
    await store.attempts.settle(settleInput(ended));
    const live = fenceOf(await store.attempts.claim(claimInput()));
    await store.attempts.attach({ fence: live, attachment: attachment(), at: 1 });
    const sets: readonly (readonly [string, string])[] = [
      [
        'I1',
        `update attempts set worker_status = 'failed', end_kind = 'failure' where attempt = '${live.attempt}'`,
      ],
      ['I1', `update leases set status = 'released' where attempt = '${live.attempt}'`],
      [
        'I2',
        `insert into leases (tenant, run, slot, attempt, lease, epoch, status, claim_id, claim_try, host_queue, ttl_ms)
              select tenant, run, slot, 'a-2', 'l-2', 99, 'live', 'c2', 1, host_queue, ttl_ms from leases where status = 'live'`,
      ],
      ['I3', `update leases set status = 'live' where attempt = '${ended.attempt}'`],
      ['I3', `update attempts set failure = null where attempt = '${ended.attempt}'`],
      ['I3', `delete from attempts where attempt = '${ended.attempt}'`],
      ['epoch', `update leases set epoch = ${ended.epoch} where attempt = '${live.attempt}'`],
    ];
    for (const [name, statement] of sets) {
      expect(() => raw((db) => db.exec(statement)), name).toThrow(/constraint|never changes|kept for ever/i);
    }
    await store.close();
  });

  it.skipIf(process.getuid?.() === 0)('is unavailable when it may not write', async () => {
    await (await openStore(url)).close();
    await chmod(file, 0o444);
    await expect(openStore(url)).rejects.toMatchObject({ code: 'StoreUnavailable' });
  });
});
