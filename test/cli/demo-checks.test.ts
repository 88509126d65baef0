/* eslint-disable @typescript-eslint/no-explicit-any, @typescript-eslint/no-unsafe-call -- a change of any one field of the records, whatever its type */
import { describe, expect, it } from 'vitest';
import { judge } from '../../src/cli/demo/checks.js';
import type { Facts } from '../../src/cli/demo/facts.js';
import { effectsOf, type HistoryEvent } from '../../src/cli/demo/history.js';

const event = (id: number, type: string, more: Partial<HistoryEvent> = {}): HistoryEvent => ({
  id,
  type,
  activityId: null,
  activityType: null,
  updateId: null,
  ...more,
});
const scheduled = (id: number, activityType: string, activityId: string) =>
  event(id, 'ActivityTaskScheduled', { activityType, activityId });

const HISTORY = [
  event(1, 'WorkflowExecutionStarted'),
  event(2, 'WorkflowExecutionUpdateAccepted', { updateId: 'right.0123' }),
  event(3, 'WorkflowTaskCompleted'),
  event(4, 'WorkflowExecutionUpdateCompleted'),
  scheduled(5, 'claimSlot', 'claim:notes:4'),
  event(6, 'ActivityTaskCompleted'),
  scheduled(7, 'performAttempt', 'perform:2'),
];

/** Records of a demo in which everything went as told: the fields that are judged, no others. */
function facts(): Facts {
  const first = {
    slot: 'notes',
    attempt: 'a1',
    number: 1,
    epoch: 1,
    worker: 'r-1',
    workerClass: 'researcher',
    workerStatus: 'lost',
    leaseStatus: 'expired',
    failure: { code: 'LeaseExpired', message: '' },
    claimId: 'run:claim:notes:2',
  };
  const second = {
    slot: 'notes',
    attempt: 'a2',
    number: 2,
    epoch: 2,
    worker: 's-1',
    workerClass: 'senior-researcher',
    workerStatus: 'succeeded',
    leaseStatus: 'released',
    failure: null,
    claimId: 'run:claim:notes:4',
  };
  const slot = {
    state: 'retry-wait',
    gate: 'reassign',
    counts: { claims: 1, failures: 0, losses: 1, releases: 0 },
  };
  const snapshot = { state: { slots: { notes: slot } }, digest: 'd', attempts: [first], events: 40 };
  const publishing = (attempt: string, number: number, workerStatus: string) => ({
    ...{ slot: 'publish', attempt, number, epoch: number, worker: `p-${number}`, workerStatus },
  });
  const sent = { path: '/publications', key: 'e-1', status: null };
  const asked = { path: '/publications/lookup', key: 'e-1', status: 200 };
  const publications = [{ id: 5, digest: 'r' }];
  const effects = [{ key: 'e-1', state: 'committed', attempt: 'p1', receipt: { publication: 5 } }];
  const note = (attempt: string, step: string) => ({ slot: 'notes', attempt, step, name: step });
  const pins = {
    package: { ref: 'p@1', digest: '1' },
    workflow: { ref: 'w@1', digest: '2' },
    binding: { ref: 'b@1', digest: '3' },
  };
  return {
    project: '/p',
    pins,
    packages: 3,
    killed: {
      pid: 7,
      exit: { code: null, signal: 'SIGKILL' },
      attempt: 'a1',
      worker: 'r-1',
      saved: 1,
      at: 0,
    },
    waiting: snapshot,
    killToRetryWaitMs: 3000,
    refused: { commandId: 'wrong', code: 'NoCompatibleLaunchSpec', message: '', after: { ...snapshot } },
    reassign: { commandId: 'right', reason: 'killed', answer: { state: 'retry-wait', gate: 'open' } },
    end: {
      shown: {
        status: 'succeeded',
        pins: structuredClone(pins),
        slots: [
          {
            slot: 'notes',
            state: 'succeeded',
            counts: { claims: 2, failures: 0, losses: 1, releases: 0 },
            result: { reused: 1, written: 2 },
          },
          { slot: 'report', state: 'succeeded', result: { report: 'r' } },
          { slot: 'publish', state: 'succeeded', result: { report: 'r', publication: 5 } },
        ],
      },
      attempts: [
        {
          attempt: 'a2',
          reassignedBy: { reason: 'killed', actor: 'ada', fromSpec: 'fast', toSpec: 'senior' },
        },
      ],
      rows: [structuredClone(first), second, publishing('p1', 1, 'lost'), publishing('p2', 2, 'succeeded')],
      artifacts: [
        note('a1', 'x'),
        note('a2', 'y'),
        note('a2', 'z'),
        { slot: 'report', attempt: 'a3', step: null, name: 'report.md', digest: 'r' },
      ],
      history: [...HISTORY],
      temporalStatus: 'COMPLETED',
    },
    published: {
      killed: { pid: 8, exit: { code: null, signal: 'SIGKILL' }, attempt: 'p1', worker: 'p-1' },
      ownerAtKill: structuredClone({ publications, requests: [sent], effects }),
      ownerAtEnd: structuredClone({ publications, requests: [sent, asked], effects }),
      recorded: structuredClone(effects),
      served: 'r',
    },
    report: { path: '/r', digest: 'r' },
  } as unknown as Facts;
}

/** Names of the checks that fail after a change of the records. */
function failing(change: (facts: any) => void): string[] {
  const changed = facts();
  change(changed);
  return judge(changed)
    .filter((check) => !check.passed)
    .map((check) => check.name);
}

describe('checks of the demo', () => {
  it('all hold on records of a demo that went well', () => {
    expect(failing(() => undefined)).toEqual([]);
  });

  it.each<[string, string, (facts: any) => void]>([
    [
      'the host ended by itself',
      'the first host was killed',
      (f) => (f.killed.exit = { code: 0, signal: null }),
    ],
    ['all notes were saved before', 'the first host was killed', (f) => (f.killed.saved = 3)],
    ['the lease stayed live', 'its lease expired', (f) => (f.waiting.attempts[0].leaseStatus = 'live')],
    ['a failure was counted', 'its lease expired', (f) => (f.waiting.state.slots.notes.counts.failures = 1)],
    ['the wrong reassign went through', 'a reassign to a class', (f) => (f.refused.code = 'accepted')],
    ['the refusal changed a row', 'the refusal changed nothing', (f) => (f.refused.after.digest = 'e')],
    ['the refusal left an event', 'the refusal changed nothing', (f) => (f.refused.after.events = 41)],
    [
      'the refused command is in history',
      'the refusal changed nothing',
      (f) => f.end.history.push(event(8, 'WorkflowExecutionUpdateAccepted', { updateId: 'wrong.ff' })),
    ],
    [
      'no record of the reassign',
      'the right reassign is recorded',
      (f) => (f.end.attempts[0].reassignedBy = null),
    ],
    [
      'the reassign started an attempt',
      'it reopened the slot',
      (f) => f.end.history.splice(4, 0, scheduled(9, 'performAttempt', 'x')),
    ],
    ['the reassign is not in history', 'it reopened the slot', (f) => f.end.history.splice(1, 1)],
    ['the gate stayed shut', 'it reopened the slot', (f) => (f.reassign.answer.gate = 'reassign')],
    ['the epoch was used again', 'a worker of the other class', (f) => (f.end.rows[1].epoch = 1)],
    [
      'a third attempt',
      'a worker of the other class',
      (f) => f.end.rows.push({ ...f.end.rows[1], attempt: 'a4' }),
    ],
    [
      'the successor wrote a note again',
      'it repeated only the rest',
      (f) => f.end.artifacts.push({ slot: 'notes', attempt: 'a2', step: 'x' }),
    ],
    [
      'the agent says that it reused less',
      'the successor reused',
      (f) => (f.end.shown.slots[0].result.reused = 0),
    ],
    ['a note is missing', 'it repeated only the rest', (f) => f.end.artifacts.splice(1, 1)],
    ['other pins at the end', 'the pins are', (f) => (f.end.shown.pins.binding.ref = 'b@2')],
    ['the dead worker was rewritten', 'the dead worker', (f) => (f.end.rows[0].workerStatus = 'failed')],
    [
      'the publishing host ended by itself',
      'the publishing host was killed',
      (f) => (f.published.killed.exit = { code: 0, signal: null }),
    ],
    [
      'the publisher had not committed yet',
      'the publishing host was killed',
      (f) => (f.published.ownerAtKill.publications = []),
    ],
    [
      'the answer was not lost',
      'the publishing host was killed',
      (f) => (f.published.ownerAtKill.requests[0].status = 200),
    ],
    [
      'the successor sent again',
      'the successor asked',
      (f) => f.published.ownerAtEnd.requests.push({ path: '/publications', key: 'e-1', status: 200 }),
    ],
    ['the successor did not ask', 'the successor asked', (f) => f.published.ownerAtEnd.requests.splice(1, 1)],
    [
      'it asked by another key',
      'the successor asked',
      (f) => (f.published.ownerAtEnd.requests[1].key = 'e-2'),
    ],
    [
      'it was published twice',
      'by the publisher’s own count',
      (f) => f.published.ownerAtEnd.publications.push({ id: 6, digest: 'r' }),
    ],
    ['something else is served', 'by the publisher’s own count', (f) => (f.published.served = 'x')],
    [
      'the run has another receipt',
      'the run’s record and result',
      (f) => (f.end.shown.slots[2].result.publication = 6),
    ],
    [
      'the effect is the successor’s',
      'the run’s record and result',
      (f) => (f.published.ownerAtEnd.effects[0].attempt = 'p2'),
    ],
    [
      'the run has no receipt on record',
      'the run’s record and result',
      (f) => (f.published.recorded[0].state = 'intent'),
    ],
    [
      'its record is of another key',
      'the run’s record and result',
      (f) => (f.published.recorded[0].key = 'e-2'),
    ],
    [
      'its record has another receipt',
      'the run’s record and result',
      (f) => (f.published.recorded[0].receipt = {}),
    ],
    [
      'it has two records',
      'the run’s record and result',
      (f) => f.published.recorded.push(f.published.recorded[0]),
    ],
    ['a third one published', 'the run’s record and result', (f) => f.end.rows.push(f.end.rows[3])],
    ['Temporal says that it failed', 'the run succeeded', (f) => (f.end.temporalStatus = 'FAILED')],
    ['another file on disk', 'the report on disk', (f) => (f.report.digest = 'x')],
  ])('%s', (_, name, change) => {
    expect(failing(change).some((failed) => failed.startsWith(name))).toBe(true);
  });
});

describe('what a command did, by history', () => {
  it('ends at the next claim and leaves workflow tasks out', () => {
    expect(effectsOf(HISTORY, 'right', 'claim:notes:4').events).toEqual(['ActivityTaskScheduled(claimSlot)']);
    expect(effectsOf(HISTORY, 'rig', 'claim:notes:4').found).toBe(false);
  });
});
