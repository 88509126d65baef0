/** Pins: resolved once at launch, read back by digest ever after. Nothing falls back to another revision. */
import type { LoadedAttachment } from '../agent/types.js';
import { BatonError, isErrorCode } from '../domain/errors.js';
import type { Pin, Pins, PlanNode, RunPlan } from '../domain/types.js';
import { digestOf } from '../store/canonical.js';
import type { RevisionKind, RevisionRow, Store } from '../store/port.js';
import { parseRef } from './fields.js';
import { parseStored } from './parse.js';
import { planOf } from './plan.js';

export interface LaunchRefs {
  readonly tenant: string;
  /** `name` (the newest accepted revision) or `name@revision`. */
  readonly package: string;
  /** Default: what the package says. */
  readonly workflow?: string | undefined;
  /** Default: what the package says. */
  readonly binding?: string | undefined;
}

/**
 * Resolves package, workflow and binding to revisions and checks that they fit. Throws `UnknownRevision`,
 * `RevisionNotAccepted` (a stated draft, or a name with drafts only), `PinsDamaged` (content that is not what was published)
 * and `InvalidCommand`.
 */
export async function resolveLaunch(store: Store, input: LaunchRefs): Promise<{ pins: Pins; plan: RunPlan }> {
  const { tenant } = input;
  const packageRow = await accepted(store, tenant, 'package', input.package);
  const document = parseStored('package', refOf(packageRow), packageRow.content);
  const named = (kind: 'workflow' | 'binding'): string => {
    const ref = input[kind] ?? document[kind];
    if (ref !== undefined) return ref;
    throw BatonError.of(
      'InvalidCommand',
      `package ${refOf(packageRow)} names no ${kind}, so the launch must`,
      { field: kind },
    );
  };
  const workflow = await accepted(store, tenant, 'workflow', named('workflow'));
  const binding = await accepted(store, tenant, 'binding', named('binding'));
  const pins = { package: pinOf(packageRow), workflow: pinOf(workflow), binding: pinOf(binding) };
  return { pins, plan: join(pins, workflow.content, binding.content) };
}

/** The plan of a run from its pins; throws `PinsDamaged` when pinned content is gone or differs. */
export async function loadPlan(store: Store, tenant: string, pins: Pins): Promise<RunPlan> {
  const [workflow, binding] = await Promise.all([
    store.revisions.pinned(tenant, 'workflow', pins.workflow),
    store.revisions.pinned(tenant, 'binding', pins.binding),
  ]);
  return join(pins, workflow, binding);
}

/** The plan of a run with all three pinned revisions checked; throws `PinsDamaged`. */
export async function loadVerifiedPlan(store: Store, tenant: string, pins: Pins): Promise<RunPlan> {
  const [plan] = await Promise.all([
    loadPlan(store, tenant, pins),
    store.revisions.pinned(tenant, 'package', pins.package),
  ]);
  return plan;
}

/**
 * Reads all that is pinned for one node, digests checked: the three revisions and the bytes of the node's attachments.
 * Throws `PinsDamaged` naming what is missing or differs.
 */
export async function verifyPins(
  store: Store,
  tenant: string,
  pins: Pins,
  node: string,
): Promise<{ plan: PlanNode; attachments: readonly LoadedAttachment[] }> {
  const { nodes } = await loadVerifiedPlan(store, tenant, pins);
  const plan = nodes.find((candidate) => candidate.node === node);
  if (plan === undefined) {
    throw BatonError.of('PinsDamaged', `the pinned workflow has no node ${node}`, {
      workflow: pins.workflow.ref,
      node,
    });
  }
  return { plan, attachments: await loadAttachments(store, pins, plan) };
}

/** Texts of a node's attachments, digests checked; throws `PinsDamaged` naming the attachment. */
export function loadAttachments(
  store: Store,
  pins: Pins,
  { node, attachments }: PlanNode,
): Promise<readonly LoadedAttachment[]> {
  return Promise.all(
    attachments.map(async (attachment): Promise<LoadedAttachment> => {
      const { kind, name, digest } = attachment;
      const bytes = await store.artifacts.readBytes(digest).catch((error: unknown) => {
        throw damaged(error, { binding: pins.binding.ref, node, attachment: `${kind}/${name}`, digest });
      });
      return { ...attachment, text: new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes) };
    }),
  );
}

/** Plans by the digests that they follow from; a worker meets the same few again and again. */
const plans = new Map<string, RunPlan>();
const PLANS_KEPT = 50;

/** Both contents have been checked against their digests: the same digests give the same plan. */
function join(pins: Pins, workflow: RevisionRow['content'], binding: RevisionRow['content']): RunPlan {
  const refs = { workflow: pins.workflow.ref, binding: pins.binding.ref };
  const key = [refs.workflow, pins.workflow.digest, refs.binding, pins.binding.digest].join(' ');
  const known = plans.get(key);
  if (known) return known;
  const plan = planOf(
    parseStored('workflow', refs.workflow, workflow),
    parseStored('binding', refs.binding, binding),
    refs,
  );
  plans.set(key, plan);
  for (const oldest of plans.keys()) {
    if (plans.size <= PLANS_KEPT) break;
    plans.delete(oldest);
  }
  return plan;
}

async function accepted(
  store: Store,
  tenant: string,
  kind: RevisionKind,
  stated: string,
): Promise<RevisionRow> {
  const ref = parseRef(stated);
  if (ref === null)
    throw BatonError.of('InvalidCommand', `${kind} must be NAME or NAME@REVISION`, {
      field: kind,
      value: stated,
    });
  const row = await store.revisions.get(tenant, kind, ref.name, ref.revision);
  if (row === null)
    throw BatonError.of('UnknownRevision', `there is no ${kind} ${stated}`, { kind, ref: stated });
  if (row.accepted === null) {
    throw BatonError.of('RevisionNotAccepted', `${kind} ${refOf(row)} is a draft`, { kind, ref: refOf(row) });
  }
  if (digestOf(row.content) !== row.digest) {
    throw BatonError.of('PinsDamaged', `stored content of ${kind} ${refOf(row)} differs from its digest`, {
      kind,
      ref: refOf(row),
    });
  }
  return row;
}

const refOf = (row: RevisionRow): string => `${row.name}@${row.revision}`;
const pinOf = (row: RevisionRow): Pin => ({ ref: refOf(row), digest: row.digest });

/** Missing or different bytes are damage; an unreachable store is not. */
function damaged(error: unknown, facts: Record<string, unknown>): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  if (!isErrorCode(code) || (code !== 'ArtifactMissing' && code !== 'ArtifactMismatch')) return error;
  const what = code === 'ArtifactMissing' ? 'are gone' : 'differ from their digest';
  return BatonError.of('PinsDamaged', `the bytes of a pinned attachment ${what}`, facts, { cause: error });
}
