/** The handoff: all that the next worker of a slot is given, read from the store alone (design, "Handoff"). */
import { loadAttachments, loadVerifiedPlan } from '../definitions/resolve.js';
import { BatonError } from '../domain/errors.js';
import type { PlanNode, RunPlan } from '../domain/types.js';
import type { AttemptRow, Json, Store } from '../store/port.js';
import { stepPlan } from './step-plan.js';
import type { AttemptView, Handoff, LoadedAttachment } from './types.js';
import { artifactView, attemptView, effectView, type LeaseKnowledge } from './views.js';

export interface HandoffInput {
  readonly tenant: string;
  readonly run: string;
  readonly slot: string;
  /** Epoch of the claim that is handed over: only attempts below it count as earlier. Absent: all attempts. */
  readonly before?: number | undefined;
  /** How a live lease stands now (for `recovery`, which may be asked while somebody works). */
  readonly ask?: LeaseKnowledge | undefined;
  /** Attempts as Temporal shows them, where the asker has looked: they count before the store's rows. */
  readonly attempts?: readonly AttemptView[] | undefined;
}

/**
 * Builds the handoff of a slot. `attachments` are the pinned texts, their digests checked.
 *
 * Throws `RunNotFound`, `SlotNotFound`, `PinsDamaged`, `ArtifactMissing` or `ArtifactMismatch` (an upstream result).
 */
export async function buildHandoff(
  store: Store,
  input: HandoffInput,
): Promise<{ handoff: Handoff; attachments: readonly LoadedAttachment[] }> {
  const { tenant, run, slot, before = Infinity } = input;
  const row = await store.runs.get(tenant, run);
  if (row === null) throw BatonError.of('RunNotFound', 'no such run of this tenant', { run });
  const plan = await loadVerifiedPlan(store, tenant, row.pins);
  const node = plan.nodes.find((candidate) => candidate.slots.includes(slot));
  if (node === undefined) throw BatonError.of('SlotNotFound', 'the run has no such slot', { run, slot });
  const [attachments, allAttempts, allArtifacts, effects, upstream] = await Promise.all([
    loadAttachments(store, row.pins, node),
    store.attempts.list(tenant, run, slot),
    store.artifacts.list(tenant, run, slot),
    store.effects.list(tenant, run, slot),
    upstreamResults(store, tenant, run, plan, node),
  ]);
  const attempts = allAttempts.filter((attempt) => attempt.epoch < before);
  const earlier = new Set(attempts.map((attempt) => attempt.attempt));
  const artifacts = allArtifacts.filter((artifact) => earlier.has(artifact.attempt));
  const seen = new Map(input.attempts?.map((view) => [view.attempt, view]));
  const savers = new Map(
    attempts.map((attempt) => [
      attempt.attempt,
      { view: seen.get(attempt.attempt) ?? attemptView(attempt, input.ask), ttlMs: attempt.ttlMs },
    ]),
  );
  const handoff: Handoff = {
    pins: row.pins,
    agent: node.agent,
    attachments: node.attachments,
    input: row.input,
    upstream,
    attempts: [...savers.values()].map(({ view }) => view),
    artifacts: artifacts.map((row) => artifactView(row, savers.get(row.attempt))),
    effects: effects.map(effectView),
    plan: node.steps && stepPlan(node.steps, artifacts, attempts, effects),
  };
  return { handoff, attachments };
}

/**
 * Results of the nodes that a node depends on, by node name. A node that declares `slots` gives an object by slot name,
 * whatever their number; a slot without success (a failed optional one, or not done yet) gives null.
 */
async function upstreamResults(
  store: Store,
  tenant: string,
  run: string,
  plan: RunPlan,
  { dependsOn }: PlanNode,
): Promise<Readonly<Record<string, Json>>> {
  const nodes = plan.nodes.filter((node) => dependsOn.includes(node.node));
  const attemptsOf = await attemptReader(store, tenant, run, nodes.flatMap((node) => node.slots).length);
  const results = await Promise.all(
    nodes.map(async (node): Promise<[string, Json]> => {
      const values = await Promise.all(
        node.slots.map(async (slot): Promise<[string, Json]> => [
          slot,
          await resultOf(store, await attemptsOf(slot)),
        ]),
      );
      return [node.node, isSingle(node) ? (values[0]?.[1] ?? null) : Object.fromEntries(values)];
    }),
  );
  return Object.fromEntries(results);
}

/** Slots from which on one reading of the whole run's attempts is cheaper than one a slot. */
const MANY_SLOTS = 8;

async function attemptReader(
  store: Store,
  tenant: string,
  run: string,
  slots: number,
): Promise<(slot: string) => Promise<readonly AttemptRow[]>> {
  if (slots < MANY_SLOTS) return (slot) => store.attempts.list(tenant, run, slot);
  const bySlot = new Map<string, AttemptRow[]>();
  for (const row of await store.attempts.list(tenant, run)) {
    const rows = bySlot.get(row.slot);
    if (rows) rows.push(row);
    else bySlot.set(row.slot, [row]);
  }
  return async (slot) => bySlot.get(slot) ?? [];
}

const isSingle = (node: PlanNode): boolean => node.slots.length === 1 && node.slots[0] === node.node;

/** The JSON value that a slot succeeded with, or null when it has not. Digest checked by the store. */
async function resultOf(store: Store, attempts: readonly AttemptRow[]): Promise<Json> {
  const row = attempts.findLast((attempt) => attempt.workerStatus === 'succeeded');
  const digest = row?.staged?.result ?? null;
  if (row === undefined || digest === null) return null;
  const text = new TextDecoder().decode(await store.artifacts.readBytes(digest));
  try {
    return JSON.parse(text) as Json;
  } catch (cause) {
    const facts = { run: row.run, slot: row.slot, digest };
    throw BatonError.of('ArtifactMismatch', 'the result of a slot is no JSON', facts, { cause });
  }
}
