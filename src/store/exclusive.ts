/**
 * One writer at a time. The rules of the store are written as if nobody else wrote in between: SQLite gives that for the whole
 * file (BEGIN IMMEDIATE), Postgres for one thing at a time by an advisory lock, held to the end of the transaction and given up
 * with the connection. Whatever changes a slot's attempts, leases, effects or artifacts takes the slot's lock first. After it a
 * claim takes its run's lock, and a save that of its bytes, both shared ({@link alongside}); who has one of those to himself (the
 * collection, and a put) takes no other. So nothing waits in a circle.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { BatonError } from '../domain/errors.js';
import { engineOf } from './migrations/ddl.js';
import type { Db } from './schema.js';

/** What the writer has to itself. */
export type Thing = readonly [kind: 'slot' | 'revisions' | 'bytes' | 'run', ...name: string[]];

export const slotOf = ({ tenant, run, slot }: { tenant: string; run: string; slot: string }): Thing => [
  'slot',
  tenant,
  run,
  slot,
];

/** Serialization failure and deadlock: nothing was written, and the same once more can succeed. */
const AGAIN = ['40001', '40P01'];
const TRIES = 4;

/**
 * Runs the work in a transaction during which nobody else writes the same thing. The lock comes first, so every read of the
 * work sees what the writer before has committed.
 * @param work may be run again, when the engine asks for that; it must do nothing outside the transaction
 * @throws what the work throws; `StoreUnavailable` when the lock is not to be had in the engine's time
 */
export async function exclusively<T>(db: Db, thing: Thing, work: (trx: Db) => Promise<T>): Promise<T> {
  if (engineOf(db) === 'sqlite') return db.transaction().execute(work);
  const locked = async (trx: Db): Promise<T> => {
    // A hash of 64 bits: two things that share it wait for each other, and nothing worse.
    await sql`select pg_advisory_xact_lock(hashtextextended(${JSON.stringify(thing)}, 0))`.execute(trx);
    return work(trx);
  };
  for (let turn = 1; ; turn += 1) {
    try {
      return await db.transaction().execute(locked);
    } catch (error) {
      if (turn >= TRIES || !isAgain(error)) throw error;
      await sleep(10 * 2 ** turn * (0.5 + Math.random()));
    }
  }
}

/**
 * In a transaction: keeps others from having the thing to themselves until its end; several may be alongside at once. What is
 * read after it is as the last of those others has left it.
 */
export async function alongside(trx: Db, thing: Thing): Promise<void> {
  if (engineOf(trx) === 'sqlite') return;
  await sql`select pg_advisory_xact_lock_shared(hashtextextended(${JSON.stringify(thing)}, 0))`.execute(trx);
}

const isAgain = (error: unknown): boolean =>
  error instanceof BatonError && AGAIN.includes(String(error.details['engineCode']));
