/**
 * The owner's side: a commit through the effect-owner kit beside the same write in a bare transaction, on the same database
 * file, interleaved. The authority check is left out of both (it is measured apart): what is asked is what fence, key and
 * record cost.
 */
import path from 'node:path';
import Database from 'better-sqlite3';
import { sqliteEngine } from '../../src/effects/owner/engines.js';
import { effectOwner } from '../../src/effects/owner/owner.js';
import { spread, type Spread } from '../overhead/statistics.js';
import { interleaved } from './timing.js';

export interface KitCost {
  readonly bareUs: Spread;
  readonly commitUs: Spread;
  /** The same key again: answered from the record. */
  readonly repeatUs: Spread;
  readonly lookupUs: Spread;
}

/** @param times effects of each kind that count */
export async function measureKit(folder: string, times: number): Promise<KitCost> {
  const database = new Database(path.join(folder, 'owner.db'));
  try {
    database.pragma('journal_mode = WAL');
    // As for money: what was answered survives a power cut.
    database.pragma('synchronous = FULL');
    database.exec('create table payments (id integer primary key, amount integer not null)');
    const pay = database.prepare('insert into payments (amount) values (?)');
    const owner = effectOwner({
      engine: sqliteEngine(database),
      authority: async () => ({ tenant: 't', run: 'r', slot: 's', attempt: 'a', epoch: 1 }),
    });
    await owner.migrate();
    const transaction = database.transaction((amount: number) => Number(pay.run(amount).lastInsertRowid));
    const bare = (amount: number) => transaction.immediate(amount);
    const call = (i: number) => ({ authority: 'a', key: `k${i}`, request: { amount: i } });
    const commit = (i: number) =>
      owner.commit(call(i), () => ({ payment: Number(pay.run(i).lastInsertRowid) }));
    const [bareUs, commitUs] = await interleaved(times, bare, commit);
    const [repeatUs, lookupUs] = await interleaved(times, commit, (i) => owner.lookup(call(i)));
    return {
      bareUs: spread(bareUs),
      commitUs: spread(commitUs),
      repeatUs: spread(repeatUs),
      lookupUs: spread(lookupUs),
    };
  } finally {
    database.close();
  }
}
