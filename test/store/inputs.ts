/** Inputs of store calls with defaults, so that a test names only what it is about. */
import type { AttemptRef } from '../../src/domain/types.js';
import type { ClaimInput, Fence, SettleInput } from '../../src/store/port.js';

export const RUN = { tenant: 'acme', run: 'r1' };
let offers = 0;

export function claimInput(change: Partial<ClaimInput> = {}): ClaimInput {
  return {
    ...RUN,
    slot: 'research',
    node: 'research',
    claimId: `wf:${++offers}`,
    try: 1,
    worker: 'w1',
    workerClass: 'researcher',
    ownerActor: null,
    spec: 'fast',
    lastEpoch: 0,
    lastNumber: 0,
    hostQueue: 'baton/host/h1',
    ttlMs: 60_000,
    maxDurationMs: null,
    reassign: null,
    commandId: null,
    at: 1_000,
    ...change,
  };
}

export const fenceOf = (ref: Pick<AttemptRef, 'attempt' | 'epoch'>, slot = 'research'): Fence => ({
  ...RUN,
  slot,
  attempt: ref.attempt,
  epoch: ref.epoch,
});

export const attachment = (activityId = '7') => ({
  workflowRunId: 'wf-run',
  activityId,
  taskToken: Uint8Array.from([0, 1, 255, 128]),
});

export const settleInput = (fence: Fence, change: Partial<SettleInput> = {}): SettleInput => ({
  fence,
  end: 'expired',
  staged: null,
  failure: null,
  endedAt: 9_000,
  deadline: null,
  ...change,
});
