/** Escalation: a pinned policy reassigns by itself, under the same guards as a person, once in a slot's life. */
import { expect, test } from 'vitest';
import type { EndKind, Escalation, RetryPolicy, RunState } from '../../src/domain/types.js';
import { closesWith, wants } from '../../src/domain/wants.js';
import {
  NOW,
  accept,
  attempt,
  claimed,
  ends,
  node,
  reassign,
  retry,
  round,
  settles,
  slotOf,
  spec,
  start,
} from './kit.js';

const policy = (changes: Partial<Escalation> = {}): Escalation => ({
  name: 'two-losses',
  count: 'losses',
  after: 2,
  workerClass: 'senior',
  reason: null,
  ...changes,
});
const runWith = (escalate: Escalation[], changes: Partial<RetryPolicy> = {}): RunState => {
  const own = { dispatch: 'queue', retry: retry(changes) } as const;
  const launch = [spec('one', own), spec('two', { ...own, workerClasses: ['senior', 'human'] })];
  return start(node('a', { launch, escalate }));
};
const many = (state: RunState, kinds: readonly EndKind[], from = 1): RunState =>
  kinds.reduce((now, end, index) => round(now, from + index, end), state);

test('reassigns at the count, as a person would, with its own name and a reason', () => {
  const once = many(runWith([policy()]), ['expired']);
  expect(slotOf(once)).toMatchObject({ spec: 'one', gate: 'time', reassign: null });
  const twice = many(once, ['max-duration'], 2);
  expect(slotOf(twice)).toMatchObject({
    state: 'retry-wait',
    gate: 'open',
    retryTime: null,
    spec: 'two',
    workerClass: 'senior',
    spent: { failures: 0, losses: 0 },
    counts: { claims: 2, losses: 2 },
    active: null,
    escalated: ['two-losses'],
    reassign: {
      actor: 'policy:two-losses',
      reason: '2 losses since the last reassign: escalated to senior',
      at: NOW,
      workerClass: 'senior',
      fromSpec: 'one',
      toSpec: 'two',
      predecessor: 'a-2',
    },
  });
  // Nothing is created: the slot is on offer to the other class, and a claim comes later.
  expect(wants(twice, NOW).offers.get('a')).toMatchObject({ workerClass: 'senior' });
  expect(wants(twice, NOW).leases.size).toBe(0);
});

test('only once the end is recorded', () => {
  const over = ends(claimed(many(runWith([policy()]), ['expired']), attempt(2)), 'expired');
  expect(slotOf(over)).toMatchObject({ spec: 'one', reassign: null });
  expect(slotOf(settles(over)).spec).toBe('two');
  // The store says that nobody was at work: no loss, no escalation.
  expect(slotOf(settles(over, { end: 'never-attached' })).spec).toBe('one');
});

test.each<EndKind>(['released', 'revoked'])('%s is no reason for it', (end) => {
  const state = many(runWith([policy({ after: 1 })]), [end]);
  expect(slotOf(state)).toMatchObject({ spec: 'one', reassign: null });
});

test('failures and losses are counted apart', () => {
  const state = many(runWith([policy({ count: 'failures', name: 'f' })]), ['expired', 'expired', 'failure']);
  expect(slotOf(state).spec).toBe('one');
  expect(slotOf(many(state, ['failure'], 4))).toMatchObject({ spec: 'two', reassign: { actor: 'policy:f' } });
});

test('acts once: a slot that nobody can do still ends by its budget', () => {
  const state = many(runWith([policy()], { losses: 3, onExhausted: 'fail' }), [
    'expired',
    'expired',
    'expired',
    'expired',
    'expired',
  ]);
  expect(slotOf(state)).toMatchObject({ state: 'failed', counts: { claims: 5, losses: 5 } });
  expect(state.status).toBe('failed');
});

test('comes before a budget that is used up by the same end', () => {
  const state = many(runWith([policy()], { losses: 2, onExhausted: 'fail' }), ['expired', 'expired']);
  expect(slotOf(state)).toMatchObject({ state: 'retry-wait', gate: 'open', spec: 'two' });
  const last = ends(
    claimed(many(runWith([policy()], { losses: 2, onExhausted: 'fail' }), ['expired']), attempt(2)),
    'expired',
  );
  expect(closesWith(last, slotOf(last), NOW)).toBeNull();
});

test('several policies act in their order, each from the count since the last reassign', () => {
  const policies = [
    policy({ name: 'first', after: 1 }),
    policy({ name: 'second', after: 1, workerClass: 'human' }),
  ];
  const first = many(runWith(policies), ['expired']);
  expect(slotOf(first)).toMatchObject({ workerClass: 'senior', escalated: ['first'] });
  const second = many(first, ['expired'], 2);
  expect(slotOf(second)).toMatchObject({ workerClass: 'human', escalated: ['first', 'second'] });
});

test('manual mode waits for a person, or for the policy', () => {
  const state = many(runWith([policy({ after: 1 })], { mode: 'manual' }), ['expired']);
  expect(slotOf(state)).toMatchObject({ gate: 'open', spec: 'two' });
});

test('a person who reassigned meanwhile restarts the count', () => {
  const once = accept(many(runWith([policy()]), ['expired']), reassign({ workerClass: 'coder' }));
  expect(slotOf(many(once, ['expired'], 2))).toMatchObject({ spec: 'one', gate: 'time' });
});

test('the guards hold for it: a slot that somebody owns is his to reassign', () => {
  const owned = { ownerActor: 'ada' };
  let state = runWith([policy({ after: 1 })], { mode: 'manual' });
  state = settles(ends(claimed(state, attempt(1, owned)), 'expired'));
  expect(slotOf(state)).toMatchObject({ gate: 'reassign', spec: 'one', reassign: null });
});

test('the reason that the policy gives is recorded word for word', () => {
  const state = many(runWith([policy({ after: 1, reason: 'hosts of this class die here' })]), ['expired']);
  expect(slotOf(state).reassign?.reason).toBe('hosts of this class die here');
});
