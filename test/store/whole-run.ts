/** A run with rows of every kind, for tests of what happens to all of them. */
import { canonicalJson } from '../../src/store/canonical.js';
import type { EffectRecord, Fence, Store } from '../../src/store/port.js';
import { attachment, claimInput, settleInput } from './inputs.js';

export interface WholeRun {
  readonly tenant?: string;
  readonly run: string;
  readonly slots?: readonly string[];
  /** Artifacts of each slot. */
  readonly contents?: readonly Uint8Array[];
  /** State of one effect of the first slot; default `committed`, null: none. */
  readonly effect?: EffectRecord['state'] | null;
  /** Leaves the last lease live. */
  readonly held?: boolean;
  /** Null leaves the run open. */
  readonly endedAt?: number | null;
}

const OUTCOMES: Readonly<Record<EffectRecord['state'], EffectRecord>> = {
  intent: { state: 'intent' },
  accepted: { state: 'accepted', handle: 'job' },
  committed: { state: 'committed', receipt: 'paid' },
  rejected: { state: 'rejected', failure: { code: 'No', message: 'no' } },
  unresolved: { state: 'unresolved', failure: { code: 'Silent', message: 'nobody knows' } },
};

/** Begins at 1,000; each slot has a voided offer, an attempt that was lost and one that succeeds. */
export async function wholeRun(store: Store, options: WholeRun): Promise<void> {
  const { tenant = 'acme', run, slots = ['a'], contents = [Buffer.from(run)], endedAt = 10_000 } = options;
  const of = { tenant, run };
  await store.runs.create({
    ...of,
    digest: 'd',
    pins: {} as never,
    input: { secret: run },
    createdAt: 1_000,
  });
  for (const [index, slot] of slots.entries()) {
    const claim = async (claimId: string): Promise<Fence> => {
      const { attempt, epoch } = await store.attempts.claim(claimInput({ ...of, slot, node: slot, claimId }));
      const fence = { ...of, slot, attempt, epoch };
      await store.attempts.attach({ fence, attachment: attachment(), at: 2_000 });
      return fence;
    };
    await store.attempts.voidClaim({ ...of, slot, claimId: `${slot}:void` });
    const lost = await claim(`${slot}:1`);
    for (const bytes of contents) await saveBytes(store, lost, bytes);
    if (index === 0 && options.effect !== null) await effectOf(store, lost, options.effect ?? 'committed');
    await store.attempts.settle(settleInput(lost));
    const last = await claim(`${slot}:2`);
    const result = Buffer.from(canonicalJson(`${run} ${slot}`));
    const { digest } = await store.artifacts.putBytes(result);
    if (options.held === true && index === slots.length - 1) break;
    // With an open effect nobody completes.
    const open = index === 0 && ['intent', 'accepted', 'unresolved'].includes(options.effect ?? '');
    const kind = open ? 'failure' : 'completion';
    const failure = open ? { code: 'X', message: 'x' } : null;
    const end = { fence: last, kind, result: open ? null : digest, failure } as const;
    const { id } = await store.attempts.stage(end);
    await store.attempts.settle(settleInput(last, { end: open ? 'failure' : 'success', staged: id }));
  }
  const command = { ...of, commandId: 'c1', name: 'save', digest: 'd', answer: { secret: run }, at: 3_000 };
  await store.commands.remember(command);
  const entry = { slot: null, actor: 'ada', command: 'launch', commandId: null, at: 1_000 };
  await store.audit.record({ ...of, ...entry, verdict: 'accepted', code: null, reason: null });
  if (endedAt !== null) await store.runs.close({ ...of, status: 'succeeded', at: endedAt });
}

export async function saveBytes(store: Store, fence: Fence, bytes: Uint8Array): Promise<string> {
  const { digest, size } = await store.artifacts.putBytes(bytes);
  const meta = { kind: 'source', name: 'x', mediaType: 'text/plain', step: null } as const;
  await store.artifacts.save({ fence, ...meta, digest, size, at: 3_000 });
  return digest;
}

async function effectOf(store: Store, fence: Fence, state: EffectRecord['state']): Promise<void> {
  const effect = { name: 'pay', instance: null, key: `${fence.run}:pay`, requestDigest: 'r' };
  await store.effects.begin({ fence, ...effect, at: 2_500 });
  await store.effects.record({ fence, key: effect.key, record: OUTCOMES[state], at: 2_600 });
}

/** Reads everything that a run has saved; throws where bytes are missing or damaged. */
export async function readAll(store: Store, tenant: string, run: string): Promise<number> {
  const rows = await store.artifacts.list(tenant, run);
  for (const { digest } of rows) await store.artifacts.readBytes(digest);
  return rows.length;
}
