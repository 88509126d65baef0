/** Effects whose outcome is not known, as the run keeps them: from settle to the successor, the list of what waits, and an operator's word. */
import { expect, test } from 'vitest';
import { check } from '../../src/domain/decide.js';
import type { OpenEffects } from '../../src/domain/effect.js';
import { carry, packState, readView, unpackState, viewOf } from '../../src/domain/pack.js';
import type { RunState } from '../../src/domain/types.js';
import { waitingList, waitsFor } from '../../src/domain/waits.js';
import type { RunInput } from '../../src/domain/wire.js';
import type { EndKind } from '../../src/domain/types.js';
import {
  NOW,
  accept,
  attempt,
  cancelRun,
  claimed,
  ends,
  expectRefused,
  round,
  see,
  slotOf,
  start,
  verdict,
} from './kit.js';

const pay = { name: 'pay', instance: null, state: 'unresolved' } as const;
const mail = { name: 'mail', instance: 'ada', state: 'intent' } as const;
const both: OpenEffects = { count: 2, listed: [pay, mail] };
const none: OpenEffects = { count: 0, listed: [] };

/** The first attempt ends, and the store says which effects are open. */
function ended(effects: OpenEffects | undefined, end: EndKind = 'failure', state = start()): RunState {
  const { number } = slotOf(state);
  const over = ends(claimed(state, attempt(number + 1)), end);
  const settled = { ...verdict(end), effects };
  return see(over, { kind: 'settled', slot: 'a', attempt: attempt(number + 1).attempt, settled });
}
const settledBy = (state: RunState, name: string, instance: string | null = null) =>
  see(state, { kind: 'effect-settled', slot: 'a', name, instance });
const resolve = (changes: Record<string, unknown> = {}) => ({
  name: 'resolveEffect' as const,
  tenant: 'acme',
  run: 'r1',
  slot: 'a',
  effect: 'pay',
  outcome: 'absent' as const,
  reason: 'asked the bank',
  actor: 'ada',
  commandId: 'c1',
  ...changes,
});

test.each(['failure', 'released', 'expired', 'revoked', 'cancelled'] as const)(
  'an attempt that ended as %s leaves them with the slot',
  (end) => expect(slotOf(ended(both, end)).effects).toEqual(both),
);

test('a slot without any has no such field, as in states of before', () => {
  expect(slotOf(ended(none))).not.toHaveProperty('effects');
  expect(slotOf(ended(undefined))).not.toHaveProperty('effects');
});

test('they go with the slot to its successor, and are what its settle says from then on', () => {
  const second = claimed(ended(both), attempt(2));
  expect(slotOf(second).effects).toEqual(both);
  const over = (effects: OpenEffects | undefined) => ended(effects, 'failure', ended(both));
  expect(slotOf(over({ count: 1, listed: [mail] })).effects).toEqual({ count: 1, listed: [mail] });
  expect(slotOf(over(none))).not.toHaveProperty('effects');
  // A control worker of an early version says nothing of effects.
  expect(slotOf(over(undefined)).effects).toEqual(both);
});

test('a claim that never attached changes nothing of them', () => {
  expect(slotOf(ended(none, 'never-attached', ended(both, 'released'))).effects).toEqual(both);
});

test('waitsFor and the list of what waits name them, and no more once all are settled', () => {
  const state = ended(both, 'released');
  expect(waitsFor(state, slotOf(state))).toMatch(
    /; outcome not known of pay: unresolved, mail \(ada\): intent$/,
  );
  expect(waitingList(state, { commands: false })).toEqual(['unresolved-effects', 'a:coder']);
  const one = settledBy(state, 'pay');
  expect(slotOf(one).effects).toEqual({ count: 1, listed: [mail] });
  const all = settledBy(one, 'mail', 'ada');
  expect(slotOf(all)).not.toHaveProperty('effects');
  expect(waitsFor(all, slotOf(all))).not.toContain('not known');
  expect(waitingList(all, { commands: false })).toEqual(['a:coder']);
});

test('a slot that is over is marked too; one at work is not said to wait for them', () => {
  const cancelled = accept(ended(both), cancelRun());
  expect(waitingList(cancelled, { commands: false })).toEqual(['unresolved-effects']);
  const second = claimed(ended(both, 'released'), attempt(2));
  expect(waitsFor(second, slotOf(second))).not.toContain('not known');
});

test('an effect of another name or instance settles nothing; one beyond the list counts', () => {
  const state = ended(both);
  expect(settledBy(state, 'mail')).toBe(state);
  expect(settledBy(state, 'other')).toBe(state);
  expect(settledBy(start(), 'pay')).toEqual(start());
  const many = ended({ count: 70, listed: [pay] });
  expect(slotOf(settledBy(many, 'n69')).effects).toEqual({ count: 69, listed: [pay] });
});

test('they travel with the run, and lose their names, never their number, where it would not fit', () => {
  const state = ended(both);
  const { tenant, run, pins, plan } = state;
  expect(unpackState(packState(state), { tenant, run, pins, plan })).toEqual(state);
  expect(readView(viewOf({ state, leases: {}, rollingOver: false })).state).toEqual(state);
  const listed = Array.from({ length: 50 }, (_, n) => ({ ...pay, name: `${n}-`.padEnd(50_000, 'x') }));
  const large = ended({ count: 61, listed });
  const input = { tenant, run, pins, plan } as unknown as RunInput;
  const carried = carry(input, large, { commands: [], previous: null, deadlines: {}, voids: [] });
  const after = unpackState(carried.carried!.state, { tenant, run, pins, plan });
  expect(slotOf(after).effects).toEqual({ count: 61, listed: [] });
  expect(waitsFor(after, slotOf(after))).toContain('outcome not known of 61 more');
});

test('resolveEffect: its guards in their order, one wrong after the other', () => {
  const state = ended(both);
  const refuse = (at: RunState, changes: Record<string, unknown>) => check(at, resolve(changes), NOW);
  const wrong = { tenant: 'other', run: 'r9', slot: 'z', reason: ' ' };
  const { tenant: _, ...ours } = wrong;
  expectRefused(refuse(accept(state, cancelRun()), wrong), 'RunNotFound');
  expectRefused(refuse(accept(state, cancelRun()), ours), 'RunClosed');
  expectRefused(refuse(state, ours), 'RunMismatch');
  expectRefused(refuse(state, { slot: 'z', reason: ' ' }), 'SlotNotFound');
  const ending = ends(claimed(start(), attempt(1)), 'failure');
  expectRefused(refuse(ending, { reason: ' ' }), 'LeaseNotTerminal');
  expectRefused(refuse(state, { reason: ' ' }), 'ReasonRequired');
  expect(refuse(state, {})).toBeNull();
  // Whoever is at work, what is unresolved may be settled; which effects there are is for the store to say.
  expect(refuse(claimed(state, attempt(2)), {})).toBeNull();
  expect(refuse(round(start(), 1, 'failure'), { effect: 'unheard of' })).toBeNull();
});

test('resolveEffect changes nothing of the run by itself: what is settled is a fact that follows', () => {
  const state = ended(both);
  expect(accept(state, resolve())).toBe(state);
});
