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

describe('artifactView', () => {
  const saved = {
    tenant: 'acme',
    run: 'r',
    slot: 's',
    attempt: 'a-1',
    number: 1,
    epoch: 3,
    kind: 'source',
    name: 'n',
    digest: 'd',
    size: 3,
    mediaType: 'text/plain',
    step: null,
    stepRevision: null,
    tags: ['t'],
    agentRevision: 'reader@2',
    derivedFrom: [{ attempt: 'a-0', digest: 'e' }],
    savedAt: 5_000,
  } as const;

  it('shows what it is and where it comes from', () => {
    const view = artifactView(saved, { view: attemptView(row({})), ttlMs: 10_000 });
    const { tenant: _t, run: _r, slot: _s, number: _n, ...shown } = saved;
    expect(view).toEqual({ ...shown, savedAt: '1970-01-01T00:00:05.000Z', trust: 'committed' });
  });

  const lost = { leaseStatus: 'expired', workerStatus: 'lost' } as const;
  it.each([
    // Deadline 14 s, TTL 10 s: last heard of at 4 s or 5 s.
    ['lost, saved after its last beat', { ...lost, deadline: 14_000 }, 'after-last-renewal'],
    ['lost, saved at its last beat', { ...lost, deadline: 15_000 }, 'committed'],
    ['lost without a deadline, saved after its start', { ...lost, startedAt: 4_000 }, 'after-last-renewal'],
    ['lost without a deadline, saved before', { ...lost, startedAt: 6_000 }, 'committed'],
    ['failed', { leaseStatus: 'released', workerStatus: 'failed', deadline: 14_000 }, 'committed'],
    ['released', { leaseStatus: 'released', workerStatus: 'released', deadline: 14_000 }, 'committed'],
    ['at work', { leaseStatus: 'live', workerStatus: 'running', deadline: 14_000 }, 'committed'],
  ] as const)('marks trust: %s', (_name, how, trust) => {
    const by = row({ deadline: null, startedAt: null, ...how });
    expect(artifactView(saved, { view: attemptView(by), ttlMs: 10_000 }).trust).toBe(trust);
  });

  it('marks what an attempt left that is past its deadline and not settled', () => {
    const by = row({ leaseStatus: 'live', workerStatus: 'running', deadline: 14_000 });
    const view = attemptView(by, { now: 14_000, deadline: 14_000 });
    expect(artifactView(saved, { view, ttlMs: 10_000 }).trust).toBe('after-last-renewal');
  });
});
