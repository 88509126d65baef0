/**
 * S19 at the worker's side of the protocol: an answer that is lost is asked for, never sent again; absent is sent with the same
 * key; an owner out of reach leaves it unresolved with nothing sent; another request under the key is refused; a successor goes on
 * with what its predecessor began. And: who shares a call, what is bounded, what is warned of.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { accepted } from '../../src/effects/outcome.js';
import type { EffectCallInput, EffectOptions, OwnerAnswerTo } from '../../src/effects/types.js';
import { peekAuthority } from '../../src/effects/token.js';
import { openStore } from '../../src/store/open.js';
import type { Store } from '../../src/store/port.js';
import { waitFor } from '../support/wait.js';
import { at, attempt, owner, RUN, type Held } from './boundary-kit.js';

let store: Store;
let first: Held;
beforeEach(async () => {
  store = await openStore('sqlite::memory:');
  first = await attempt(store);
});
afterEach(() => store.close());

const rows = () => store.effects.list(RUN.tenant, RUN.run);
const sentTo = (bank: ReturnType<typeof owner>): number => [...bank.arrived.values()].flat().length;

describe('S19', () => {
  it('records the receipt, and gives it back without a call, to a successor too', async () => {
    const bank = owner();
    const receipt = await first.effects.effect('pay', at(bank));
    expect(receipt).toEqual({ number: 1, request: { amount: 5 } });
    expect(await rows()).toMatchObject([{ state: 'committed', receipt, attempt: first.fence.attempt }]);
    await first.die();
    const second = await attempt(store);
    expect(await second.effects.effect('pay', at(bank))).toEqual(receipt);
    expect([sentTo(bank), bank.lookups]).toEqual([1, 0]);
  });

  it('asks at once when the answer is lost, and does not send twice', async () => {
    const bank = owner();
    bank.trouble = ['answer lost'];
    expect(await first.effects.effect('pay', at(bank))).toMatchObject({ number: 1 });
    expect([sentTo(bank), bank.lookups]).toEqual([1, 1]);
  });

  it('a successor asks by the same key what became of an intent, and records the owner’s receipt', async () => {
    const bank = owner();
    const calls: EffectCallInput[] = [];
    const hanging = at(bank, {
      perform: async (call) => {
        calls.push(call);
        await bank.perform(call);
        return new Promise(() => undefined);
      },
    });
    const cut = first.effects.effect('pay', hanging);
    await waitFor(() => sentTo(bank) === 1, { what: 'the owner has it' });
    await Promise.all([first.die(), expect(cut).rejects.toMatchObject({ code: 'StaleLease' })]);
    expect(await rows()).toMatchObject([{ state: 'intent', epoch: 1 }]);
    const second = await attempt(store);
    const asking = at(bank, { lookup: (call) => (calls.push(call), bank.lookup(call)) });
    expect(await second.effects.effect('pay', asking)).toMatchObject({ number: 1 });
    expect([sentTo(bank), bank.lookups]).toEqual([1, 1]);
    expect(calls.map(({ key }) => key)).toEqual([calls[0]?.key, calls[0]?.key]);
    expect(calls.map(({ authority }) => peekAuthority(authority))).toEqual([first.fence, second.fence]);
    expect(calls.map(({ epoch }) => epoch)).toEqual([1, 2]);
  });

  it('sends once, with the same key, when the owner says absent', async () => {
    const bank = owner();
    bank.trouble = ['request lost', 'unknown'];
    await expect(first.effects.effect('pay', at(bank))).rejects.toMatchObject({ code: 'EffectUnresolved' });
    await first.die();
    const second = await attempt(store);
    expect(await second.effects.effect('pay', at(bank))).toMatchObject({ number: 1 });
    expect(sentTo(bank)).toBe(1);
    expect(await rows()).toMatchObject([
      { state: 'committed', attempt: second.fence.attempt, failure: null },
    ]);
  });

  it('leaves it unresolved, with nothing sent, while the owner is out of reach', async () => {
    const bank = owner();
    bank.trouble = ['answer lost', 'request lost', 'request lost', 'request lost'];
    await expect(first.effects.effect('pay', at(bank))).rejects.toMatchObject({
      code: 'EffectUnresolved',
      details: { effect: 'pay', cause: 'OwnerUnreachable' },
    });
    expect(await rows()).toMatchObject([
      { state: 'unresolved', failure: { code: 'OwnerUnreachable', message: 'connection refused' } },
    ]);
    await first.die();
    const second = await attempt(store);
    bank.trouble = ['unknown'];
    await expect(second.effects.effect('pay', at(bank))).rejects.toMatchObject({ code: 'EffectUnresolved' });
    expect(sentTo(bank)).toBe(1);
    // It is back, and has had it all the time.
    expect(await second.effects.effect('pay', at(bank))).toMatchObject({ number: 1 });
    expect(sentTo(bank)).toBe(1);
  });

  it('refuses another request under the same key, in this attempt and the next', async () => {
    const bank = owner();
    await first.effects.effect('pay', at(bank));
    const other = at(bank, { request: { amount: 6 } });
    await expect(first.effects.effect('pay', other)).rejects.toMatchObject({ code: 'EffectConflict' });
    await first.die();
    const second = await attempt(store);
    await expect(second.effects.effect('pay', other)).rejects.toMatchObject({ code: 'EffectConflict' });
    expect(sentTo(bank)).toBe(1);
    await second.effects.effect('pay', at(bank, { request: { amount: 6 }, instance: 'second order' }));
    expect((await rows()).map(({ name, instance }) => [name, instance])).toEqual([
      ['pay', null],
      ['pay', 'second order'],
    ]);
  });
});

describe('what its owner says', () => {
  it('keeps a definite no for good', async () => {
    const bank = owner({ refuses: true });
    const no = { code: 'EffectRejected', details: { failure: { code: 'NoFunds' } } };
    await expect(first.effects.effect('pay', at(bank))).rejects.toMatchObject(no);
    await first.die();
    const second = await attempt(store);
    await expect(second.effects.effect('pay', at(bank))).rejects.toMatchObject(no);
    expect([sentTo(bank), bank.lookups]).toEqual([1, 0]);
  });

  it('throws what perform threw when nothing has happened after three sendings, and knows no outcome', async () => {
    const bank = owner();
    bank.trouble = ['request lost', 'none', 'request lost', 'none', 'request lost', 'none'];
    await expect(first.effects.effect('pay', at(bank))).rejects.toThrow('connection refused');
    expect(bank.lookups).toBe(3);
    expect(await rows()).toMatchObject([{ state: 'intent' }]);
  });

  it('polls what was accepted, a successor by the same handle', async () => {
    const handles: unknown[] = [];
    let done = false;
    const job = (): EffectOptions => ({
      request: 'job',
      pollMs: 10,
      perform: async () => accepted({ job: 7 }),
      lookup: () => ({ state: 'unknown' }),
      poll: ({ handle }): OwnerAnswerTo => {
        handles.push(handle);
        return done ? { state: 'committed', receipt: 'primes' } : { state: 'accepted', handle };
      },
    });
    const cut = first.effects.effect('job', job());
    await waitFor(() => handles.length >= 2, { what: 'it is polled twice' });
    await Promise.all([first.die(), expect(cut).rejects.toMatchObject({ code: 'StaleLease' })]);
    expect(await rows()).toMatchObject([{ state: 'accepted', handle: { job: 7 } }]);
    const second = await attempt(store);
    const going = second.effects.effect('job', job());
    await waitFor(() => handles.length >= 4, { what: 'it is polled again' });
    done = true;
    expect(await going).toBe('primes');
    expect(new Set(handles.map((handle) => JSON.stringify(handle)))).toEqual(new Set(['{"job":7}']));
  });

  it('polls by lookup where there is no poll, and does not send again what its owner has lost', async () => {
    const answers: OwnerAnswerTo[] = [{ state: 'accepted', handle: 1 }, { state: 'absent' }];
    let sends = 0;
    const job: EffectOptions = {
      request: 1,
      pollMs: 10,
      perform: async () => ((sends += 1), accepted(1)),
      lookup: () => answers.shift() ?? { state: 'unknown' },
    };
    await expect(first.effects.effect('job', job)).rejects.toMatchObject({
      code: 'EffectUnresolved',
      details: { cause: 'EffectLost' },
    });
    expect(sends).toBe(1);
    answers.push({ state: 'absent' });
    await first.die();
    const second = await attempt(store);
    await expect(second.effects.effect('job', job)).rejects.toMatchObject({
      details: { cause: 'EffectLost' },
    });
    expect(sends).toBe(1);
  });

  it.each([
    ['too large', 'x'.repeat(70_000), 'TooLarge'],
    ['no JSON', 1n, 'EffectUnresolved'],
  ])('has it unresolved when the receipt is %s: it did happen', async (_what, receipt, code) => {
    const bank = owner();
    const options = at(bank, { perform: () => receipt, lookup: () => ({ state: 'unknown' }) });
    await expect(first.effects.effect('pay', options)).rejects.toMatchObject({ code });
    expect(await rows()).toMatchObject([{ state: 'unresolved' }]);
  });

  it('takes what is no answer for none', async () => {
    const bank = owner();
    bank.trouble = ['answer lost'];
    const options = at(bank, { lookup: () => 'yes' as unknown as OwnerAnswerTo });
    await expect(first.effects.effect('pay', options)).rejects.toMatchObject({ code: 'EffectUnresolved' });
    expect(sentTo(bank)).toBe(1);
  });

  it('throws the owner’s no about the attempt’s authority, and leaves the intent to whoever comes next', async () => {
    const stale = () => Promise.reject(Object.assign(new Error('superseded'), { code: 'StaleLease' }));
    const options: EffectOptions = { request: 1, perform: stale, lookup: stale };
    await expect(first.effects.effect('pay', options)).rejects.toMatchObject({ code: 'StaleLease' });
    expect(await rows()).toMatchObject([{ state: 'intent' }]);
  });
});

describe('without lookup', () => {
  const { perform } = owner();
  it('warns, and never sends again what may have happened', async () => {
    const bank = owner();
    bank.trouble = ['answer lost'];
    const options = { request: { amount: 5 }, perform: bank.perform };
    await expect(first.effects.effect('pay', options)).rejects.toMatchObject({ code: 'EffectUnresolved' });
    expect(first.warnings).toEqual([expect.stringContaining('effect "pay" has no `lookup`')]);
    await first.die();
    const second = await attempt(store);
    await expect(second.effects.effect('pay', options)).rejects.toMatchObject({ code: 'EffectUnresolved' });
    expect(sentTo(bank)).toBe(1);
  });

  it('goes on as an operator has settled it: with the receipt, or by sending', async () => {
    const settle = (name: string, outcome: { state: 'committed'; receipt: string } | { state: 'absent' }) =>
      store.effects.resolve({
        ...RUN,
        slot: 'research',
        name,
        instance: null,
        outcome,
        actor: 'ada',
        reason: 'called the bank',
        commandId: `c-${name}`,
        at: 1,
      });
    const lost = (): EffectOptions => ({ request: 1, perform: () => Promise.reject(new Error('gone')) });
    for (const name of ['known', 'absent']) {
      await expect(first.effects.effect(name, lost())).rejects.toMatchObject({ code: 'EffectUnresolved' });
    }
    await settle('known', { state: 'committed', receipt: 'R-7' });
    await settle('absent', { state: 'absent' });
    expect(await first.effects.effect('known', lost())).toBe('R-7');
    expect(await first.effects.effect('absent', { request: 1, perform })).toMatchObject({ request: 1 });
  });
});

describe('beside an operator and an end', () => {
  it('does not send after the owner was heard to have committed, though an operator says absent meanwhile', async () => {
    const bank = owner();
    bank.trouble = ['answer lost', 'unknown'];
    await expect(first.effects.effect('pay', at(bank))).rejects.toMatchObject({ code: 'EffectUnresolved' });
    const settled = () =>
      store.effects.resolve({
        ...RUN,
        slot: 'research',
        name: 'pay',
        instance: null,
        outcome: { state: 'absent' },
        actor: 'ada',
        reason: 'guessed',
        commandId: 'c-race',
        at: 1,
      });
    const lookup = async (call: EffectCallInput): Promise<OwnerAnswerTo> => {
      const word = await bank.lookup(call);
      await settled();
      return word;
    };
    expect(await first.effects.effect('pay', at(bank, { lookup }))).toMatchObject({ number: 1 });
    expect(sentTo(bank)).toBe(1);
  });

  it('is refused alone after the end is staged: the lease is still needed to tell the end', async () => {
    await store.attempts.stage({
      fence: first.fence,
      kind: 'failure',
      result: null,
      failure: { code: 'X', message: 'x' },
    });
    const bank = owner();
    await expect(first.effects.effect('pay', at(bank))).rejects.toMatchObject({ code: 'StaleLease' });
    expect(sentTo(bank)).toBe(0);
    expect(first.lost()).toBe(false);
  });
});

describe('the call', () => {
  it('is shared by two at once, and refused to another request', async () => {
    const bank = owner();
    const both = await Promise.all([
      first.effects.effect('pay', at(bank)),
      first.effects.effect('pay', at(bank)),
      expect(first.effects.effect('pay', at(bank, { request: 'other' }))).rejects.toMatchObject({
        code: 'EffectConflict',
      }),
    ]);
    expect(both[0]).toEqual(both[1]);
    expect(sentTo(bank)).toBe(1);
  });

  it('is not made by an attempt that has lost its authority', async () => {
    const bank = owner();
    first.abort();
    await expect(first.effects.effect('pay', at(bank))).rejects.toMatchObject({ code: 'StaleLease' });
    expect(await rows()).toEqual([]);
    expect(sentTo(bank)).toBe(0);
  });

  it('ends the lease here too when the store refuses the intent', async () => {
    const bank = owner();
    await store.attempts.settle({
      fence: first.fence,
      end: 'revoked',
      staged: null,
      failure: null,
      endedAt: 1,
      deadline: null,
    });
    await expect(first.effects.effect('pay', at(bank))).rejects.toMatchObject({
      code: 'StaleLease',
      message: expect.stringContaining('the store refused to record an effect'),
    });
    expect(sentTo(bank)).toBe(0);
  });

  it.each([
    [{ perform: undefined }, 'perform'],
    [{ lookup: 'yes' }, 'lookup'],
    [{ lookUp: () => undefined }, 'lookUp'],
    [{ instance: ' ' }, 'instance'],
    [{ pollMs: 0 }, 'pollMs'],
  ])('refuses %o', async (change, field) => {
    const options = { request: 1, perform: () => 1, ...change } as unknown as EffectOptions;
    await expect(first.effects.effect('pay', options)).rejects.toMatchObject({
      code: 'InvalidCommand',
      details: { field },
    });
    expect(await rows()).toEqual([]);
  });

  it('refuses a request over 64 KiB before anything is recorded', async () => {
    const bank = owner();
    const large = at(bank, { request: 'x'.repeat(65_537) });
    await expect(first.effects.effect('pay', large)).rejects.toMatchObject({ code: 'TooLarge' });
    expect(await rows()).toEqual([]);
  });
});
