/**
 * The owner of the effect that is interrupted: a service of its own, made with the kit, with a database of its own in which it
 * counts what it did and notes who asked for what. Argument: one JSON object.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Database from 'better-sqlite3';
import {
  effectOwner,
  effectRoutes,
  httpAuthority,
  peekAuthority,
  sqliteEngine,
  type EffectCall,
  type EffectOwner,
} from '../src/effects/index.js';
import type { EffectCall as Call } from './model.js';

export interface OwnerInput {
  readonly database: string;
  /** Address of the control worker's authority check. */
  readonly authority: string;
}

const { database: file, authority } = JSON.parse(process.argv[2] ?? '') as OwnerInput;
const database = new Database(file);
database.pragma('journal_mode = WAL');
database.exec(`
  create table acts (id integer primary key, effect_key text not null);
  -- In order of arrival; no answer: it has not been given yet.
  create table calls (id integer primary key, call text not null, attempt text not null, effect_key text not null, answer text);
`);
const kit = effectOwner({ engine: sqliteEngine(database), authority: httpAuthority(authority) });
await kit.migrate();

/** Notes the call, and what it comes to: the state on record, or the code of a refusal. */
async function noted<T extends { readonly state: string }>(
  call: Call,
  { authority: token, key }: EffectCall,
  answering: () => Promise<T>,
): Promise<T> {
  const { lastInsertRowid: id } = database
    .prepare('insert into calls (call, attempt, effect_key) values (?, ?, ?)')
    .run(call, peekAuthority(token).attempt, key);
  const note = (answer: string): void =>
    void database.prepare('update calls set answer = ? where id = ?').run(answer, id);
  try {
    const answer = await answering();
    note(answer.state);
    return answer;
  } catch (error) {
    note((error as { code?: string }).code ?? String(error));
    throw error;
  }
}

const owner: EffectOwner<Database.Database, 'sync'> = {
  ...kit,
  commit: (call, work) => noted('send', call, () => kit.commit(call, work)),
  lookup: (call) => noted('lookup', call, () => kit.lookup(call)),
};
const routes = effectRoutes<Database.Database, 'sync'>({
  owner,
  commit: (trx, _request, { key }) => ({
    act: Number(trx.prepare('insert into acts (effect_key) values (?)').run(key).lastInsertRowid),
  }),
});
const server = createServer((request, response) => routes(request, response));
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`serving http://127.0.0.1:${port}/effects\n`);
});
