/** The kit on SQLite: by a better-sqlite3 handle, and by Kysely. */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import Database from 'better-sqlite3';
import { Kysely, sql, SqliteDialect, type Transaction } from 'kysely';
import { afterEach, expect, it } from 'vitest';
import { effectOwner } from '../../../src/effects/owner/owner.js';
import { kyselyEngine, sqliteEngine } from '../../../src/effects/owner/engines.js';
import { authorityOf, ownerConformance, type Subject } from './conformance.js';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function freshFile(): Promise<string> {
  const dir = await mkdtemp(path.join(os.tmpdir(), 'baton-owner-'));
  ends.push(() => rm(dir, { recursive: true, force: true }));
  const file = path.join(dir, 'owner.db');
  const database = new Database(file);
  database.pragma('journal_mode = WAL');
  database.exec('create table book (entry text not null)');
  database.close();
  return file;
}

function openHandle(file: string): Database.Database {
  const database = new Database(file);
  ends.push(async () => database.close());
  return database;
}

ownerConformance('better-sqlite3', async (authority) => {
  const file = await freshFile();
  const subject = (): Subject => {
    const database = openHandle(file);
    const owner = effectOwner({ engine: sqliteEngine(database), authority: authority.check });
    return {
      owner: owner as never,
      write: (entry, then = {}) =>
        ((trx: Database.Database) => {
          trx.prepare('insert into book values (?)').run(entry);
          if (then.throws !== undefined) throw then.throws;
          return then.answer;
        }) as never,
      entries: async () =>
        database.prepare<[], string>('select entry from book order by rowid').pluck().all(),
    };
  };
  return { subject: subject(), another: async () => subject() };
});

interface Book {
  book: { entry: string };
}

ownerConformance('Kysely on SQLite', async (authority) => {
  const file = await freshFile();
  const subject = (): Subject => {
    const db = new Kysely<Book>({ dialect: new SqliteDialect({ database: new Database(file) }) });
    ends.push(() => db.destroy());
    const owner = effectOwner({ engine: kyselyEngine(db, 'sqlite'), authority: authority.check });
    return {
      owner: owner as never,
      write: (entry, then = {}) =>
        (async (trx: Transaction<Book>) => {
          await trx.insertInto('book').values({ entry }).execute();
          if (then.throws !== undefined) throw then.throws;
          return then.answer;
        }) as never,
      entries: async () =>
        (
          await db
            .selectFrom('book')
            .select('entry')
            .orderBy(sql`rowid`)
            .execute()
        ).map(({ entry }) => entry),
    };
  };
  const one = subject();
  return { subject: one, another: async () => one };
});

it('refuses async work in a better-sqlite3 transaction before it writes, and an open transaction', async () => {
  const database = openHandle(await freshFile());
  const owner = effectOwner({ engine: sqliteEngine(database), authority: authorityOf().check });
  await owner.migrate();
  const insert = () => database.prepare('insert into book values (?)').run('x');
  const call = { authority: 's/1', key: 'k', request: 1 };
  const asyncWork = async () => {
    insert();
    return null;
  };
  await expect(owner.commit(call, asyncWork as never)).rejects.toThrow(
    expect.objectContaining({ code: 'InvalidCommand' }),
  );
  await expect(
    owner.commit(call, (() => Promise.resolve(insert()).then(() => null)) as never),
  ).rejects.toThrow(expect.objectContaining({ code: 'InvalidCommand' }));
  database.exec('begin');
  await expect(owner.lookup({ authority: 's/1', key: 'k' })).rejects.toThrow(
    expect.objectContaining({ code: 'Internal' }),
  );
  database.exec('rollback');
  expect(database.prepare('select count(*) from book').pluck().get()).toBe(0);
  expect(await owner.lookup({ authority: 's/1', key: 'k' })).toEqual({ state: 'absent' });
});

it('keeps its tables under the prefix that is asked for, and refuses one that is no name', async () => {
  const database = openHandle(await freshFile());
  const authority = authorityOf().check;
  await effectOwner({ engine: sqliteEngine(database), authority, prefix: 'pay' }).migrate();
  const names = database
    .prepare("select name from sqlite_master where type = 'table' order by name")
    .pluck()
    .all();
  expect(names).toEqual(['book', 'pay_effects', 'pay_fences']);
  for (const prefix of ['', 'Pay', 'a;drop', 'x'.repeat(41)])
    expect(() => effectOwner({ engine: sqliteEngine(database), authority, prefix })).toThrow(
      expect.objectContaining({ code: 'InvalidCommand' }),
    );
});
