/** Joins a workflow revision with a binding revision: what a run needs to know of its nodes. Pure. */
import { BatonError } from '../domain/errors.js';
import { packPlan } from '../domain/pack-plan.js';
import { utf8Bytes } from '../domain/text.js';
import type { Escalation, LaunchSpec, PlanNode, RunPlan } from '../domain/types.js';
import { LIMITS, parseRef } from './fields.js';
import { slotNames } from './graph.js';
import type { StoredBinding, WorkflowDocument } from './schema.js';

interface Refs {
  /** `name@revision` of each. */
  readonly workflow: string;
  readonly binding: string;
}

/**
 * The plan of a run. Throws `InvalidCommand` when the two do not fit: the binding is for another workflow, leaves a node
 * unbound or binds one that the workflow lacks; `TooLarge` when the plan would not fit a run's input.
 */
export function planOf(workflow: WorkflowDocument, binding: StoredBinding, refs: Refs): RunPlan {
  const problem = misfit(workflow, binding, refs);
  if (problem !== null)
    throw BatonError.of('InvalidCommand', `binding ${refs.binding} does not fit: it ${problem}`, {
      ...refs,
      field: 'binding',
    });
  const nodes = workflow.nodes.map((node): PlanNode => {
    const bound = binding.nodes[node.node] as StoredBinding['nodes'][string];
    return {
      node: node.node,
      slots: slotNames(node),
      dependsOn: node.dependsOn,
      optional: node.optional,
      steps: node.steps ?? null,
      agent: bound.agent,
      attachments: bound.attachments.map(({ kind, name, digest }) => ({ kind, name, digest })),
      launch: bound.launch.map(launchSpec),
      ...(bound.escalate === undefined ? {} : { escalate: bound.escalate.map(escalation) }),
      ...(node.deadline === undefined ? {} : { deadlineMs: node.deadline }),
    };
  });
  const size = utf8Bytes(JSON.stringify(packPlan({ nodes })));
  if (size > LIMITS.planBytes) {
    throw BatonError.of('TooLarge', 'workflow and binding together are too large for a run', {
      ...refs,
      size,
      limit: LIMITS.planBytes,
      unit: 'bytes',
    });
  }
  return { nodes, ...(workflow.deadline === undefined ? {} : { deadlineMs: workflow.deadline }) };
}

function misfit(workflow: WorkflowDocument, binding: StoredBinding, refs: Refs): string | null {
  const meant = parseRef(binding.workflow);
  if (meant?.name !== workflow.name || (meant.revision !== null && binding.workflow !== refs.workflow)) {
    return `is for workflow ${binding.workflow}, not for ${refs.workflow}`;
  }
  const known = new Set(workflow.nodes.map((node) => node.node));
  const unbound = workflow.nodes.find((node) => !Object.hasOwn(binding.nodes, node.node));
  if (unbound !== undefined) return `does not bind node ${unbound.node} of workflow ${refs.workflow}`;
  const foreign = Object.keys(binding.nodes).find((node) => !known.has(node));
  return foreign === undefined
    ? null
    : `binds node ${foreign}, which workflow ${refs.workflow} does not have`;
}

function launchSpec(spec: StoredBinding['nodes'][string]['launch'][number]): LaunchSpec {
  const { lease, retry } = spec;
  return {
    id: spec.id,
    workerClasses: spec.workerClasses,
    dispatch: spec.dispatch,
    lease: { ttlMs: lease.ttl, maxDurationMs: lease.maxDuration },
    retry: {
      mode: retry.mode,
      backoff: { initialMs: retry.backoff.initial, factor: retry.backoff.factor, maxMs: retry.backoff.max },
      failures: retry.failures,
      losses: retry.losses,
      onExhausted: retry.onExhausted,
    },
  };
}

type WrittenPolicy = NonNullable<StoredBinding['nodes'][string]['escalate']>[number];

function escalation({ name, after, to, reason }: WrittenPolicy): Escalation {
  const count = after.losses === undefined ? 'failures' : 'losses';
  return { name, count, after: after[count] ?? 1, workerClass: to, reason: reason ?? null };
}
