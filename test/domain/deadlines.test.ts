/** Deadlines of slots and runs: what time alone ends, what it waits for, and when the run must wake up. */
import { describe, expect, test } from 'vitest';
import { wants } from '../../src/domain/wants.js';
import { waitsFor } from '../../src/domain/waits.js';
import { createRun } from '../../src/domain/run.js';
import type { PlanNode, RunState } from '../../src/domain/types.js';
import {
  NOW,
  accept,
  attempt,
  claim,
  claimed,
  deepFreeze,
  ends,
  node,
  pins,
  round,
  see,
  settles,
  slotOf,
  steer,
} from './kit.js';

const LIMIT = 10_000;
const limited = (changes: Partial<PlanNode> = {}): PlanNode => node('a', { deadlineMs: LIMIT, ...changes });
const runOf = (nodes: PlanNode[], deadlineMs?: number): RunState =>
  deepFreeze(
    createRun(
      {
        tenant: 'acme',
        run: 'r1',
        pins,
        plan: { nodes, ...(deadlineMs === undefined ? {} : { deadlineMs }) },
      },
      NOW,
    ),
  );
const at = (state: RunState, now: number): RunState => see(state, { kind: 'time-passed' }, now);
const exceeded = expect.objectContaining({ code: 'DeadlineExceeded' }) as unknown;

describe('of a slot', () => {
  test('counts from when it first opens, and wakes the run', () => {
    const state = runOf([limited()]);
    expect(slotOf(state).deadline).toBe(NOW + LIMIT);
    expect(wants(state, NOW).deadline).toBe(NOW + LIMIT);
    expect(waitsFor(state, slotOf(state))).toMatch(/, until 2023-11-14T22:13:30\.000Z$/);
  });

  test('starts for a dependant when its dependencies are done, and not before', () => {
    const state = runOf([node('a'), node('b', { dependsOn: ['a'], deadlineMs: LIMIT })]);
    expect(slotOf(state, 'b').deadline).toBeUndefined();
    expect(at(state, NOW + 10 * LIMIT)).toBe(state);
    const later = round(state, 1, 'success', { now: NOW + 5_000 });
    expect(slotOf(later, 'b')).toMatchObject({ state: 'open', deadline: NOW + 5_000 + LIMIT });
  });

  test('one millisecond before it nothing happens; at it the slot and its run fail', () => {
    const state = runOf([limited()]);
    expect(at(state, NOW + LIMIT - 1)).toBe(state);
    const over = at(state, NOW + LIMIT);
    expect(slotOf(over)).toMatchObject({ state: 'failed', failure: exceeded });
    expect(over.status).toBe('failed');
    expect(wants(over, NOW + LIMIT)).toMatchObject({ deadline: null, finished: true });
  });

  test('takes the attempt with it, which ends as a cancelled one and is settled before the run is over', () => {
    const working = claimed(runOf([limited()]), attempt(1));
    const over = at(working, NOW + LIMIT);
    expect(slotOf(over)).toMatchObject({
      state: 'failed',
      active: null,
      ending: { end: 'cancelled', failure: exceeded },
    });
    expect(wants(over, NOW + LIMIT)).toMatchObject({ deadline: null, finished: false });
    const done = settles(over, { failure: { code: 'DeadlineExceeded', message: 'as recorded' } });
    expect(slotOf(done)).toMatchObject({
      state: 'failed',
      prior: { status: 'cancelled', leaseStatus: 'revoked' },
    });
    expect(wants(done, NOW + LIMIT).finished).toBe(true);
  });

  test('a claim that turns out never to have attached leaves the slot failed', () => {
    const over = at(claimed(runOf([limited()]), attempt(1)), NOW + LIMIT);
    expect(slotOf(settles(over, { end: 'never-attached' }))).toMatchObject({
      state: 'failed',
      failure: exceeded,
    });
  });

  test('a deadline that comes while an end is being recorded is what the slot failed by', () => {
    const ended = ends(claimed(runOf([limited()]), attempt(1)), 'failure', { now: NOW + LIMIT - 1 });
    const over = at(ended, NOW + LIMIT);
    expect(slotOf(over)).toMatchObject({ state: 'failed', failure: exceeded });
    const done = settles(over, { end: 'failure', failure: { code: 'X', message: 'not able' } });
    expect(slotOf(done)).toMatchObject({ state: 'failed', failure: exceeded, ending: null });
  });

  test.each(['retry-wait', 'on-hold'] as const)('runs on in %s', (where) => {
    const waiting =
      where === 'on-hold'
        ? accept(runOf([limited()]), steer('hold'))
        : round(runOf([limited()]), 1, 'failure');
    expect(slotOf(waiting).state).toBe(where);
    expect(slotOf(at(waiting, NOW + LIMIT)).state).toBe('failed');
  });

  test('is not restarted by a hold and its release', () => {
    const held = accept(runOf([limited()]), steer('hold'));
    const back = accept(held, steer('releaseHold'), NOW + 5_000);
    expect(slotOf(back)).toMatchObject({ state: 'open', deadline: NOW + LIMIT });
  });

  test('waits for a success that is being recorded, and then for nothing', () => {
    const verifying = ends(claimed(runOf([limited()]), attempt(1)), 'success', { staged: 's' });
    expect(at(verifying, NOW + LIMIT)).toBe(verifying);
    expect(wants(verifying, NOW + LIMIT).deadline).toBeNull();
    expect(settles(verifying, { now: NOW + LIMIT }).status).toBe('succeeded');
    // No success after all: due at once.
    const refused = settles(verifying, { end: 'outside', now: NOW + LIMIT });
    expect(wants(refused, NOW + LIMIT).deadline).toBe(NOW + LIMIT);
    expect(at(refused, NOW + LIMIT).status).toBe('failed');
  });

  test('waits for a direct claim under way, whose attempt then ends at once', () => {
    const claiming = accept(runOf([limited()]), claim());
    expect(at(claiming, NOW + LIMIT)).toBe(claiming);
    const active = claimed(claiming, attempt(1), NOW + LIMIT);
    expect(slotOf(at(active, NOW + LIMIT))).toMatchObject({ state: 'failed' });
  });

  test('of an optional node costs only its result', () => {
    const nodes = [limited({ optional: true }), node('b', { dependsOn: ['a'] })];
    const over = at(runOf(nodes), NOW + LIMIT);
    expect(over.status).toBe('running');
    expect([slotOf(over).state, slotOf(over, 'b').state]).toEqual(['failed', 'open']);
  });

  test('the earlier of maximum duration and deadline counts', () => {
    const working = claimed(runOf([limited()]), attempt(1, { maxDurationMs: 4_000 }));
    expect(wants(working, NOW).deadline).toBe(NOW + 4_000);
    expect(slotOf(at(working, NOW + 4_000))).toMatchObject({
      state: 'retry-wait',
      ending: { end: 'max-duration' },
    });
  });
});

describe('of a run', () => {
  test('fails it at the deadline, cancels what is left and says why', () => {
    const state = runOf([node('a'), node('b', { dependsOn: ['a'] })], LIMIT);
    expect(wants(state, NOW).deadline).toBe(NOW + LIMIT);
    const working = claimed(state, attempt(1));
    expect(at(working, NOW + LIMIT - 1)).toBe(working);
    const over = at(working, NOW + LIMIT);
    expect(over).toMatchObject({ status: 'failed', failure: exceeded });
    expect([slotOf(over).state, slotOf(over, 'b').state]).toEqual(['cancelled', 'cancelled']);
    expect(slotOf(over).ending).toMatchObject({ end: 'cancelled', failure: exceeded });
    expect(wants(settles(over), NOW + LIMIT)).toMatchObject({ deadline: null, finished: true });
  });

  test('waits for the success that may end the run in time', () => {
    const verifying = ends(claimed(runOf([node('a')], LIMIT), attempt(1)), 'success', { staged: 's' });
    expect(at(verifying, NOW + LIMIT)).toBe(verifying);
    expect(wants(verifying, NOW + LIMIT).deadline).toBeNull();
    expect(settles(verifying, { now: NOW + LIMIT + 5 })).toMatchObject({ status: 'succeeded' });
  });

  test('comes after what slots past their own deadline make of the run', () => {
    const over = at(runOf([limited()], LIMIT), NOW + LIMIT);
    expect(over.status).toBe('failed');
    expect(over.failure).toBeUndefined();
    expect(slotOf(over).failure).toEqual(exceeded);
  });
});

test('without deadlines the state says nothing of them', () => {
  const state = runOf([node('a')]);
  expect(state).not.toHaveProperty('deadline');
  expect(slotOf(state)).not.toHaveProperty('deadline');
  expect(wants(state, NOW).deadline).toBeNull();
});
