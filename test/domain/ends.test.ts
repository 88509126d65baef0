/** The table of ends row by row, the store's corrections, and the budgets (design, section 2). */
import { describe, expect, test } from 'vitest';
import { ENDS } from '../../src/domain/attempt.js';
import type { EndKind, Failure, RunState, Slot } from '../../src/domain/types.js';
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
  see,
  settles,
  slotOf,
  spec,
  start,
  verdict,
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

interface Row {
  end: Exclude<EndKind, 'never-attached' | 'success'>;
  worker: string;
  lease: string;
  counts: Slot['counts'];
  spent: Slot['spent'];
  state: string;
  auto: string | null;
  manual: string | null;
}
const none = { failures: 0, losses: 0 };
const ROWS: readonly Row[] = [
  {
    end: 'failure',
    worker: 'failed',
    lease: 'released',
    counts: { ...NONE, failures: 1 },
    spent: { ...none, failures: 1 },
    state: 'retry-wait',
    auto: 'time',
    manual: 'reassign',
  },
  {
    end: 'outside',
    worker: 'failed',
    lease: 'released',
    counts: { ...NONE, failures: 1 },
    spent: { ...none, failures: 1 },
    state: 'retry-wait',
    auto: 'time',
    manual: 'reassign',
  },
  {
    end: 'expired',
    worker: 'lost',
    lease: 'expired',
    counts: { ...NONE, losses: 1 },
    spent: { ...none, losses: 1 },
    state: 'retry-wait',
    auto: 'time',
    manual: 'reassign',
  },
  {
    end: 'max-duration',
    worker: 'lost',
    lease: 'expired',
    counts: { ...NONE, losses: 1 },
    spent: { ...none, losses: 1 },
    state: 'retry-wait',
    auto: 'time',
    manual: 'reassign',
  },
  {
    end: 'released',
    worker: 'released',
    lease: 'released',
    counts: { ...NONE, releases: 1 },
    spent: none,
    state: 'retry-wait',
    auto: 'open',
    manual: 'open',
  },
  {
    end: 'revoked',
    worker: 'cancelled',
    lease: 'revoked',
    counts: NONE,
    spent: none,
    state: 'retry-wait',
    auto: 'reassign',
    manual: 'reassign',
  },
  {
    end: 'cancelled',
    worker: 'cancelled',
    lease: 'revoked',
    counts: NONE,
    spent: none,
    state: 'cancelled',
    auto: null,
    manual: null,
  },
];

describe.each(ROWS)('$end', (row) => {
  test.each(['auto', 'manual'] as const)('in %s mode: two facts, the end and its record', (mode) => {
    const before = active(runWith({ mode }));
    const ended = slotOf(ends(before, row.end, { failure: said, staged: 's1', now: NOW + 1 }));
    const { attempt: id, number, worker, workerClass, ownerActor } = slotOf(before).active ?? attempt(0);
    const priorNow = { attempt: id, number, worker, workerClass, ownerActor, status: row.worker };
    expect(ended).toMatchObject({
      state: row.state,
      gate: row[mode],
      active: null,
      before: null,
      failure: said,
    });
    expect(ended.retryTime).toBe(row[mode] === 'time' ? NOW + 5_001 : null);
    expect(ended.counts).toEqual(row.counts);
    expect(ended.spent).toEqual(row.spent);
    expect(ended.prior).toEqual({ ...priorNow, leaseStatus: 'live' });
    expect(ended.ending).toMatchObject({
      end: row.end,
      failure: said,
      staged: 's1',
      endedAt: NOW + 1,
      attempt: slotOf(before).active,
    });

    const settled = slotOf(
      settles(ends(before, row.end, { failure: said, now: NOW + 1 }), { failure: said, now: NOW + 9 }),
    );
    expect(settled).toEqual({ ...ended, ending: null, prior: { ...priorNow, leaseStatus: row.lease } });
  });

  test('a late or second end of the same attempt changes nothing', () => {
    const ended = ends(active(), row.end);
    const again = {
      kind: 'attempt-ended',
      slot: 'a',
      attempt: 'att-1',
      staged: null,
      failure: null,
    } as const;
    for (const end of [...ROWS.map((other) => other.end), 'success', 'never-attached'] as const)
      expect(see(ended, { ...again, end })).toBe(ended);
    const settled = settles(ended);
    expect(see(settled, { ...again, end: 'success' })).toBe(settled);
    expect(see(settled, { kind: 'settled', slot: 'a', attempt: 'att-1', settled: verdict('success') })).toBe(
      settled,
    );
  });
});

test('the table has every end but the claim that never attached', () => {
  expect(Object.keys(ENDS).sort()).toEqual(['success', ...ROWS.map((row) => row.end)].sort());
});

describe('success', () => {
  test('stays active until it is settled, and nothing but the ending changes', () => {
    const before = slotOf(active());
    const ended = slotOf(ends(active(), 'success', { staged: 's1' }));
    expect({ ...ended, ending: null }).toEqual(before);
    expect(ended.ending).toMatchObject({ end: 'success', staged: 's1' });
  });

  test('settled: succeeded, with the result, and nothing of the way there left', () => {
    const done = settles(ends(active(), 'success'), { result: 'sha256:x' });
    expect(done.status).toBe('succeeded');
    expect(slotOf(done)).toMatchObject({
      state: 'succeeded',
      gate: null,
      result: 'sha256:x',
      active: null,
      before: null,
      ending: null,
      failure: null,
      counts: NONE,
      prior: { status: 'succeeded', leaseStatus: 'released', worker: 'w1' },
    });
  });

  test('a maximum duration that passes while it is recorded does not touch it', () => {
    const state = claimed(runWith(), attempt(1, { maxDurationMs: 10 }));
    const ended = ends(state, 'success', { now: NOW + 9 });
    expect(see(ended, { kind: 'time-passed' }, NOW + 1_000)).toBe(ended);
  });
});

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

describe('maximum duration', () => {
  test('ends the attempt as lost from exactly then on', () => {
    const state = claimed(runWith(), attempt(1, { maxDurationMs: 1_000 }));
    expect(see(state, { kind: 'time-passed' }, NOW + 999)).toBe(state);
    const over = slotOf(see(state, { kind: 'time-passed' }, NOW + 1_000));
    expect(over).toMatchObject({
      state: 'retry-wait',
      gate: 'time',
      retryTime: NOW + 6_000,
      active: null,
      ending: { end: 'max-duration', endedAt: NOW + 1_000 },
      failure: { code: 'MaxDuration' },
      counts: { losses: 1 },
    });
  });

  test('without one no time ends it', () => {
    expect(see(active(), { kind: 'time-passed' }, NOW + 1e12)).toStrictEqual(active());
  });

  test('of several attempts ends those that are due', () => {
    let state = start(node('a'), node('b'), node('c'));
    state = claimed(state, attempt(1, { attempt: 'a-1', maxDurationMs: 10 }));
    state = claimed(state, attempt(1, { attempt: 'b-1', maxDurationMs: 20 }), NOW, 'b');
    state = claimed(state, attempt(1, { attempt: 'c-1', maxDurationMs: 10 }), NOW, 'c');
    const after = see(state, { kind: 'time-passed' }, NOW + 15);
    expect(['a', 'b', 'c'].map((name) => slotOf(after, name).state)).toEqual([
      'retry-wait',
      'active',
      'retry-wait',
    ]);
  });
});
