/** A run in a real store, worked on by hand: claims, saves and ends as the activities write them. */
import { publish } from '../../src/definitions/publish.js';
import { resolveLaunch } from '../../src/definitions/resolve.js';
import type { AttemptRef, EndKind, Failure, ReassignRecord } from '../../src/domain/types.js';
import { canonicalJson } from '../../src/store/canonical.js';
import type { ArtifactKind, Fence, Json, Store } from '../../src/store/port.js';
import { all } from '../definitions/fixtures.js';

export interface HandRun {
  claim(
    slot: string,
    how?: { commandId?: string; reassign?: ReassignRecord },
  ): Promise<{ ref: AttemptRef; fence: Fence }>;
  save(
    fence: Fence,
    input: { kind?: ArtifactKind; name: string; step?: string; value?: Json },
  ): Promise<void>;
  succeed(fence: Fence, result: Json): Promise<void>;
  end(fence: Fence, end: EndKind, failure?: Failure): Promise<void>;
}

/** Publishes the documents and records a run of them with the input `{ topic: 'x' }`. */
export async function handRun(store: Store, documents = all(), run = 'run-1'): Promise<HandRun> {
  const key = { tenant: 'acme', run };
  await publish(store, { tenant: key.tenant, actor: 'ada', at: 1, documents });
  const { pins } = await resolveLaunch(store, { tenant: key.tenant, package: 'report' });
  await store.runs.create({ ...key, digest: 'd', pins, input: { topic: 'x' }, createdAt: 1 });
  let clock = 1_000;
  const put = async (value: Json) => store.artifacts.putBytes(new TextEncoder().encode(canonicalJson(value)));
  const settle = async (fence: Fence, end: EndKind, staged: string | null, failure: Failure | null) => {
    await store.attempts.settle({ fence, end, staged, failure, endedAt: (clock += 1_000), deadline: clock });
  };
  return {
    async claim(
      slot,
      {
        commandId = null,
        reassign = null,
      }: { commandId?: string | null; reassign?: ReassignRecord | null } = {},
    ) {
      const at = (clock += 1_000);
      const ref = await store.attempts.claim({
        ...key,
        slot,
        node: slot.split('.')[0] ?? slot,
        claimId: `claim-${at}`,
        try: 1,
        worker: `worker-${at}`,
        workerClass: 'researcher',
        ownerActor: null,
        spec: 'fast',
        lastEpoch: 0,
        lastNumber: 0,
        hostQueue: 'q',
        ttlMs: 10_000,
        maxDurationMs: null,
        reassign,
        commandId,
        at,
      });
      const fence = { ...key, slot, attempt: ref.attempt, epoch: ref.epoch };
      const attachment = { workflowRunId: 'w', activityId: `act-${at}`, taskToken: Uint8Array.of(1) };
      await store.attempts.attach({ fence, attachment, at });
      return { ref, fence };
    },
    async save(fence, { kind = 'checkpoint', name, step, value = name }) {
      const { digest, size } = await put(value);
      const mediaType = 'application/json';
      await store.artifacts.save({
        fence,
        kind,
        name,
        digest,
        size,
        mediaType,
        step: step ?? null,
        at: (clock += 1),
      });
    },
    async succeed(fence, result) {
      const { digest } = await put(result);
      const staged = await store.attempts.stage({ fence, kind: 'completion', result: digest, failure: null });
      await settle(fence, 'success', staged.id, null);
    },
    end: (fence, end, failure) => settle(fence, end, null, failure ?? null),
  };
}
