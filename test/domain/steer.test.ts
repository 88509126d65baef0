/** Hold, release-hold, revoke and cancel: from which states, with which code otherwise, and what they leave. */
import { describe, expect, test } from 'vitest';
import { check } from '../../src/domain/decide.js';
import type { ErrorCode } from '../../src/domain/errors.js';
import { SLOT_STATES, type Slot, type SlotState } from '../../src/domain/types.js';
import {
  NOW,
  accept,
  attempt,
  cancelRun,
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
  settles,
  slotOf,
  start,
  steer,
} from './kit.js';

const NAMES = ['hold', 'releaseHold', 'revoke', 'cancelSlot'] as const;
const FROM: Record<(typeof NAMES)[number], { states: SlotState[]; code: ErrorCode }> = {
  hold: { states: ['blocked', 'open', 'retry-wait'], code: 'SlotNotClaimable' },
  releaseHold: { states: ['on-hold'], code: 'SlotNotClaimable' },
  revoke: { states: ['active'], code: 'StaleLease' },
  cancelSlot: { states: ['blocked', 'open', 'active', 'on-hold', 'retry-wait'], code: 'SlotNotClaimable' },
};
const held = { from: 'open', gate: null, reason: 'x', actor: 'ada', at: NOW } as const;
const inState = (state: SlotState) =>
  craft(start(), {
    state,
    gate: state === 'retry-wait' ? 'reassign' : null,
    active: state === 'active' ? attempt(1) : null,
    hold: state === 'on-hold' ? held : null,
    prior: state === 'retry-wait' ? prior() : null,
  });

describe.each(NAMES)('%s', (name) => {
  const { states, code } = FROM[name];
  test.each(SLOT_STATES)('of a slot that is %s', (state) => {
    const refused = check(inState(state), steer(name), NOW);
    if (states.includes(state)) return expect(refused).toBeNull();
    const expected = name === 'cancelSlot' && state === 'claiming' ? 'AlreadyLeased' : code;
    expectRefused(refused, expected, `the slot is ${state}`, 'slot=a', `state=${state}`);
  });

  test.each([null, '', ' ', '\u200b'])('needs a reason, not %j, once the state allows it', (reason) => {
    const state = inState(states[0] ?? 'open');
    expectRefused(check(state, steer(name, 'a', reason), NOW), 'ReasonRequired');
    const other = SLOT_STATES.find((one) => !states.includes(one)) ?? 'open';
    expect(check(inState(other), steer(name, 'a', reason), NOW)?.code).not.toBe('ReasonRequired');
  });

  test('asks tenant, run and slot first, in that order', () => {
    const open = inState('succeeded');
    const foreign = { ...steer(name, 'zz'), tenant: 'other', run: 'r2' };
    expectRefused(check(open, foreign, NOW), 'RunNotFound');
    const closed = deepFreeze({ ...open, status: 'failed' as const });
    expectRefused(check(closed, { ...foreign, tenant: 'acme' }, NOW), 'RunClosed');
    expectRefused(check(open, { ...foreign, tenant: 'acme' }, NOW), 'RunMismatch');
    expectRefused(check(open, steer(name, 'zz'), NOW), 'SlotNotFound');
  });
});

test('while an end is recorded hold, revoke and cancel wait', () => {
  const active = claimed(start(), attempt(1));
  for (const name of ['revoke', 'cancelSlot'] as const)
    expectRefused(check(ends(active, 'success'), steer(name), NOW), 'LeaseNotTerminal', 'attempt=att-1');
  for (const name of ['hold', 'cancelSlot'] as const)
    expectRefused(check(ends(active, 'failure'), steer(name), NOW), 'LeaseNotTerminal', 'attempt=att-1');
});

describe('hold and release-hold', () => {
  const cases: [string, Partial<Slot>][] = [
    ['open', { state: 'open' }],
    ['retry-wait, gate time', { state: 'retry-wait', gate: 'time', retryTime: NOW + 9, prior: prior() }],
    ['retry-wait, gate reassign', { state: 'retry-wait', gate: 'reassign', prior: prior() }],
    ['retry-wait, gate open', { state: 'retry-wait', gate: 'open', prior: prior() }],
  ];
  test.each(cases)('%s: there and back, exactly', (_, changes) => {
    const before = craft(start(), changes);
    const on = accept(before, steer('hold', 'a', 'pause'), NOW + 1);
    const { state, gate } = slotOf(before);
    const hold = { from: state, gate, reason: 'pause', actor: 'ada', at: NOW + 1 };
    expect(slotOf(on)).toEqual({ ...slotOf(before), state: 'on-hold', gate: null, hold });
    expectRefused(check(on, claim(), NOW + 99), 'SlotNotClaimable', 'on-hold');
    expectRefused(check(on, reassign(), NOW + 99), 'SlotNotInRetryWait', 'on-hold');
    expect(accept(on, steer('releaseHold'), NOW + 50)).toEqual(before);
  });

  test('a slot held while blocked stays held when its dependencies are done, and opens when released', () => {
    let state = accept(start(node('a'), node('b', { dependsOn: ['a'] })), steer('hold', 'b'));
    expect(slotOf(accept(state, steer('releaseHold', 'b')), 'b').state).toBe('blocked');
    state = round(state, 1, 'success');
    expect(slotOf(state, 'b').state).toBe('on-hold');
    expect(slotOf(accept(state, steer('releaseHold', 'b')), 'b').state).toBe('open');
  });

  test('a claim that lands on a held slot is given back at once', () => {
    const on = accept(start(), steer('hold'));
    const late = slotOf(claimed(on, attempt(1)));
    expect(late).toMatchObject({ state: 'on-hold', active: null, ending: { end: 'cancelled' } });
  });
});

describe('revoke', () => {
  test('ends the attempt, waits for a reassign and says who and why', () => {
    const revoked = accept(claimed(start(), attempt(1)), steer('revoke', 'a', 'runs wild'), NOW + 4);
    expect(slotOf(revoked)).toMatchObject({
      state: 'retry-wait',
      gate: 'reassign',
      active: null,
      failure: { code: 'Revoked', message: 'runs wild (by ada)' },
      ending: { end: 'revoked', endedAt: NOW + 4 },
      counts: { claims: 1, failures: 0, losses: 0, releases: 0 },
    });
    expectRefused(check(revoked, reassign(), NOW), 'LeaseNotTerminal');
    expect(check(settles(revoked), reassign(), NOW)).toBeNull();
  });
});

describe('cancel', () => {
  test.each(['open', 'blocked', 'on-hold', 'retry-wait'] as const)('of a slot that is %s', (state) => {
    const other = start(node('a'), node('b'));
    const before = craft(other, { ...slotOf(inState(state)), state });
    const after = accept(before, steer('cancelSlot', 'a', 'not needed'));
    expect(slotOf(after)).toMatchObject({
      state: 'cancelled',
      gate: null,
      retryTime: null,
      hold: null,
      failure: { code: 'Cancelled', message: 'not needed (by ada)' },
    });
    expect(after.status).toBe('running');
    expect(after.slots['b']).toBe(before.slots['b']);
  });

  test('of an active slot ends its attempt', () => {
    const after = accept(claimed(start(), attempt(1)), steer('cancelSlot'));
    expect(slotOf(after)).toMatchObject({
      state: 'cancelled',
      active: null,
      ending: { end: 'cancelled' },
      prior: { status: 'cancelled', leaseStatus: 'live' },
    });
    expect(slotOf(settles(after)).prior).toMatchObject({ leaseStatus: 'revoked' });
  });

  test('of the run cancels whatever is not over, and ends what lives', () => {
    let state = start(node('a'), node('b'), node('c', { dependsOn: ['b'] }), node('d'));
    state = round(state, 1, 'success', { slot: 'd' });
    state = accept(claimed(state, attempt(1)), cancelRun(), NOW + 1);
    expect(state.status).toBe('cancelled');
    expect(Object.values(state.slots).map((slot) => slot.state)).toEqual([
      'cancelled',
      'cancelled',
      'cancelled',
      'succeeded',
    ]);
    expect(slotOf(state).ending).toMatchObject({ end: 'cancelled', failure: { code: 'Cancelled' } });
    for (const command of [cancelRun(), claim({ slot: 'b' }), reassign(), steer('hold', 'b')])
      expectRefused(check(state, command, NOW), 'RunClosed', 'cancelled');
  });

  test('of the run waits for a claim or success that is being recorded, and needs a reason', () => {
    const success = ends(claimed(start(), attempt(1)), 'success');
    expectRefused(check(success, cancelRun(), NOW), 'LeaseNotTerminal', 'slot=a');
    expectRefused(check(accept(start(), claim()), cancelRun(), NOW), 'LeaseNotTerminal', 'state=claiming');
    expectRefused(check(start(), cancelRun(' '), NOW), 'ReasonRequired');
    expectRefused(check(start(), { ...cancelRun(), tenant: 'other' }, NOW), 'RunNotFound');
  });
});
