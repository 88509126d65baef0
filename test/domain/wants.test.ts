/** What a run asks of the world: offers, leases, settles, one deadline; and when it is finished. */
import { describe, expect, test } from 'vitest';
import type { RunState } from '../../src/domain/types.js';
import { MAX_PENDING, closesWith, wants } from '../../src/domain/wants.js';
import {
  NOW,
  accept,
  attempt,
  cancelRun,
  claimed,
  craft,
  ends,
  node,
  prior,
  reassign,
  retry,
  round,
  see,
  settles,
  slotOf,
  spec,
  start,
  steer,
} from './kit.js';

const queued = (name: string, changes: Parameters<typeof node>[1] = {}, policy = retry()) =>
  node(name, {
    launch: [
      spec('one', { dispatch: 'queue', retry: policy }),
      spec('two', { workerClasses: ['senior'], dispatch: 'queue' }),
    ],
    ...changes,
  });
const run = () => start(queued('a'));
const offers = (state: RunState, now = NOW) => [...wants(state, now).offers.keys()];
const waiting = (gate: 'time' | 'open' | 'reassign', retryTime: number | null = null) =>
  craft(run(), { state: 'retry-wait', gate, retryTime, prior: prior(), epoch: 1, number: 1 });

describe('offers', () => {
  test('an open queue slot is offered to its class under its specification', () => {
    expect(wants(run(), NOW).offers.get('a')).toMatchObject({ workerClass: 'coder', spec: { id: 'one' } });
  });
  test('after a reassign to the requested class', () => {
    const state = accept(waiting('reassign'), reassign());
    expect(wants(state, NOW).offers.get('a')).toMatchObject({ workerClass: 'senior', spec: { id: 'two' } });
  });
  test('direct slots never are', () => expect(offers(start(node('a')))).toEqual([]));
  test('nor slots that are not claimable', () => {
    for (const state of ['blocked', 'claiming', 'on-hold', 'succeeded', 'failed', 'cancelled'] as const)
      expect(wants(craft(run(), { state }), NOW)).toMatchObject({ offers: new Map(), deadline: null });
    expect(offers(claimed(run(), attempt(1)))).toEqual([]);
    expect(offers(waiting('reassign'))).toEqual([]);
    expect(offers(waiting('open'))).toEqual(['a']);
    expect(offers(accept(run(), steer('hold')))).toEqual([]);
  });
  test.each(['success', 'failure', 'released', 'expired', 'never-attached'] as const)(
    'not before the end (%s) is recorded',
    (end) => {
      const ended = ends(claimed(run(), attempt(1)), end);
      expect(wants(ended, NOW + 1e9)).toMatchObject({ offers: new Map(), deadline: null });
      expect([...wants(ended, NOW).settles.keys()]).toEqual(['a']);
    },
  );
  test('a retry time is waited for, then the slot is on offer', () => {
    const state = waiting('time', NOW + 5_000);
    expect(wants(state, NOW + 4_999)).toMatchObject({ offers: new Map(), deadline: NOW + 5_000 });
    expect(offers(state, NOW + 5_000)).toEqual(['a']);
    expect(wants(state, NOW + 5_000).deadline).toBeNull();
  });
  test('a direct slot needs no timer for its retry time', () => {
    const state = craft(start(node('a')), {
      state: 'retry-wait',
      gate: 'time',
      retryTime: NOW + 5,
      prior: prior(),
    });
    expect(wants(state, NOW).deadline).toBeNull();
  });
  test('claims that keep failing are offered again later and later, and at once after a reassign', () => {
    let state = waiting('open');
    const failure = { code: 'PinsDamaged', message: 'x' };
    for (const pause of [5_000, 10_000, 20_000]) {
      state = see(state, { kind: 'claim-failed', slot: 'a', failure });
      expect(wants(state, NOW)).toMatchObject({ offers: new Map(), deadline: NOW + pause });
      expect(offers(state, NOW + pause)).toEqual(['a']);
    }
    expect(offers(accept(state, reassign({ workerClass: 'coder' })))).toEqual(['a']);
  });
  test('the later of retry time and claim back-off counts', () => {
    const failed = { claimFailure: { code: 'X', message: '', at: NOW, times: 1 } };
    expect(wants(craft(waiting('time', NOW + 60_000), failed), NOW).deadline).toBe(NOW + 60_000);
    expect(wants(craft(waiting('time', NOW + 1), failed), NOW).deadline).toBe(NOW + 5_000);
  });
  test('thousands of failed claims still have a time at which the slot is offered again', () => {
    for (const initialMs of [0, 1]) {
      const policy = retry({ backoff: { initialMs, factor: 2, maxMs: 60_000 } });
      const state = craft(start(queued('a', {}, policy)), {
        claimFailure: { code: 'X', message: '', at: NOW, times: 5_000 },
      });
      expect(offers(state, NOW + 60_000)).toEqual(['a']);
    }
  });
});

describe('bounds', () => {
  const many = start(
    queued('n', { slots: Array.from({ length: MAX_PENDING + 5 }, (_, index) => `n.${index}`) }),
  );
  test('at most MAX_PENDING offers, in slot order', () => {
    const out = offers(many);
    expect(out).toHaveLength(MAX_PENDING);
    expect(out).toEqual(Object.keys(many.slots).slice(0, MAX_PENDING));
  });
  test('leases and settles count too, and the next in order moves up', () => {
    let state = claimed(many, attempt(1, { attempt: 'x1' }), NOW, 'n.0');
    state = ends(claimed(state, attempt(1, { attempt: 'x2' }), NOW, 'n.1'), 'success', { slot: 'n.1' });
    expect(wants(state, NOW).leases.size + wants(state, NOW).settles.size).toBe(2);
    expect(offers(state)).toHaveLength(MAX_PENDING - 2);
    expect(offers(state).at(-1)).toBe(`n.${MAX_PENDING - 1}`);
    state = settles(state, { slot: 'n.1' });
    expect(offers(state)).toHaveLength(MAX_PENDING - 1);
    expect(offers(state).at(-1)).toBe(`n.${MAX_PENDING}`);
  });
});

describe('offers at once', () => {
  const classes = (count: number, slots: number) =>
    start(
      ...Array.from({ length: count }, (_, index) =>
        queued(`n${index}`, {
          slots: Array.from({ length: slots }, (_slot, number) => `n${index}.${number}`),
          launch: [spec('one', { dispatch: 'queue', workerClasses: [`class-${index}`] })],
        }),
      ),
    );
  const out = (state: RunState, atOnce: number) => {
    const all = [...wants(state, NOW, atOnce).offers.values()].map(({ workerClass }) => workerClass);
    return Object.fromEntries(
      [...new Set(all)].map((name) => [name, all.filter((one) => one === name).length]),
    );
  };
  test('each class has an equal part, so that one which nobody takes does not stop another', () => {
    expect(out(classes(1, 300), 200)).toEqual({ 'class-0': 200 });
    expect(out(classes(2, 300), 200)).toEqual({ 'class-0': 100, 'class-1': 100 });
    expect(out(classes(2, 3), 200)).toEqual({ 'class-0': 3, 'class-1': 3 });
  });
  test('no class has less than ten, and all together no more than may be pending', () => {
    expect(new Set(Object.values(out(classes(50, 20), 200)))).toEqual(new Set([10]));
    const many = out(classes(150, 20), 200);
    expect(Object.values(many).reduce((sum, one) => sum + one, 0)).toBe(MAX_PENDING);
  });
  test('a claim makes room for the next in order', () => {
    const state = claimed(classes(1, 300), attempt(1, { attempt: 'x' }), NOW, 'n0.0');
    const offered = [...wants(state, NOW, 200).offers.keys()];
    expect([offered.length, offered[0], offered.at(-1)]).toEqual([200, 'n0.1', 'n0.200']);
  });
});

describe('leases and deadline', () => {
  test('one lease for each live attempt, none once it is over', () => {
    const state = claimed(run(), attempt(1));
    expect([...wants(state, NOW).leases]).toEqual([
      ['att-1', { slot: slotOf(state), attempt: slotOf(state).active }],
    ]);
    for (const end of ['success', 'failure', 'revoked', 'never-attached'] as const)
      expect(wants(ends(state, end), NOW).leases.size).toBe(0);
  });
  test('the deadline is the nearest of retry times and maximum durations', () => {
    let state = start(queued('a'), queued('b'), node('c'));
    state = craft(state, { state: 'retry-wait', gate: 'time', retryTime: NOW + 300, prior: prior() });
    expect(wants(state, NOW).deadline).toBe(NOW + 300);
    state = claimed(state, attempt(1, { maxDurationMs: 200 }), NOW, 'c');
    expect(wants(state, NOW).deadline).toBe(NOW + 200);
    state = claimed(state, attempt(1, { attempt: 'b-1', maxDurationMs: 100 }), NOW, 'b');
    expect(wants(state, NOW).deadline).toBe(NOW + 100);
    expect(wants(ends(state, 'success', { slot: 'b' }), NOW).deadline).toBe(NOW + 200);
  });
});

describe('finished', () => {
  test('a running run never is', () => expect(wants(run(), NOW).finished).toBe(false));
  test('a run that is over is, once every end is recorded; it offers nothing', () => {
    const state = accept(claimed(start(queued('a'), queued('b')), attempt(1)), cancelRun());
    expect(wants(state, NOW)).toMatchObject({
      finished: false,
      offers: new Map(),
      leases: new Map(),
      deadline: null,
    });
    expect(wants(settles(state), NOW).finished).toBe(true);
  });
});

describe('closesWith', () => {
  const closes = (state: RunState, name = 'a') => closesWith(state, slotOf(state, name), NOW);
  test('the last success closes the run as succeeded', () => {
    expect(closes(ends(claimed(run(), attempt(1)), 'success'))).toBe('succeeded');
  });
  test('not while another slot is left, or another end is not recorded', () => {
    const two = start(queued('a'), queued('b'));
    const one = ends(claimed(two, attempt(1)), 'success');
    expect(closes(one)).toBeNull();
    const both = ends(claimed(one, attempt(1, { attempt: 'b-1' }), NOW, 'b'), 'success', { slot: 'b' });
    expect([closes(both), closes(both, 'b')]).toEqual([null, null]);
    expect(closes(settles(both), 'b')).toBe('succeeded');
  });
  test('not an end after which somebody else may try', () => {
    for (const end of ['failure', 'expired', 'released', 'revoked', 'never-attached'] as const)
      expect(closes(ends(claimed(run(), attempt(1)), end))).toBeNull();
  });
  test('a failure that uses up the budget of a run that fails by it', () => {
    const state = start(queued('a', {}, retry({ failures: 1, onExhausted: 'fail' })));
    const ended = ends(claimed(state, attempt(1)), 'failure');
    expect(closes(ended)).toBe('failed');
    expect(settles(ended).status).toBe('failed');
  });
  test('the last end of a cancelled run', () => {
    expect(closes(accept(claimed(run(), attempt(1)), cancelRun()))).toBe('cancelled');
  });
  test('nothing that is not ending', () => {
    expect(closes(run())).toBeNull();
    expect(closes(round(run(), 1, 'success'))).toBeNull();
  });
});
