/** Attempts with the context that their agents see, over a real store, without a server: only the store's fence ends them. */
import type { Authority } from '../../src/agent/authority.js';
import { createContext } from '../../src/agent/context.js';
import type { AgentContext, Handoff } from '../../src/agent/types.js';
import { BatonError } from '../../src/domain/errors.js';
import type { AttemptRef, Pins } from '../../src/domain/types.js';
import type { Fence, Json, Store } from '../../src/store/port.js';

const pin = { ref: 'x@1', digest: 'd' };
const pins: Pins = { package: pin, workflow: pin, binding: pin };
const handoff: Handoff = {
  pins,
  agent: { name: 'a', revision: '1' },
  attachments: [],
  input: { n: 1 },
  upstream: {},
  attempts: [],
  artifacts: [],
  effects: [],
  plan: null,
};

export interface AttemptLab {
  /** Claims and attaches the next attempt of the slot. @param agentRevision default `1` */
  attempt(claimId: string, agentRevision?: string): Promise<LabAttempt>;
  /** Records that the attempt was lost. */
  expire(ref: AttemptRef): Promise<void>;
}

export interface LabAttempt {
  readonly ref: AttemptRef;
  readonly fence: Fence;
  readonly context: AgentContext;
  readonly progress: readonly Json[];
}

export function attemptLab(store: Store): AttemptLab {
  const where = { tenant: 't', run: 'r', slot: 's', node: 's' };
  const fenceOf = ({ attempt, epoch }: AttemptRef): Fence => ({
    tenant: where.tenant,
    run: where.run,
    slot: where.slot,
    attempt,
    epoch,
  });
  return {
    async attempt(claimId, agentRevision = '1') {
      const ref = await store.attempts.claim({
        ...where,
        claimId,
        try: 1,
        worker: 'w',
        workerClass: 'c',
        ownerActor: null,
        spec: 'only',
        lastEpoch: 0,
        lastNumber: 0,
        hostQueue: 'q',
        ttlMs: 1_000,
        maxDurationMs: null,
        reassign: null,
        commandId: null,
        at: 1,
      });
      const fence = fenceOf(ref);
      const attachment = { workflowRunId: 'x', activityId: '1', taskToken: new Uint8Array([1]) };
      await store.attempts.attach({ fence, attachment, at: 2 });
      const aborter = new AbortController();
      const progress: Json[] = [];
      const authority: Authority = {
        signal: aborter.signal,
        usable: async () => aborter.signal.throwIfAborted(),
        lose(why) {
          const error = BatonError.of('StaleLease', why);
          aborter.abort(error);
          return error;
        },
        progress: (value) => void progress.push(value),
      };
      const agent = { name: 'a', revision: agentRevision };
      const context = createContext({
        store,
        authority,
        work: { ...where, pins, attempt: ref },
        handoff: { ...handoff, agent },
        attachments: [],
        warn: () => undefined,
      });
      return { ref, fence, context, progress };
    },
    async expire(ref) {
      const ended = { end: 'expired', staged: null, failure: null, endedAt: 3, deadline: null } as const;
      await store.attempts.settle({ fence: fenceOf(ref), ...ended });
    },
  };
}
