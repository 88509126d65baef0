/**
 * What runs are found by: the list of what waits. It names the commands that slots wait for, tells nothing of them in runs of
 * earlier versions, and is never larger than a server takes.
 */
import { expect, test } from 'vitest';
import { utf8Bytes } from '../../src/domain/text.js';
import type { RunState } from '../../src/domain/types.js';
import { waitingList } from '../../src/domain/waits.js';
import {
  accept,
  attempt,
  cancelRun,
  claimed,
  node,
  reassign,
  retry,
  round,
  settles,
  spec,
  start,
  steer,
} from './kit.js';

const launch = [
  spec('one', { retry: retry({ mode: 'manual' }) }),
  spec('two', { workerClasses: ['senior'] }),
];
const two = start(node('a', { launch }), node('b'));
const lost = round(two, 1, 'expired');
const listed = (state: RunState) => waitingList(state, { commands: true });

test.each<[string, RunState, string[]]>([
  ['open', two, ['a:coder', 'b:coder']],
  ['active', claimed(two, attempt(1)), ['b:coder']],
  ['waits for a reassign', lost, ['reassign', 'a:coder', 'b:coder']],
  ['reassigned', accept(lost, reassign()), ['a:senior', 'b:coder']],
  ['revoked', settles(accept(claimed(two, attempt(1)), steer('revoke'))), ['reassign', 'a:coder', 'b:coder']],
  ['waits for its time', round(start(), 1, 'failure'), ['a:coder']],
  ['held', accept(two, steer('hold')), ['release-hold', 'b:coder']],
  ['held while it waited for a reassign', accept(lost, steer('hold')), ['release-hold', 'b:coder']],
  ['held and lost', accept(lost, steer('hold', 'b')), ['reassign', 'release-hold', 'a:coder']],
  [
    'held before it opened',
    accept(start(node('a'), node('b', { dependsOn: ['a'] })), steer('hold', 'b')),
    ['release-hold', 'a:coder'],
  ],
  ['released from hold', accept(accept(two, steer('hold')), steer('releaseHold')), ['a:coder', 'b:coder']],
  ['over', accept(accept(lost, steer('hold', 'b')), cancelRun()), []],
])('%s', (_, state, list) => {
  expect(listed(state)).toEqual(list);
  // Without the commands it is what runs of earlier versions have in their histories.
  const before = list.filter((value) => value.includes(':'));
  expect(waitingList(state, { commands: false })).toEqual(before);
});

test('a list of many slots stops at fifty, the commands with them', () => {
  const many = start(...Array.from({ length: 80 }, (_, index) => node(`n${index}`)));
  expect(listed(many)).toHaveLength(50);
  const held = listed(accept(many, steer('hold', 'n0')));
  expect(held).toHaveLength(50);
  expect(held[0]).toBe('release-hold');
});

test('a list of long names stops before the server’s limit, and no sooner', () => {
  const long = (index: number) => `${index}-`.padEnd(60, 'x');
  const many = start(...Array.from({ length: 80 }, (_, index) => node(long(index))));
  const list = listed(many);
  const size = (values: readonly string[]) => utf8Bytes(JSON.stringify(values));
  expect(size(list)).toBeLessThanOrEqual(2_048);
  expect(size([...list, `${long(list.length)}:coder`])).toBeGreaterThan(2_048);
  expect(list.at(-1)).toBe(`${long(list.length - 1)}:coder`);
});
