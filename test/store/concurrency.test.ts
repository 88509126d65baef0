/**
 * Several open stores on one place, as several processes have it: what one writer's check has seen must still hold when it
 * writes. Each race is run many times; every one of them is lost within a few rounds when the writers do not exclude each other.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openStore } from '../../src/store/open.js';
import type { Fence, Store } from '../../src/store/port.js';
import { attachment, claimInput, fenceOf, RUN, settleInput } from './inputs.js';
import { SHARED, type Place } from './engines.js';

const ROUNDS = 25;
const STORES = 4;

for (const { name, missing, place: placeOf } of SHARED)
  describe.skipIf(missing !== null)(missing === null ? name : `${name} skipped: ${missing}`, () => {
    let place: Place;
    let stores: Store[];
    beforeEach(async () => {
      place = await placeOf();
      stores = [];
      for (let one = 0; one < STORES; one += 1) stores.push(await openStore(place.url));
    });
    afterEach(async () => {
      await Promise.all(stores.map((store) => store.close()));
      await place.remove();
    });
    const at = (index: number): Store => stores[index % STORES] as Store;

    /** Runs all at once, each on another store; gives the code of each refusal, or null. */
    const race = async (...acts: ((store: Store) => Promise<unknown>)[]): Promise<(string | null)[]> => {
      const ends = await Promise.allSettled(acts.map((act, index) => act(at(index))));
      return ends.map((end) => {
        if (end.status === 'fulfilled') return null;
        const { code } = end.reason as { code?: string };
        if (!/^[A-Z][a-z]+[A-Z]/.test(code ?? '') || code === 'StoreUnavailable') throw end.reason;
        return code as string;
      });
    };
    const live = async (slot: string): Promise<Fence> => {
      const fence = fenceOf(await at(0).attempts.claim(claimInput({ slot })), slot);
      await at(0).attempts.attach({ fence, attachment: attachment(), at: 1 });
      return fence;
    };
    const begins = (fence: Fence) => (store: Store) =>
      store.effects.begin({
        fence,
        name: 'pay',
        instance: null,
        key: `k-${fence.slot}`,
        requestDigest: 'd',
        at: 1,
      });
    const stages = (fence: Fence) => (store: Store) =>
      store.attempts.stage({ fence, kind: 'completion', result: null, failure: null });

    it('no completion is staged beside an effect that begins', async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const fence = await live(`s${round}`);
        const [began, staged] = await race(begins(fence), stages(fence));
        expect([began, staged].filter((code) => code === null)).toHaveLength(1);
        expect(began === null ? staged : began).toBe(began === null ? 'EffectUnresolved' : 'StaleLease');
      }
    });

    it('nothing is saved or begun once the end is recorded', async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const fence = await live(`s${round}`);
        const { digest, size } = await at(0).artifacts.putBytes(Buffer.from('x'));
        let seen: number | null = null;
        await race(
          async (store) => {
            await store.attempts.settle(settleInput(fence));
            const [effects, artifacts] = await Promise.all([
              store.effects.list(RUN.tenant, RUN.run, fence.slot),
              store.artifacts.list(RUN.tenant, RUN.run, fence.slot),
            ]);
            seen = effects.length + artifacts.length;
          },
          begins(fence),
          // Many, so that some are under way when the end is recorded.
          ...Array.from(
            { length: 12 },
            (_, n) => (store: Store) =>
              store.artifacts.save({
                ...{ fence, kind: 'source', name: `n${n}`, digest, size },
                ...{ mediaType: 'text/plain', step: null, at: 1 },
              }),
          ),
        );
        const [effects, artifacts] = await Promise.all([
          at(1).effects.list(RUN.tenant, RUN.run, fence.slot),
          at(1).artifacts.list(RUN.tenant, RUN.run, fence.slot),
        ]);
        expect(effects.length + artifacts.length).toBe(seen);
      }
    });

    it('a withdrawn offer leaves no claim, whoever was first', async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const input = claimInput({ slot: `s${round}` });
        await race(
          (store) => store.attempts.claim(input),
          (store) => store.attempts.voidClaim({ ...RUN, slot: input.slot, claimId: input.claimId }),
        );
        expect(await at(0).attempts.list(RUN.tenant, RUN.run, input.slot)).toEqual([]);
        expect(await race((store) => store.attempts.claim(input))).toEqual(['StaleLease']);
      }
    });

    it('an attachment and the next offer’s claim: one of them has the slot', async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const slot = `s${round}`;
        const fence = fenceOf(await at(0).attempts.claim(claimInput({ slot })), slot);
        const [attached, claimed] = await race(
          (store) => store.attempts.attach({ fence, attachment: attachment(), at: 1 }),
          (store) => store.attempts.claim(claimInput({ slot, worker: 'w2' })),
        );
        expect([
          [null, 'AlreadyLeased'],
          ['StaleLease', null],
        ]).toContainEqual([attached, claimed]);
      }
    });

    it('claims of one slot get epochs of their own, and one holder', async () => {
      for (let round = 0; round < 5; round += 1) {
        const slot = `s${round}`;
        const refs = await Promise.all(
          Array.from({ length: 12 }, (_, index) => at(index).attempts.claim(claimInput({ slot }))),
        );
        expect(new Set(refs.map((ref) => ref.epoch))).toEqual(
          new Set(Array.from({ length: 12 }, (_, i) => i + 1)),
        );
        expect(await at(0).attempts.list(RUN.tenant, RUN.run, slot)).toHaveLength(1);
      }
    });

    it('an operator’s word and a worker’s record: the first stands', async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const fence = await live(`s${round}`);
        const { row } = await begins(fence)(at(0));
        const failure = { code: 'X', message: 'x' };
        await at(0).effects.record({ fence, key: row.key, record: { state: 'unresolved', failure }, at: 2 });
        const said = { state: 'committed', receipt: 'operator' } as const;
        const by = { actor: 'ada', reason: 'looked', commandId: 'c', at: 3 };
        const [resolved] = await race(
          (store) =>
            store.effects.resolve({
              ...RUN,
              slot: fence.slot,
              name: 'pay',
              instance: null,
              outcome: said,
              ...by,
            }),
          (store) =>
            store.effects.record({
              fence,
              key: row.key,
              record: { state: 'committed', receipt: 'owner' },
              at: 3,
            }),
        );
        const [effect] = await at(1).effects.list(RUN.tenant, RUN.run, fence.slot);
        expect(effect?.receipt).toBe(resolved === null ? 'operator' : 'owner');
      }
    });

    it('publishers of one name at once get numbers without gaps', async () => {
      const rows = await Promise.all(
        Array.from({ length: 24 }, (_, index) =>
          at(index).revisions.publish({
            ...{ tenant: 'acme', kind: 'package', name: 'p', revision: null, content: { n: index % 12 } },
            ...{ accept: index % 2 === 0, actor: 'ada', at: 1 },
          }),
        ),
      );
      expect(new Set(rows.map((row) => row.revision))).toEqual(
        new Set(Array.from({ length: 12 }, (_, i) => i + 1)),
      );
    });

    it('commands, runs and bytes at once: one first answer, one row, whole bytes', async () => {
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, index) =>
          at(index).commands.remember({
            ...{ ...RUN, commandId: 'c', name: 'save', digest: 'd', answer: index, at: 1 },
          }),
        ),
      );
      expect(new Set(answers).size).toBe(1);
      const content = Buffer.alloc(2_500_000, 'bytes');
      const put = await Promise.all(stores.map((store) => store.artifacts.putBytes(content)));
      expect(new Set(put.map(({ digest }) => digest)).size).toBe(1);
      for (const store of stores)
        expect((await store.artifacts.readBytes(put[0]?.digest ?? '')).byteLength).toBe(content.byteLength);
    });
  });
