/** Pauses and budgets: what uses them up, what restarts them, and what happens then (design, section 2). */
import { describe, expect, test } from 'vitest';
import type { EndKind, Failure, RunState } from '../../src/domain/types.js';
import {
  NOW,
  accept,
  attempt,
  cancelRun,
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

const said: Failure = { code: 'Said', message: 'by somebody' };
const runWith = (changes: Parameters<typeof retry>[0] = {}): RunState =>
  start(
    node('a', {
      launch: [spec('one', { retry: retry(changes) }), spec('two', { workerClasses: ['senior'] })],
    }),
  );
const active = (state = runWith()) => claimed(state, attempt(1));

describe('budgets', () => {
  /** Ends one attempt after the other, each claimed when its gate lets it. */
  function many(state: RunState, kinds: readonly EndKind[], from = 1): RunState {
    return kinds.reduce((at, end, index) => round(at, from + index, end, { failure: said }), state);
  }
  const times = (count: number, end: EndKind): EndKind[] => Array.from({ length: count }, () => end);

  test('auto waits 5 s, 10 s, 20 s… after each, up to the maximum', () => {
    let state = runWith({ failures: 100, losses: 100 });
    const waits: number[] = [];
    for (let number = 1; number <= 9; number += 1) {
      state = round(state, number, number % 2 ? 'failure' : 'expired');
      waits.push((slotOf(state).retryTime ?? 0) - NOW);
    }
    expect(waits).toEqual([5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000, 300_000]);
  });

  test('releases and revokes neither wait nor lengthen the pause', () => {
    const state = many(runWith(), ['failure', 'released', 'released', 'failure']);
    expect(slotOf(state)).toMatchObject({
      gate: 'time',
      retryTime: NOW + 10_000,
      counts: { claims: 4, failures: 2, losses: 0, releases: 2 },
    });
  });

  test.each([
    ['failures', 'failure', 3],
    ['failures', 'outside', 3],
    ['losses', 'expired', 5],
    ['losses', 'max-duration', 5],
  ] as const)('%s: %s uses it up after %i, and the slot waits for a reassign', (used, end, budget) => {
    const almost = slotOf(many(runWith(), times(budget - 1, end)));
    expect(almost).toMatchObject({ gate: 'time', failure: said });
    const after = slotOf(many(runWith(), times(budget, end)));
    expect(after).toMatchObject({ state: 'retry-wait', gate: 'reassign', retryTime: null });
    expect(after.failure).toEqual({
      code: 'Said',
      message: `by somebody; budget of ${budget} ${used} used up`,
    });
  });

  test('failures and losses have a budget each', () => {
    const state = many(runWith(), ['failure', 'failure', 'expired', 'expired', 'expired', 'expired']);
    expect(slotOf(state)).toMatchObject({ gate: 'time', spent: { failures: 2, losses: 4 } });
    expect(slotOf(many(state, ['expired'], 7))).toMatchObject({ gate: 'reassign' });
  });

  test('releases, revokes and failed claims use up neither', () => {
    const state = many(runWith({ failures: 1, losses: 1 }), [
      ...times(10, 'released'),
      ...times(3, 'never-attached'),
    ]);
    expect(slotOf(state)).toMatchObject({
      state: 'retry-wait',
      gate: 'open',
      spent: { failures: 0, losses: 0 },
    });
    expect(slotOf(many(state, ['revoked'], 20))).toMatchObject({
      gate: 'reassign',
      spent: { failures: 0, losses: 0 },
    });
  });

  test('a release opens the gate although a budget was nearly used up', () => {
    expect(slotOf(many(runWith(), ['failure', 'failure', 'released']))).toMatchObject({ gate: 'open' });
  });

  test('a reassign restarts the budgets and the pause; totals stay', () => {
    const used = many(runWith(), times(3, 'failure'));
    const again = accept(used, reassign({ workerClass: 'coder' }));
    expect(slotOf(again)).toMatchObject({
      spent: { failures: 0, losses: 0 },
      counts: { claims: 3, failures: 3 },
    });
    const after = slotOf(many(again, ['failure'], 4));
    expect(after).toMatchObject({
      gate: 'time',
      retryTime: NOW + 5_000,
      counts: { claims: 4, failures: 4 },
      spent: { failures: 1 },
    });
    expect(slotOf(many(again, times(3, 'failure'), 4)).gate).toBe('reassign');
  });

  test('onExhausted fail: the slot fails, and the run with it, once the end is recorded', () => {
    const twice = many(runWith({ onExhausted: 'fail' }), times(2, 'failure'));
    const ended = ends(claimed(twice, attempt(3, { attempt: 'a-3' })), 'failure', { failure: said });
    expect(slotOf(ended)).toMatchObject({ state: 'retry-wait', gate: 'reassign' });
    expect(ended.status).toBe('running');
    const failed = settles(ended, { failure: said });
    expect(slotOf(failed)).toMatchObject({ state: 'failed', gate: null, retryTime: null, ending: null });
    expect(slotOf(failed).failure?.message).toContain('budget of 3 failures used up');
    expect(failed.status).toBe('failed');
  });

  test('onExhausted fail: a last loss that never attached fails nothing', () => {
    const almost = many(runWith({ onExhausted: 'fail' }), times(4, 'expired'));
    const ended = ends(claimed(almost, attempt(5, { attempt: 'a-5' })), 'expired', { failure: said });
    const after = settles(ended, { end: 'never-attached' });
    expect(after.status).toBe('running');
    expect(slotOf(after)).toMatchObject({
      state: 'retry-wait',
      gate: 'time',
      spent: { losses: 4 },
      counts: { claims: 4, losses: 4 },
    });
  });

  test('onExhausted fail: a slot cancelled before its last end is recorded stays cancelled', () => {
    const state = runWith({ onExhausted: 'fail', failures: 1 });
    const after = settles(accept(ends(active(state), 'failure'), cancelRun()));
    expect(slotOf(after).state).toBe('cancelled');
    expect(after.status).toBe('cancelled');
  });

  test('onExhausted fail: releases and revokes never fail a slot', () => {
    const state = many(runWith({ onExhausted: 'fail', failures: 1, losses: 1 }), ['released', 'revoked']);
    expect(slotOf(state)).toMatchObject({ state: 'retry-wait', gate: 'reassign' });
  });

  test('onExhausted fail: a success that turns out to be none can fail the slot', () => {
    const state = runWith({ onExhausted: 'fail', failures: 1 });
    const after = settles(ends(active(state), 'success'), { end: 'outside', failure: said });
    expect(slotOf(after).state).toBe('failed');
    expect(after.status).toBe('failed');
  });

  test('the budget is named once, with or without words of the end', () => {
    const state = runWith({ failures: 1 });
    for (const failure of [said, null]) {
      const message = slotOf(round(state, 1, 'failure', { failure })).failure?.message ?? '';
      expect(message.match(/budget of 1 failures used up/g)).toHaveLength(1);
    }
  });

  test('words that only the store knows replace those of the run', () => {
    const ended = ends(active(runWith({ failures: 1 })), 'failure');
    expect(slotOf(ended).failure?.message).toContain('used up');
    const settled = slotOf(settles(ended, { failure: { code: 'Quota', message: 'no more tokens' } }));
    expect(settled.failure).toEqual({
      code: 'Quota',
      message: 'no more tokens; budget of 1 failures used up',
    });
  });

  test('a budget of 0 is used up by the first of its kind, not by the other kind', () => {
    expect(slotOf(many(runWith({ failures: 0 }), ['expired'])).gate).toBe('time');
    expect(slotOf(many(runWith({ failures: 0 }), ['failure'])).gate).toBe('reassign');
    expect(slotOf(many(runWith({ losses: 0 }), ['failure'])).gate).toBe('time');
    expect(slotOf(many(runWith({ losses: 0 }), ['expired'])).gate).toBe('reassign');
  });

  test.each([
    [{ initialMs: 0, factor: 2, maxMs: 300_000 }, 0],
    [{ initialMs: 1, factor: 1.1, maxMs: 300_000 }, 300_000],
    [{ initialMs: 5_000, factor: 1e6, maxMs: 86_400_000 }, 86_400_000],
  ])('after thousands of ends the pause of %j is %i ms', (backoff, pause) => {
    const state = runWith({ backoff, failures: 1e6, losses: 1e6 });
    const slot = { ...slotOf(state), spent: { failures: 5_000, losses: 0 } };
    const after = round({ ...state, slots: { a: slot } }, 1, 'failure');
    expect(slotOf(after).retryTime).toBe(NOW + pause);
  });

  test('the pause is a whole number of milliseconds', () => {
    let state = runWith({ backoff: { initialMs: 7, factor: 1.3, maxMs: 1_000 }, failures: 99 });
    for (let number = 1; number < 20; number += 1) {
      state = round(state, number, 'failure');
      expect(Number.isInteger(slotOf(state).retryTime)).toBe(true);
    }
  });
});
