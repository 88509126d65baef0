/** The store's verdict on an end may differ from what the run saw: what is corrected then. */
import { describe, expect, test } from 'vitest';
import type { Failure, RunState } from '../../src/domain/types.js';
import {
  NOW,
  accept,
  attempt,
  cancelRun,
  claim,
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
const manual = () => runWith({ mode: 'manual' });
const active = (state = runWith()) => claimed(state, attempt(1));
const NONE = { claims: 1, failures: 0, losses: 0, releases: 0 };

describe('corrections by the store', () => {
  const outside: Failure = { code: 'CompletedOutside', message: 'not the holder' };
  test('success → outside counts a failure, by mode', () => {
    const corrected = slotOf(
      settles(ends(active(), 'success', { now: NOW + 2 }), {
        end: 'outside',
        failure: outside,
        now: NOW + 50,
      }),
    );
    // The pause counts from the end, not from its record.
    expect(corrected).toMatchObject({
      state: 'retry-wait',
      gate: 'time',
      retryTime: NOW + 5_002,
      active: null,
      ending: null,
      failure: outside,
      result: null,
    });
    expect(corrected.counts).toEqual({ ...NONE, failures: 1 });
    expect(corrected.prior).toMatchObject({ status: 'failed', leaseStatus: 'released' });
    expect(slotOf(settles(ends(active(manual()), 'success'), { end: 'outside' })).gate).toBe('reassign');
  });

  test('released → outside is a failure instead of a release', () => {
    const corrected = slotOf(
      settles(ends(active(manual()), 'released'), { end: 'outside', failure: outside }),
    );
    expect(corrected).toMatchObject({
      state: 'retry-wait',
      gate: 'reassign',
      failure: outside,
      spent: { failures: 1, losses: 0 },
    });
    expect(corrected.counts).toEqual({ ...NONE, failures: 1 });
  });

  test('failure → outside counts one failure, not two', () => {
    const corrected = slotOf(settles(ends(active(), 'failure'), { end: 'outside', failure: outside }));
    expect(corrected.counts).toEqual({ ...NONE, failures: 1 });
    expect(corrected.spent).toEqual({ failures: 1, losses: 0 });
  });

  test('the last success of a run → outside: the run goes on', () => {
    expect(settles(ends(active(), 'success'), { end: 'outside' }).status).toBe('running');
  });

  const kinds = ['expired', 'max-duration', 'failure', 'outside', 'released', 'revoked', 'success'] as const;
  test.each(kinds)(
    '%s → never attached: the slot is exactly where it was, and the failed claim can be read',
    (end) => {
      // A slot with a past: a failure, then a reassign with its budgets restarted.
      const past = accept(
        round(manual(), 1, 'failure', { failure: said }),
        reassign({ workerClass: 'coder', actor: 'ada' }),
      );
      const gone = settles(ends(claimed(past, attempt(2)), end, { failure: said, now: NOW + 3 }), {
        end: 'never-attached',
      });
      const { claimFailure, ...rest } = slotOf(gone);
      const { claimFailure: _, ...was } = slotOf(past);
      // Never reused, not even by a claim that came to nothing.
      expect(rest).toEqual({ ...was, epoch: 2 });
      expect(claimFailure).toMatchObject({ at: NOW + 3, times: 1 });
      expect(slotOf(claimed(gone, attempt(2, { epoch: 3 }))).reassign).toEqual(was.reassign);
    },
  );

  test('never attached as the run saw it: undone at once, no claim before it is recorded, counted in a row', () => {
    let state = runWith();
    for (let times = 1; times <= 3; times += 1) {
      const ended = ends(
        claimed(state, attempt(1, { epoch: times, attempt: `x${times}` })),
        'never-attached',
        { failure: said },
      );
      expect(slotOf(ended)).toMatchObject({
        state: 'open',
        active: null,
        counts: { claims: 0 },
        ending: { end: 'never-attached' },
      });
      state = settles(ended);
      expect(slotOf(state)).toMatchObject({
        state: 'open',
        ending: null,
        prior: null,
        number: 0,
        epoch: times,
        claimFailure: { ...said, times },
      });
    }
  });

  test('never attached without a failure gets one that says so', () => {
    expect(slotOf(ends(active(), 'never-attached')).claimFailure?.message).toContain('never attached');
  });

  test('never attached → expired: it did attach, so it is a loss of the attempt that was claimed', () => {
    const nodes = node('a', {
      launch: [spec('one'), spec('two', { workerClasses: ['senior'], retry: retry({ mode: 'manual' }) })],
    });
    const going = accept(start(nodes), claim({ spec: 'two', workerClass: 'senior' }));
    const ended = ends(claimed(going, attempt(1, { spec: 'two', workerClass: 'senior' })), 'never-attached');
    expect(slotOf(ended)).toMatchObject({ state: 'open', spec: 'one', number: 0 });
    const lost = slotOf(settles(ended, { end: 'expired', failure: said }));
    // By the policy of the specification under which it was claimed.
    expect(lost).toMatchObject({
      state: 'retry-wait',
      gate: 'reassign',
      spec: 'two',
      number: 1,
      claimFailure: null,
      failure: said,
    });
    expect(lost.counts).toEqual({ ...NONE, losses: 1 });
    expect(lost.prior).toMatchObject({ attempt: 'att-1', status: 'lost', leaseStatus: 'expired' });
  });

  test.each(['expired', 'failure', 'released', 'never-attached'] as const)(
    '%s, then the run is cancelled, then the store says otherwise: the record changes, the slot stays cancelled',
    (end) => {
      const cancelled = accept(ends(active(), end, { failure: said }), cancelRun());
      for (const [found, counts] of [
        ['never-attached', { ...NONE, claims: 0 }],
        ['expired', { ...NONE, losses: 1 }],
        ['outside', { ...NONE, failures: 1 }],
      ] as const) {
        const after = settles(cancelled, { end: found, failure: said });
        expect(slotOf(after)).toMatchObject({
          state: 'cancelled',
          gate: null,
          retryTime: null,
          active: null,
          ending: null,
        });
        expect(slotOf(after).counts).toEqual(counts);
        expect(slotOf(after).prior?.attempt).toBe(found === 'never-attached' ? undefined : 'att-1');
      }
    },
  );

  test('a success found late does not revive a cancelled slot', () => {
    const after = settles(accept(active(), cancelRun()), { end: 'success', result: 'sha256:x' });
    expect(slotOf(after)).toMatchObject({ state: 'cancelled', result: null, prior: { status: 'succeeded' } });
    expect(after.status).toBe('cancelled');
  });
});
