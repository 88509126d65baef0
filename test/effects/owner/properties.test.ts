/**
 * Whatever the order in which attempts come, stall, lose answers and give up: at an owner that uses the kit an effect is done at
 * most once, what anybody was told is what the owner's own book says, and nothing older lands after a later epoch was seen.
 */
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BatonError } from '../../../src/domain/errors.js';
import { sqliteEngine } from '../../../src/effects/owner/engines.js';
import { effectOwner } from '../../../src/effects/owner/owner.js';
import { EffectRejected } from '../../../src/effects/outcome.js';
import { authorityOf } from './conformance.js';

/** What one attempt does at one moment. `stall`: its yes is in hand, and it goes on only after the next acts. */
const act = fc.record({
  epoch: fc.integer({ min: 1, max: 6 }),
  key: fc.constantFrom('a', 'b'),
  what: fc.constantFrom('commit', 'accept', 'finish', 'cancel', 'lookup'),
  /** How the owner's own work goes. */
  work: fc.constantFrom('done', 'done', 'done', 'rejected', 'broken'),
  stall: fc.integer({ min: 0, max: 3 }),
});

type Told = { state: string; receipt?: unknown; handle?: unknown };

test('at most once, and told as it is', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 25 }), async (acts) => {
      const database = new Database(':memory:');
      database.exec(
        'create table book (n integer primary key, key text not null, epoch integer not null, kind text not null)',
      );
      const authority = authorityOf();
      // Each call waits for its own turn between the check's yes and the transaction.
      const turns: (() => void)[][] = acts.map(() => []);
      let at = 0;
      const owner = effectOwner({
        engine: sqliteEngine(database),
        authority: async (token, options) => {
          const fence = await authority.check(token, options);
          const turn = Math.min(acts.length - 1, at + (acts[at]?.stall ?? 0));
          if (turn > at) await new Promise<void>((resolve) => turns[turn]!.push(resolve));
          return fence;
        },
      });
      await owner.migrate();
      const book = database.prepare<[], { key: string; epoch: number; kind: string }>(
        'select key, epoch, kind from book order by n',
      );
      const told: { key: string; epoch: number; answer: Told }[] = [];
      const calls: Promise<unknown>[] = [];
      for (const [i, { epoch, key, what, work }] of acts.entries()) {
        at = i;
        const write = (kind: string) => (trx: Database.Database) => {
          trx.prepare('insert into book (key, epoch, kind) values (?, ?, ?)').run(key, epoch, kind);
          if (work === 'rejected') throw new EffectRejected({ code: 'No', message: 'no' });
          if (work === 'broken') throw new Error('broken');
          return { by: epoch };
        };
        const call = { authority: `s/${epoch}`, key };
        const done = {
          commit: () => owner.commit({ ...call, request: 1 }, write('do')),
          accept: () => owner.accept({ ...call, request: 1 }, write('do')),
          finish: () => owner.finish({ tenant: 't', run: 'r', slot: 's', key }, write('end')),
          cancel: () => owner.cancel(call, write('stop')),
          lookup: () => owner.lookup(call),
        }[what]();
        calls.push(
          done.then(
            (answer) => void told.push({ key, epoch, answer: answer }),
            (error: unknown) => {
              const known =
                error instanceof BatonError && ['StaleLease', 'InvalidCommand'].includes(error.code);
              if (!known && !(error instanceof Error && /broken|refused/.test(error.message))) throw error;
            },
          ),
        );
        // Whoever waited for this moment goes on now, before the next act.
        await Promise.resolve();
        for (const wake of turns[i]!.splice(0)) wake();
        await new Promise((resolve) => setImmediate(resolve));
      }
      await Promise.all(calls);

      const entries = book.all();
      for (const key of ['a', 'b']) {
        const mine = entries.filter((entry) => entry.key === key);
        for (const kind of ['do', 'end', 'stop'])
          expect(mine.filter((entry) => entry.kind === kind).length, `${kind} of ${key}`).toBeLessThanOrEqual(
            1,
          );
        // It ends in one way: finished or stopped, and neither before it was begun.
        expect(mine.filter(({ kind }) => kind !== 'do').length).toBeLessThanOrEqual(1);
        if (mine.length > 0) expect(mine[0]?.kind).toBe('do');
        const final = await owner.lookup({ authority: 's/9', key });
        for (const { answer } of told.filter((one) => one.key === key)) {
          // What has ended stays as it was told; receipts are one.
          if (answer.state === 'committed' || answer.state === 'rejected')
            expect(final).toMatchObject({ state: answer.state });
          if (answer.state === 'committed') expect(final).toMatchObject({ receipt: answer.receipt });
        }
        if (final.state === 'absent') expect(mine).toEqual([]);
        if (final.state === 'committed') expect(mine.filter(({ kind }) => kind === 'do')).toHaveLength(1);
      }
      // Acts under the fence land in the order of epochs.
      const fenced = entries.filter(({ kind }) => kind !== 'end').map(({ epoch }) => epoch);
      expect(fenced).toEqual([...fenced].sort((x, y) => x - y));
      database.close();
    }),
    { numRuns: 300 },
  );
});
