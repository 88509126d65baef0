/** The run as a whole: dependencies, nodes of several slots, optional nodes, and how it ends. */
import { describe, expect, test } from 'vitest';
import { createRun } from '../../src/domain/run.js';
import type { PlanNode, RunState } from '../../src/domain/types.js';
import { wants } from '../../src/domain/wants.js';
import {
  NOW,
  accept,
  attempt,
  cancelRun,
  claimed,
  ends,
  node,
  pins,
  retry,
  round,
  settles,
  slotOf,
  spec,
  start,
  steer,
} from './kit.js';

/** A node whose first failure fails the slot. */
const strict = (name: string, changes: Partial<PlanNode> = {}) =>
  node(name, { launch: [spec('one', { retry: retry({ failures: 1, onExhausted: 'fail' }) })], ...changes });
const states = (state: RunState) =>
  Object.fromEntries(Object.entries(state.slots).map(([name, slot]) => [name, slot.state]));
const succeed = (state: RunState, ...slots: string[]) =>
  slots.reduce((at, slot) => round(at, 1, 'success', { slot }), state);
const fail = (state: RunState, slot: string) => round(state, 1, 'failure', { slot });
const cancel = (state: RunState, slot: string) => accept(state, steer('cancelSlot', slot));

describe('launch', () => {
  test('slots without dependencies are open with their first specification and class, the others blocked', () => {
    const state = start(node('a'), node('b', { dependsOn: ['a'], slots: ['b.x', 'b.y'] }));
    expect(states(state)).toEqual({ a: 'open', 'b.x': 'blocked', 'b.y': 'blocked' });
    expect(slotOf(state)).toMatchObject({
      spec: 'one',
      workerClass: 'coder',
      epoch: null,
      number: 0,
      prior: null,
    });
    expect(state.status).toBe('running');
  });
  test('a node without specification is refused', () => {
    const plan = { nodes: [node('a', { launch: [] })] };
    expect(() => createRun({ tenant: 'acme', run: 'r1', pins, plan }, NOW)).toThrow(
      'no launch specification',
    );
  });
});

describe('dependencies', () => {
  test('a chain opens one after the other', () => {
    let state = start(node('a'), node('b', { dependsOn: ['a'] }), node('c', { dependsOn: ['b'] }));
    state = succeed(state, 'a');
    expect(states(state)).toEqual({ a: 'succeeded', b: 'open', c: 'blocked' });
    state = succeed(state, 'b');
    expect(states(state).c).toBe('open');
    expect(succeed(state, 'c').status).toBe('succeeded');
  });
  test('not before the success is recorded', () => {
    const state = ends(claimed(start(node('a'), node('b', { dependsOn: ['a'] })), attempt(1)), 'success');
    expect(states(state).b).toBe('blocked');
    expect(states(settles(state)).b).toBe('open');
  });
  test('all of several are needed, whatever the order of the nodes', () => {
    const state = start(node('join', { dependsOn: ['a', 'b'] }), node('a'), node('b'));
    expect(states(succeed(state, 'a')).join).toBe('blocked');
    expect(states(succeed(state, 'b', 'a')).join).toBe('open');
  });
  test('all slots of a node are needed, and all slots of a dependant open', () => {
    const state = start(
      node('a', { slots: ['a.1', 'a.2'] }),
      node('b', { slots: ['b.1', 'b.2'], dependsOn: ['a'] }),
    );
    expect(states(succeed(state, 'a.1'))).toMatchObject({ 'b.1': 'blocked', 'b.2': 'blocked' });
    expect(states(succeed(state, 'a.1', 'a.2'))).toMatchObject({ 'b.1': 'open', 'b.2': 'open' });
  });
});

describe('optional nodes', () => {
  const plan = () => start(strict('a', { optional: true }), node('b', { dependsOn: ['a'] }), node('c'));
  test.each([
    ['fails', fail, 'failed'],
    ['is cancelled', cancel, 'cancelled'],
  ] as const)('one that %s opens its dependants and does not end the run', (_, how, left) => {
    const state = how(plan(), 'a');
    expect(states(state)).toEqual({ a: left, b: 'open', c: 'open' });
    expect(state.status).toBe('running');
    expect(succeed(state, 'b', 'c').status).toBe('succeeded');
  });
  test('dependants wait until every slot of it is over', () => {
    const state = start(
      strict('a', { optional: true, slots: ['a.1', 'a.2'] }),
      node('b', { dependsOn: ['a'] }),
    );
    const half = fail(state, 'a.1');
    expect(states(half).b).toBe('blocked');
    expect(states(succeed(half, 'a.2')).b).toBe('open');
  });
  test('a run of failed optional nodes only succeeds', () => {
    expect(fail(start(strict('a', { optional: true })), 'a').status).toBe('succeeded');
  });
  test('the run waits for an optional node that is at work', () => {
    const state = succeed(start(node('a'), node('b', { optional: true })), 'a');
    expect(state.status).toBe('running');
    expect(succeed(state, 'b').status).toBe('succeeded');
  });
});

describe('a failed slot', () => {
  test('fails the run at once: blocked and open slots are cancelled, live attempts end', () => {
    let state = start(strict('a'), node('b', { dependsOn: ['a'] }), node('c'), node('d'), node('e'));
    state = claimed(succeed(state, 'd'), attempt(1, { attempt: 'c-1' }), NOW, 'c');
    state = fail(state, 'a');
    expect(state.status).toBe('failed');
    expect(states(state)).toEqual({
      a: 'failed',
      b: 'cancelled',
      c: 'cancelled',
      d: 'succeeded',
      e: 'cancelled',
    });
    expect(slotOf(state, 'c').ending).toMatchObject({ end: 'cancelled' });
    expect(wants(state, NOW).finished).toBe(false);
    expect(wants(settles(state, { slot: 'c' }), NOW).finished).toBe(true);
  });

  const verified = () => {
    let state = start(strict('a'), node('c'));
    state = ends(claimed(state, attempt(1, { attempt: 'c-1' }), NOW, 'c'), 'success', { slot: 'c' });
    state = fail(state, 'a');
    expect(states(state)).toEqual({ a: 'failed', c: 'active' });
    return state;
  };
  test('lets a success that is being recorded stand', () => {
    const state = settles(verified(), { slot: 'c', result: 'sha256:x' });
    expect(states(state).c).toBe('succeeded');
    expect(state.status).toBe('failed');
    expect(wants(state, NOW).finished).toBe(true);
  });
  test.each(['outside', 'never-attached'] as const)(
    'a success that turns out to be %s is cancelled, and the run ends',
    (end) => {
      const state = settles(verified(), { slot: 'c', end });
      expect(slotOf(state, 'c')).toMatchObject({
        state: 'cancelled',
        gate: null,
        ending: null,
        active: null,
      });
      expect(state.status).toBe('failed');
      expect(wants(state, NOW).finished).toBe(true);
    },
  );
});

describe('a cancelled slot', () => {
  test('ends the run as cancelled when nothing else can go on; its dependants are cancelled with it', () => {
    const state = cancel(
      start(node('a'), node('b', { dependsOn: ['a'] }), node('c', { dependsOn: ['b'] })),
      'a',
    );
    expect(states(state)).toEqual({ a: 'cancelled', b: 'cancelled', c: 'cancelled' });
    expect(state.status).toBe('cancelled');
  });
  test('lets the rest of the run go on to its end', () => {
    let state = cancel(
      start(node('a'), node('b', { dependsOn: ['a'] }), node('c'), node('d', { dependsOn: ['c'] })),
      'a',
    );
    expect(state.status).toBe('running');
    state = succeed(state, 'c');
    expect(states(state)).toMatchObject({ b: 'blocked', d: 'open' });
    state = succeed(state, 'd');
    expect(state.status).toBe('cancelled');
    expect(states(state)).toEqual({ a: 'cancelled', b: 'cancelled', c: 'succeeded', d: 'succeeded' });
  });
  test('a failure of another slot still fails the run', () => {
    expect(fail(cancel(start(node('a'), strict('c')), 'a'), 'c').status).toBe('failed');
  });
  test('an optional node cancelled behind it lets its own dependants go on', () => {
    const plan = [
      node('a'),
      node('b', { dependsOn: ['a'], optional: true }),
      node('c', { dependsOn: ['b'] }),
      node('x'),
    ];
    let state = cancel(cancel(start(...plan), 'a'), 'b');
    expect(states(state)).toMatchObject({ c: 'open' });
    state = accept(succeed(state, 'x'), steer('hold', 'c'));
    expect(state.status).toBe('running');
    expect(succeed(accept(state, steer('releaseHold', 'c')), 'c').status).toBe('cancelled');
  });
  test('a held slot that can never open does not keep the run', () => {
    const state = accept(start(node('a'), node('b', { dependsOn: ['a'] })), steer('hold', 'b'));
    expect(cancel(state, 'a').status).toBe('cancelled');
  });
});

test('nothing changes a run that is over', () => {
  const over = accept(start(), cancelRun());
  const late = claimed(over, attempt(1), NOW + 5);
  expect(late.status).toBe('cancelled');
  expect(slotOf(settles(late)).state).toBe('cancelled');
});
