/* eslint-disable @typescript-eslint/no-explicit-any -- a change of any one field of the records, whatever its type */
/** The records of a demo that went well, and what the checks say after a change of them. */
import { judge } from '../../src/cli/demo/checks.js';
import type { Facts } from '../../src/cli/demo/facts.js';
import type { HistoryEvent } from '../../src/cli/demo/history.js';

export const event = (id: number, type: string, more: Partial<HistoryEvent> = {}): HistoryEvent => ({
  id,
  type,
  activityId: null,
  activityType: null,
  updateId: null,
  ...more,
});
export const scheduled = (id: number, activityType: string, activityId: string) =>
  event(id, 'ActivityTaskScheduled', { activityType, activityId });

export const HISTORY = [
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
    accidents: [],
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
export function failing(change: (facts: any) => void): string[] {
  const changed = facts();
  change(changed);
  return judge(changed)
    .filter((check) => !check.passed)
    .map((check) => check.name);
}
