import { describe, expect, it } from 'vitest';
import { artifactView, attemptView } from '../../src/agent/views.js';
import type { AttemptRow } from '../../src/store/port.js';

const row = (change: Partial<AttemptRow> = {}): AttemptRow => ({
  tenant: 'acme',
  run: 'r',
  slot: 's',
  node: 's',
  attempt: 'a-1',
  number: 2,
  epoch: 5,
  claimId: 'c',
  worker: 'w-1',
  workerClass: 'researcher',
  workerStatus: 'running',
  ownerActor: null,
  lease: 'l-1',
  leaseStatus: 'live',
  spec: 'fast',
  hostQueue: 'q',
  ttlMs: 10_000,
  maxDurationMs: null,
  reassign: null,
  commandId: null,
  claimedAt: 0,
  startedAt: 1_000,
  endedAt: null,
  failure: null,
  deadline: null,
  attachment: null,
  staged: null,
  ...change,
});

describe('attemptView', () => {
  it('shows exactly the fields of `attempts --json`, times in ISO 8601 UTC', () => {
    const reassign = {
      reason: 'host lost',
      actor: 'ada',
      at: 500,
      workerClass: 'senior',
      fromSpec: 'fast',
      toSpec: 'senior',
      predecessor: 'a-0',
    };
    const failure = { code: 'LeaseExpired', message: 'no beat' };
    const ended = row({
      workerStatus: 'lost',
      leaseStatus: 'expired',
      endedAt: 11_000,
      deadline: 11_000,
      failure,
      reassign,
    });
    expect(attemptView(ended, { now: 99_000, deadline: null })).toEqual({
      attempt: 'a-1',
      slot: 's',
      number: 2,
      epoch: 5,
      workerClass: 'researcher',
      ownerActor: null,
      worker: { id: 'w-1', status: 'lost' },
      lease: { id: 'l-1', status: 'expired', deadline: '1970-01-01T00:00:11.000Z' },
      spec: 'fast',
      reassignedBy: {
        reason: 'host lost',
        actor: 'ada',
        at: '1970-01-01T00:00:00.500Z',
        workerClass: 'senior',
        fromSpec: 'fast',
        toSpec: 'senior',
      },
      startedAt: '1970-01-01T00:00:01.000Z',
      endedAt: '1970-01-01T00:00:11.000Z',
      failure,
    });
  });

  it.each([
    ['before its deadline', row(), { now: 10_999, deadline: 11_000 }, 'running', 'live'],
    ['from its deadline on', row(), { now: 11_000, deadline: 11_000 }, 'lost', 'expired'],
    [
      'past the deadline that the store was told',
      row({ deadline: 11_000 }),
      { now: 12_000, deadline: null },
      'lost',
      'expired',
    ],
    [
      'beaten since the store was told',
      row({ deadline: 11_000 }),
      { now: 12_000, deadline: 21_000 },
      'running',
      'live',
    ],
    ['with no deadline known', row(), { now: 99_000, deadline: null }, 'running', 'live'],
    [
      'not attached yet',
      row({ leaseStatus: 'provisional', workerStatus: 'claimed', deadline: 1 }),
      { now: 2, deadline: null },
      'claimed',
      'provisional',
    ],
    [
      'succeeded',
      row({ leaseStatus: 'released', workerStatus: 'succeeded', deadline: 1 }),
      { now: 2, deadline: null },
      'succeeded',
      'released',
    ],
  ])('%s', (_, attempt, ask, worker, lease) => {
    const view = attemptView(attempt, ask);
    expect([view.worker.status, view.lease.status, view.endedAt]).toEqual([worker, lease, null]);
  });

  it('keeps the deadline at its end for a settled lease', () => {
    const ended = row({ leaseStatus: 'expired', workerStatus: 'lost', deadline: 11_000 });
    expect(attemptView(ended, { now: 99_000, deadline: 50_000 }).lease.deadline).toBe(
      '1970-01-01T00:00:11.000Z',
    );
  });
});

it('artifactView shows what identifies an artifact and no more', () => {
  const saved = {
    tenant: 'acme',
    run: 'r',
    slot: 's',
    attempt: 'a-1',
    number: 1,
    kind: 'source',
    name: 'n',
    digest: 'd',
    size: 3,
    mediaType: 'text/plain',
    step: null,
    savedAt: 1,
  } as const;
  expect(artifactView(saved)).toEqual({ attempt: 'a-1', kind: 'source', name: 'n', digest: 'd', size: 3 });
});
