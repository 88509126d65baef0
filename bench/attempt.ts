/** An attempt at work over a store of its own, without a server: what its agent's calls cost, and nothing beside them. */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Authority } from '../src/agent/authority.js';
import { createContext } from '../src/agent/context.js';
import type { AgentContext, Handoff } from '../src/agent/types.js';
import type { Fence, Store } from '../src/store/port.js';
import { openStore } from '../src/store/open.js';

export interface Attempts {
  /** For files of the bare sides: on the same disk as the store. */
  readonly folder: string;
  /** The next attempt of the slot; the one before is over, and what it saved is its successor's. */
  readonly next: () => Promise<AgentContext>;
}

const WHERE = { tenant: 'bench', run: 'r', slot: 's', node: 's' } as const;
const PIN = { ref: 'x@1', digest: 'd' };
const PINS = { package: PIN, workflow: PIN, binding: PIN };
const HANDOFF: Handoff = {
  pins: PINS,
  agent: { name: 'bench', revision: '1' },
  attachments: [],
  input: null,
  upstream: {},
  attempts: [],
  artifacts: [],
  effects: [],
  plan: null,
};

/** Opens a store file in a new folder, gives attempts on it to `use`, and takes the folder away again. */
export async function withAttempts<T>(use: (attempts: Attempts) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'baton-bench-'));
  try {
    const store = await openStore(`sqlite:${path.join(folder, 'baton.db')}`, { blobs: 'files' });
    try {
      let last: Fence | undefined;
      const next = async (): Promise<AgentContext> => {
        if (last !== undefined) await expire(store, last);
        const claimed = await claim(store);
        last = claimed.fence;
        return claimed.context;
      };
      return await use({ folder, next });
    } finally {
      await store.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function claim(store: Store): Promise<{ fence: Fence; context: AgentContext }> {
  const attempt = await store.attempts.claim({
    ...WHERE,
    claimId: `bench:${performance.now()}`,
    try: 1,
    worker: 'w',
    workerClass: 'c',
    ownerActor: null,
    spec: 'only',
    lastEpoch: 0,
    lastNumber: 0,
    hostQueue: 'q',
    ttlMs: 60_000,
    maxDurationMs: null,
    reassign: null,
    commandId: null,
    at: Date.now(),
  });
  const { node: _node, ...key } = WHERE;
  const fence: Fence = { ...key, attempt: attempt.attempt, epoch: attempt.epoch };
  const attachment = { workflowRunId: 'x', activityId: '1', taskToken: new Uint8Array([1]) };
  await store.attempts.attach({ fence, attachment, at: Date.now() });
  const work = { ...WHERE, pins: PINS, attempt };
  return {
    fence,
    context: createContext({
      store,
      authority: held(),
      work,
      handoff: HANDOFF,
      attachments: [],
      warn: () => undefined,
    }),
  };
}

const expire = (store: Store, fence: Fence): Promise<unknown> =>
  store.attempts.settle({
    fence,
    end: 'expired',
    staged: null,
    failure: null,
    endedAt: Date.now(),
    deadline: null,
  });

/** A lease that nobody takes away: the beats of a real one cost the agent's calls nothing. */
const held = (): Authority => ({
  signal: new AbortController().signal,
  usable: () => Promise.resolve(),
  lose(why) {
    throw new Error(`the bench lost its lease: ${why}`);
  },
  progress: () => undefined,
});
