/** Records of runs that nobody ran, as the report takes them; among them those of somebody who would break the page. */
import type { EffectView } from '../../src/agent/types.js';
import type { ArtifactRecord, AttemptRecord, RunRecords } from '../../src/bundle/records.js';
import type { SlotShown } from '../../src/client/show.js';

export const HOSTILE = `"'><script>alert(1)</script><img src=x onerror=alert(2)> \u202eexe.txt\u202c \u0007\u{e0041} &amp;`;
export const at = (seconds: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)).toISOString();
const DIGEST = 'ab'.repeat(32);

export function slot(name: string, more: Partial<SlotShown> = {}): SlotShown {
  return {
    slot: name,
    node: 'n',
    state: 'active',
    gate: null,
    spec: { id: 'main', workerClasses: ['coder'], dispatch: 'queue' },
    retryTime: null,
    deadline: null,
    pendingWorker: null,
    activeWorker: null,
    priorWorker: null,
    reassignReason: null,
    expired: false,
    waitsFor: null,
    epoch: 1,
    counts: { claims: 1, failures: 0, losses: 0, releases: 0 },
    result: null,
    failure: null,
    effects: { count: 0, listed: [] },
    claimFailure: null,
    hold: null,
    ...more,
  };
}

export function attempt(of: string, number: number, more: Partial<AttemptRecord> = {}): AttemptRecord {
  return {
    attempt: `a-${of}-${number}`,
    slot: of,
    number,
    epoch: number,
    workerClass: 'coder',
    ownerActor: null,
    worker: { id: `w${number}`, status: 'succeeded' },
    lease: { id: `l-${of}-${number}`, status: 'released', deadline: null },
    spec: 'main',
    reassignedBy: null,
    startedAt: at(10 * number),
    endedAt: at(10 * number + 5),
    failure: null,
    node: 'n',
    claimId: 'c',
    commandId: null,
    ttlMs: 1_000,
    maxDurationMs: null,
    claimedAt: at(10 * number),
    predecessor: null,
    staged: null,
    ...more,
  };
}

export const artifact = (of: string, name: string, more: Partial<ArtifactRecord> = {}): ArtifactRecord => ({
  attempt: `a-${of}-1`,
  kind: 'source',
  name,
  digest: DIGEST,
  size: 2_048,
  mediaType: 'text/plain',
  tags: [],
  step: null,
  stepRevision: null,
  epoch: 1,
  agentRevision: null,
  derivedFrom: [],
  savedAt: at(1),
  trust: 'committed',
  slot: of,
  number: 1,
  ...more,
});

export const effect = (of: string, more: Partial<EffectView> = {}): EffectView => ({
  slot: of,
  name: 'pay',
  instance: null,
  key: 'e-1',
  state: 'committed',
  requestDigest: DIGEST,
  receipt: null,
  handle: null,
  failure: null,
  attempt: `a-${of}-1`,
  epoch: 1,
  resolvedBy: null,
  intentAt: at(1),
  updatedAt: at(2),
  ...more,
});

export function records(
  slots: readonly SlotShown[],
  more: Partial<Omit<RunRecords, 'run'>> & { run?: Partial<RunRecords['run']> } = {},
): RunRecords {
  const pin = { ref: 'job@1', digest: DIGEST };
  const revision = { publishedAt: at(0), publishedBy: 'ada', accepted: null };
  return {
    pinned: { package: {}, workflow: {}, binding: {} },
    attached: [],
    attempts: [],
    artifacts: [],
    effects: [],
    commands: [],
    ...more,
    run: {
      format: 'baton-bundle/1',
      exportedAt: at(100),
      snapshot: true,
      source: 'workflow',
      server: true,
      tenant: 'acme',
      run: 'r1',
      workflowId: 'acme/r1',
      status: 'running',
      createdAt: at(0),
      endedAt: null,
      deadline: null,
      failure: null,
      pins: { package: pin, workflow: pin, binding: pin },
      launchDigest: DIGEST,
      input: { topic: 'tea' },
      revisions: { package: revision, workflow: revision, binding: revision },
      slots,
      ...more.run,
    },
  };
}

export const reassigned = {
  reason: HOSTILE,
  actor: HOSTILE,
  at: at(8),
  workerClass: HOSTILE,
  fromSpec: 'main',
  toSpec: HOSTILE,
};
export const hostile = (): RunRecords =>
  records(
    [
      slot('a', {
        node: HOSTILE,
        waitsFor: HOSTILE,
        reassignReason: HOSTILE,
        state: 'succeeded',
        result: { [HOSTILE]: HOSTILE },
        failure: { code: HOSTILE, message: HOSTILE },
        hold: { reason: HOSTILE, actor: HOSTILE, at: at(1) },
      }),
    ],
    {
      attempts: [
        attempt('a', 1, {
          worker: { id: HOSTILE, status: 'lost' },
          lease: { id: 'l', status: 'expired', deadline: at(14) },
          workerClass: HOSTILE,
          ownerActor: HOSTILE,
          spec: HOSTILE,
          failure: { code: HOSTILE, message: HOSTILE },
          reassignedBy: reassigned,
        }),
      ],
      artifacts: [
        artifact('a', HOSTILE, { mediaType: HOSTILE, tags: [HOSTILE], trust: 'after-last-renewal' }),
      ],
      effects: [
        effect('a', {
          name: HOSTILE,
          instance: HOSTILE,
          receipt: HOSTILE,
          attempt: HOSTILE,
          resolvedBy: { outcome: 'committed', actor: HOSTILE, reason: HOSTILE, at: at(3) },
        }),
        effect('a', { state: 'unresolved', failure: { code: HOSTILE, message: HOSTILE } }),
      ],
      run: { tenant: HOSTILE, run: HOSTILE, input: HOSTILE, failure: { code: HOSTILE, message: HOSTILE } },
    },
  );
