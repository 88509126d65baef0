/** What a slot waits for, in words, for every state. */
import { expect, test } from 'vitest';
import type { RunState } from '../../src/domain/types.js';
import { waitsFor } from '../../src/domain/waits.js';
import {
  NOW,
  accept,
  attempt,
  claim,
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

const queue = start(node('a', { launch: [spec('one', { dispatch: 'queue' })] }));
const manual = start(
  node('a', {
    launch: [
      spec('one', { retry: retry({ mode: 'manual' }) }),
      spec('two', { workerClasses: ['senior', 'human'] }),
    ],
  }),
);
const active = claimed(start(), attempt(1));
const failure = { code: 'PinsDamaged', message: 'x' };
const iso = new Date(NOW + 5_000).toISOString();

const CASES: [string, RunState, string | null, string?][] = [
  ['blocked', start(node('a'), node('b'), node('c', { dependsOn: ['a', 'b'] })), 'nodes a, b', 'c'],
  ['open, queue', queue, 'a host of class coder'],
  ['open, direct', start(), 'a direct claim by coder'],
  [
    'open after a failed claim',
    see(queue, { kind: 'claim-failed', slot: 'a', failure }),
    'a host of class coder (last claim failed: PinsDamaged: x)',
  ],
  ['claiming', accept(start(), claim({ worker: 'dora' })), 'the claim of dora'],
  ['active', active, 'w1 to finish'],
  ['active, success', ends(active, 'success'), 'the success to be recorded'],
  ['an end', ends(active, 'failure'), 'the end of the last attempt to be recorded'],
  [
    'cancelled, not recorded',
    accept(active, steer('cancelSlot')),
    'the end of the last attempt to be recorded',
  ],
  ['on hold', accept(start(), steer('hold', 'a', 'budget talk')), 'release-hold (held by ada: budget talk)'],
  ['gate time', round(start(), 1, 'failure'), `a direct claim by coder, from ${iso}`],
  ['gate time, queue', round(queue, 1, 'expired'), `a host of class coder, from ${iso}`],
  ['gate open', round(start(), 1, 'released'), 'a direct claim by coder'],
  ['reassigned', accept(round(manual, 1, 'failure'), reassign()), 'a direct claim by senior or human'],
  ['manual retry', round(manual, 1, 'failure'), 'a reassign (manual retry)'],
  [
    'manual retry with owner',
    craft(round(manual, 1, 'failure'), { prior: prior() }),
    'a reassign by ada (manual retry)',
  ],
  ['revoked', settles(accept(active, steer('revoke'))), 'a reassign (its lease was revoked)'],
  [
    'budget',
    [1, 2, 3].reduce((state, number) => round(state, number, 'failure'), start()),
    'a reassign (budget of 3 failures used up)',
  ],
  [
    'losses',
    [1, 2, 3, 4, 5].reduce((state, number) => round(state, number, 'expired'), start()),
    'a reassign (budget of 5 losses used up)',
  ],
  ['succeeded', round(start(), 1, 'success'), null],
  ['failed', craft(start(), { state: 'failed' }), null],
  ['cancelled', accept(start(), steer('cancelSlot')), null],
];

test.each(CASES)('%s', (_, state, words, name = 'a') => {
  expect(waitsFor(state, slotOf(state, name))).toBe(words);
});
