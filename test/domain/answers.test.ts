import { describe, expect, it } from 'vitest';
import { readClaimed, readDeadlines, readSettled } from '../../src/domain/answers.js';
import type { AttemptRef, LaunchSpec } from '../../src/domain/types.js';
import type { ClaimSlotInput } from '../../src/domain/wire.js';

const spec: LaunchSpec = {
  id: 'main',
  workerClasses: ['coder'],
  dispatch: 'queue',
  lease: { ttlMs: 2_000, maxDurationMs: null },
  retry: {
    mode: 'manual',
    backoff: { initialMs: 1, factor: 1, maxMs: 1 },
    failures: 3,
    losses: 5,
    onExhausted: 'wait',
  },
};
const pin = { ref: 'job@1', digest: '0' };
const input: ClaimSlotInput = {
  tenant: 't',
  run: 'r',
  slot: 'a',
  node: 'a',
  pins: { package: pin, workflow: pin, binding: pin },
  spec,
  workerClass: 'coder',
  lastEpoch: 3,
  lastNumber: 2,
  inheritedOwner: null,
  reassign: null,
  direct: null,
};
const claimed: AttemptRef = {
  attempt: 'a-1',
  number: 3,
  epoch: 4,
  worker: 'w-1',
  workerClass: 'coder',
  ownerActor: null,
  lease: 'l-1',
  spec: 'main',
  hostQueue: 'baton/host/h1',
  ttlMs: 2_000,
  maxDurationMs: null,
  startedAt: 1,
};
const NONSENSE = [null, undefined, 0, '', 'x', [], [claimed], {}, { __proto__: claimed }];

describe('the answer of a claim', () => {
  const read = (answer: unknown, changes: Partial<ClaimSlotInput> = {}) =>
    readClaimed(answer, { ...input, ...changes }, 'baton');

  it('is taken as it is, without what nobody asked for', () => {
    expect(read(claimed)).toEqual(claimed);
    expect(read({ ...claimed, more: 1 })).toEqual(claimed);
    const direct = { worker: 'w-1', owner: null, commandId: 'c' };
    expect(read({ ...claimed, hostQueue: 'baton' }, { direct })).not.toBeNull();
  });

  it.each(NONSENSE)('is not %j', (answer) => expect(read(answer)).toBeNull());

  it.each(Object.keys(claimed))('needs its %s', (field) => {
    const rest = Object.fromEntries(Object.entries(claimed).filter(([key]) => key !== field));
    expect(read(rest)).toBeNull();
    expect(read({ ...claimed, [field]: {} })).toBeNull();
  });

  it.each([
    ['an epoch that was given out', { epoch: 3 }],
    ['an epoch beyond all', { epoch: Number.MAX_SAFE_INTEGER }],
    ['a fraction of an epoch', { epoch: 4.5 }],
    ['a number that was given out', { number: 2 }],
    ['another class', { workerClass: 'poet' }],
    ['another specification', { spec: 'other' }],
    ['a longer lease', { ttlMs: 9_000 }],
    ['a maximum duration of its own', { maxDurationMs: 1 }],
    ['a queue of its own', { hostQueue: 'elsewhere' }],
    ['the control queue, as if direct', { hostQueue: 'baton' }],
  ])('has not %s', (_what, changes) => expect(read({ ...claimed, ...changes })).toBeNull());

  it('is the claimant’s, when somebody claimed by name', () => {
    const direct = { worker: 'somebody-else', owner: null, commandId: 'c' };
    expect(read({ ...claimed, hostQueue: 'baton' }, { direct })).toBeNull();
  });
});

describe('the answer of a settle', () => {
  const settled = {
    end: 'failure',
    workerStatus: 'failed',
    leaseStatus: 'released',
    failure: { code: 'X', message: 'x' },
    result: null,
  };

  it('is taken as it is', () => expect(readSettled(settled)).toEqual(settled));
  it('may name open effects', () => {
    const listed = [
      { name: 'pay', instance: null, state: 'intent' },
      { name: 'pay', instance: '2', state: 'unresolved' },
    ];
    const told = { ...settled, effects: { count: 70, listed } };
    expect(readSettled(told)).toEqual(told);
    for (const effects of [
      null,
      listed,
      { count: 1, listed },
      { count: '2', listed },
      { count: 2, listed: [{ ...listed[0], state: 'bliss' }] },
      { count: 2, listed: [{ name: '', instance: null, state: 'intent' }] },
      { count: 60, listed: Array.from({ length: 51 }, () => listed[0]) },
    ])
      expect(readSettled({ ...settled, effects })).toBeNull();
  });
  it.each(NONSENSE)('is not %j', (answer) => expect(readSettled(answer)).toBeNull());
  it.each([
    { end: 'bliss' },
    { end: 'toString' },
    { workerStatus: 'running' },
    { leaseStatus: 'live' },
    { failure: 'x' },
    { result: {} },
  ])('has not %j', (changes) => expect(readSettled({ ...settled, ...changes })).toBeNull());
});

it('reads deadlines, and nothing else as such', () => {
  const deadlines = { 'a-1': { deadline: 1, beaten: true }, 'a-2': null };
  expect(readDeadlines(deadlines)).toEqual(deadlines);
  for (const answer of [null, 'x', [], { 'a-1': 1 }, { 'a-1': { deadline: '1', beaten: true } }])
    expect(readDeadlines(answer)).toBeNull();
});
