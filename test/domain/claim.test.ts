/** When a slot may be claimed, by whom, and with which code it is refused otherwise. */
import { describe, expect, test } from 'vitest';
import { check } from '../../src/domain/decide.js';
import type { ErrorCode } from '../../src/domain/errors.js';
import { SLOT_STATES, type Slot } from '../../src/domain/types.js';
import {
  NOW,
  accept,
  attempt,
  claim,
  claimed,
  craft,
  deepFreeze,
  ends,
  expectRefused,
  node,
  prior,
  reassign,
  round,
  see,
  settles,
  slotOf,
  spec,
  start,
  verdict,
  type Claim,
} from './kit.js';

const one = spec('one');
const mixed = () =>
  start(
    node('a', {
      launch: [
        one,
        spec('queued', { workerClasses: ['coder'], dispatch: 'queue' }),
        spec('two', { workerClasses: ['senior'] }),
      ],
    }),
  );
const judge = (state: ReturnType<typeof start>, changes: Partial<Claim> = {}, now = NOW) =>
  check(state, claim(changes), now);
const waiting = (changes: Partial<Slot> = {}) =>
  craft(mixed(), { state: 'retry-wait', gate: 'open', prior: prior(), epoch: 1, number: 1, ...changes });

describe('guards before the slot', () => {
  const cases: readonly (readonly [ErrorCode, Partial<Claim>, 'failed' | 'running'])[] = [
    ['RunNotFound', { tenant: 'other', run: 'x', slot: 'x' }, 'failed'],
    ['RunClosed', { run: 'x', slot: 'x' }, 'failed'],
    ['RunMismatch', { run: 'x', slot: 'x' }, 'running'],
    ['SlotNotFound', { slot: 'x', workerClass: 'nobody' }, 'running'],
    ['SlotNotFound', { slot: 'constructor' }, 'running'],
  ];
  test.each(cases)('%s comes before the next', (code, changes, status) => {
    expectRefused(check(deepFreeze({ ...mixed(), status }), claim(changes), NOW), code);
  });
});

describe('slot state', () => {
  const expected: Partial<Record<Slot['state'], ErrorCode>> = {
    claiming: 'AlreadyLeased',
    active: 'AlreadyLeased',
  };
  test.each(SLOT_STATES.filter((state) => state !== 'open' && state !== 'retry-wait'))(
    '%s is refused and named',
    (state) => {
      // Class and specification are wrong too: the state is judged first.
      const refused = judge(craft(mixed(), { state }), { workerClass: 'nobody', spec: 'zz' });
      const { details } = expectRefused(
        refused,
        expected[state] ?? 'SlotNotClaimable',
        `the slot is ${state}`,
      );
      expect(details).toMatchObject({ slot: 'a', state });
    },
  );

  test('open is claimable', () => expect(judge(mixed())).toBeNull());

  test('a slot whose last end is not recorded is AlreadyLeased, in every state', () => {
    const active = claimed(mixed(), attempt(1));
    for (const end of ['success', 'failure', 'released', 'revoked', 'expired', 'never-attached'] as const)
      expectRefused(judge(ends(active, end)), 'AlreadyLeased', 'being recorded');
  });
});

describe('gate', () => {
  test('open is claimable', () => expect(judge(waiting())).toBeNull());
  test('reassign is not, and says so', () => {
    expectRefused(judge(waiting({ gate: 'reassign' })), 'SlotNotClaimable', 'reassign', 'gate=reassign');
  });
  test('time is claimable from the retry time on, not before', () => {
    const state = waiting({ gate: 'time', retryTime: NOW });
    const { details } = expectRefused(
      judge(state, {}, NOW - 1),
      'SlotNotClaimable',
      new Date(NOW).toISOString(),
    );
    expect(details).toEqual({
      slot: 'a',
      state: 'retry-wait',
      gate: 'time',
      retryTime: new Date(NOW).toISOString(),
    });
    expect(judge(state, {}, NOW)).toBeNull();
    expect(judge(state, {}, NOW + 1)).toBeNull();
  });
});

describe('specification and class', () => {
  test('from open any declared direct specification may be named', () => {
    expect(judge(mixed(), { spec: 'one' })).toBeNull();
    expect(judge(mixed(), { spec: 'two', workerClass: 'senior' })).toBeNull();
    expect(slotOf(accept(mixed(), claim({ spec: 'two', workerClass: 'senior' })))).toMatchObject({
      spec: 'two',
    });
  });
  test('one that is not declared is refused and named, whatever the class', () => {
    expectRefused(
      judge(mixed(), { spec: 'zz', workerClass: 'nobody' }),
      'SlotNotClaimable',
      '`zz`',
      'selected=one',
    );
  });
  test('from retry-wait only the selected one', () => {
    expect(judge(waiting(), { spec: 'one' })).toBeNull();
    const { details } = expectRefused(
      judge(waiting(), { spec: 'two', workerClass: 'senior' }),
      'SlotNotClaimable',
      '`two`',
    );
    expect(details).toMatchObject({ selected: 'one' });
  });
  test('a queue specification is not claimed directly', () => {
    expectRefused(judge(mixed(), { spec: 'queued' }), 'SlotNotClaimable', 'by queue', 'spec=queued');
    const queue = start(node('a', { launch: [spec('q', { dispatch: 'queue' })] }));
    expectRefused(judge(queue), 'SlotNotClaimable', 'by queue');
    expectRefused(judge(queue, { workerClass: 'nobody' }), 'SlotNotClaimable');
  });
  test('the class must be admitted by the selected specification', () => {
    const { details } = expectRefused(
      judge(mixed(), { workerClass: 'senior' }),
      'WorkerClassNotAdmitted',
      '`senior`',
    );
    expect(details).toEqual({ slot: 'a', spec: 'one', workerClass: 'senior', admitted: ['coder'] });
    expectRefused(judge(mixed(), { spec: 'two' }), 'WorkerClassNotAdmitted', '`coder`', 'spec=two');
  });
  test('after a reassign the requested class may claim, the old one no more', () => {
    const state = accept(
      craft(start(), { state: 'retry-wait', gate: 'reassign', prior: prior() }),
      reassign(),
    );
    expect(judge(state, { workerClass: 'senior' })).toBeNull();
    expect(judge(state, { workerClass: 'human' })).toBeNull();
    expectRefused(judge(state), 'WorkerClassNotAdmitted', 'spec=two');
  });
});

describe('a claim on its way', () => {
  const base = waiting({ gate: 'time', retryTime: NOW - 1, failure: { code: 'X', message: 'y' } });
  test('makes the slot claiming and nothing else', () => {
    const after = slotOf(accept(base, claim({ worker: 'w9' })));
    const before = slotOf(base);
    expect({ ...after, before: null }).toEqual({
      ...before,
      state: 'claiming',
      gate: null,
      retryTime: null,
      pendingWorker: 'w9',
    });
    expectRefused(judge(accept(base, claim())), 'AlreadyLeased', 'claiming');
  });

  test('that fails puts everything back and counts the failures in a row', () => {
    const failure = { code: 'StoreUnavailable', message: 'down' };
    let state = base;
    for (let times = 1; times <= 3; times += 1) {
      state = see(accept(state, claim()), { kind: 'claim-failed', slot: 'a', failure }, NOW + times);
      expect(slotOf(state)).toEqual({
        ...slotOf(base),
        claimFailure: { ...failure, at: NOW + times, times },
      });
    }
    const done = round(state, 2, 'failure');
    expect(slotOf(done).claimFailure).toBeNull();
  });

  test('that fails from open with another specification selects the first again', () => {
    const going = accept(mixed(), claim({ spec: 'two', workerClass: 'senior' }));
    const back = see(going, { kind: 'claim-failed', slot: 'a', failure: { code: 'X', message: '' } });
    expect(slotOf(back)).toMatchObject({ state: 'open', spec: 'one', pendingWorker: null, before: null });
  });

  test('that succeeds makes the slot active, by the server’s time', () => {
    const after = slotOf(claimed(accept(base, claim()), attempt(2, { startedAt: 5 }), NOW + 7));
    expect(after).toMatchObject({
      state: 'active',
      gate: null,
      retryTime: null,
      pendingWorker: null,
      epoch: 2,
      number: 2,
    });
    expect(after.active).toEqual(attempt(2, { startedAt: NOW + 7 }));
    expect(after.counts.claims).toBe(1);
    expect(after.prior).toEqual(prior());
  });

  test('that succeeds after the run is over is given back at once', () => {
    const nodes = [
      node('a'),
      node('b', { launch: [spec('one', { retry: { ...one.retry, failures: 1, onExhausted: 'fail' } })] }),
    ];
    let state = accept(start(...nodes), claim());
    state = claimed(state, attempt(1, { attempt: 'b-1' }), NOW, 'b');
    state = settles(ends(state, 'failure', { slot: 'b' }), { slot: 'b' });
    expect(state.status).toBe('failed');
    expect(slotOf(state).state).toBe('cancelled');
    const late = claimed(state, attempt(1));
    expect(slotOf(late)).toMatchObject({
      state: 'cancelled',
      active: null,
      ending: { end: 'cancelled' },
      epoch: 1,
    });
    const done = settles(late, { end: 'never-attached' });
    expect(slotOf(done)).toMatchObject({ state: 'cancelled', ending: null, prior: null });
    expect(slotOf(done).counts.claims).toBe(0);
    expect(slotOf(settles(late)).counts.claims).toBe(1);
  });

  test('a fact about a slot or attempt that is not there changes nothing', () => {
    expect(see(base, { kind: 'claim-failed', slot: 'zz', failure: { code: 'X', message: '' } })).toBe(base);
    expect(see(base, { kind: 'settled', slot: 'a', attempt: 'zz', settled: verdict('failure') })).toBe(base);
    const nothing = { end: 'failure', staged: null, failure: null } as const;
    expect(see(base, { kind: 'attempt-ended', slot: 'a', attempt: 'zz', ...nothing })).toBe(base);
  });
});
