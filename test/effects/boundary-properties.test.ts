/**
 * Over random crashes (before or after any call of the store, in the middle of a sending) and random answers lost, an effect is
 * committed at most once, and what is recorded and returned is what its owner says. Against a store that SQLite is, and an owner
 * that would do twice whatever it is sent twice.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openStore } from '../../src/store/open.js';
import type { Store } from '../../src/store/port.js';
import { watchStore } from '../../src/testing/watch-store.js';
import { at, attempt, owner, RUN, type Held, type Trouble } from './boundary-kit.js';

interface Life {
  /** Call of the store at which the process dies, and whether that call was still carried out; null: it lives on. */
  readonly crash: { readonly call: number; readonly after: boolean } | null;
  readonly troubles: readonly Trouble[];
}

const troubles = fc.array(
  fc.constantFrom<Trouble>('none', 'none', 'request lost', 'answer lost', 'unknown'),
  { maxLength: 5 },
);
const crash = fc.option(fc.record({ call: fc.nat(4), after: fc.boolean() }), { freq: 3 });
const lives = fc.array(fc.record<Life>({ crash, troubles }), { minLength: 1, maxLength: 5 });

/** The store as a process that dies sees it: from its death on no call of it comes to an end. */
function mortal(store: Store, { crash: death }: Life, die: () => void): Store {
  let calls = 0;
  let dead = false;
  return watchStore(store, async ({ name }, proceed) => {
    if (dead) return new Promise(() => undefined);
    const mine = name.startsWith('effects.') && calls++ === death?.call;
    if (!mine) return proceed();
    dead = true;
    if (death.after) await proceed();
    die();
    return new Promise(() => undefined);
  });
}

it.each([true, false])(
  'at most once, and as the owner says (with lookup: %s)',
  async (withLookup) => {
    await fc.assert(
      fc.asyncProperty(lives, fc.boolean(), async (all, refuses) => {
        const store = await openStore('sqlite::memory:');
        try {
          const bank = owner({ refuses });
          const told: unknown[] = [];
          const effect = at(bank, withLookup ? {} : { lookup: undefined });
          for (const life of all) {
            bank.trouble = [...life.troubles];
            const seen = mortal(store, life, () => held.abort());
            const held: Held = await attempt(store, seen);
            await held.effects.effect('pay', effect).then(
              (receipt) => told.push(receipt),
              () => undefined,
            );
            await held.die();
          }
          // A last one, without trouble.
          bank.trouble = [];
          const last = await attempt(store);
          const outcome = await last.effects.effect('pay', effect).then(
            (receipt) => ({ receipt }),
            (error: unknown) => ({ code: (error as { code?: string }).code }),
          );
          const [row] = await store.effects.list(RUN.tenant, RUN.run);
          const receipts = [...bank.committed.values()];
          const arrivals = [...bank.arrived.values()].flat().length;

          expect(receipts.length).toBeLessThanOrEqual(1);
          // The owner does not have to dedupe, as long as it can be asked, or is never sent what may have arrived.
          if (!refuses) expect(arrivals).toBe(receipts.length);
          for (const receipt of told) expect(receipt).toEqual(receipts[0]);
          if (row?.state === 'committed') expect(row.receipt).toEqual(receipts[0]);
          if (row?.state === 'rejected') expect(receipts).toEqual([]);
          if (withLookup)
            expect(outcome).toEqual(refuses ? { code: 'EffectRejected' } : { receipt: receipts[0] });
          else expect(['committed', 'rejected', 'unresolved']).toContain(row?.state);
          if ('code' in outcome) expect(['EffectRejected', 'EffectUnresolved']).toContain(outcome.code);
        } finally {
          await store.close();
        }
      }),
      { numRuns: 60 },
    );
  },
  240_000,
);
