/** The table of ends row by row, and the maximum duration (design, section 2). */
import { describe, expect, test } from 'vitest';
import { ENDS } from '../../src/domain/attempt.js';
import type { EndKind, Failure, RunState, Slot } from '../../src/domain/types.js';
import {
  NOW,
  attempt,
  claimed,
  ends,
  node,
  retry,
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
