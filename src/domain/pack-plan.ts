/**
 * A plan as it travels in a run's input. Thousands of nodes mostly share a few agents and specifications, and Temporal takes
 * 2 MB a payload: each is told once. Pure.
 */
import type { AgentRef, Attachment, Escalation, LaunchSpec, PlanNode, RunPlan } from './types.js';

/** A plan whose nodes name their agent, attachments and specifications by number, since most nodes share them. */
export interface PackedPlan {
  readonly agents: readonly AgentRef[];
  readonly attachments: readonly (readonly Attachment[])[];
  readonly launch: readonly (readonly LaunchSpec[])[];
  readonly escalate?: readonly (readonly Escalation[])[];
  readonly packed: readonly PackedNode[];
  readonly deadlineMs?: number;
}

interface PackedNode {
  readonly node: string;
  /** Absent: one slot named like the node. A number: `node.1` to `node.N`. */
  readonly slots?: number | readonly string[];
  readonly dependsOn?: readonly string[];
  readonly optional?: true;
  readonly steps?: readonly string[];
  /** Numbers of agent, attachments and launch specifications. */
  readonly of: readonly [number, number, number];
  /** Number of the escalations, if it has any. */
  readonly escalate?: number;
  readonly deadlineMs?: number;
}

export function packPlan(plan: RunPlan): PackedPlan {
  const [agents, attachments, launch] = [
    new Table<AgentRef>(),
    new Table<readonly Attachment[]>(),
    new Table<readonly LaunchSpec[]>(),
  ];
  const policies = new Table<readonly Escalation[]>();
  const packed = plan.nodes.map((node): PackedNode => {
    const { dependsOn, optional, steps, escalate, deadlineMs } = node;
    const slots = packSlotNames(node);
    return {
      node: node.node,
      ...(slots === null ? {} : { slots }),
      ...(dependsOn.length > 0 ? { dependsOn } : {}),
      ...(optional ? { optional } : {}),
      ...(steps === null ? {} : { steps }),
      of: [agents.add(node.agent), attachments.add(node.attachments), launch.add(node.launch)],
      ...(escalate ? { escalate: policies.add(escalate) } : {}),
      ...(deadlineMs === undefined ? {} : { deadlineMs }),
    };
  });
  return {
    agents: agents.values,
    attachments: attachments.values,
    launch: launch.values,
    ...(policies.values.length > 0 ? { escalate: policies.values } : {}),
    packed,
    ...(plan.deadlineMs === undefined ? {} : { deadlineMs: plan.deadlineMs }),
  };
}

/** @param plan packed or not: runs of earlier versions carry theirs as it is */
export function unpackPlan(plan: PackedPlan | RunPlan): RunPlan {
  if ('nodes' in plan) return plan;
  const { agents, attachments, launch } = plan;
  const nodes = plan.packed.map((packed): PlanNode => {
    const { node, slots, dependsOn, optional, steps, of, escalate, deadlineMs } = packed;
    return {
      node,
      slots: unpackSlotNames(node, slots),
      dependsOn: dependsOn ?? [],
      optional: optional ?? false,
      steps: steps ?? null,
      agent: agents[of[0]] as AgentRef,
      attachments: attachments[of[1]] ?? [],
      launch: launch[of[2]] ?? [],
      ...(escalate === undefined ? {} : { escalate: plan.escalate?.[escalate] ?? [] }),
      ...(deadlineMs === undefined ? {} : { deadlineMs }),
    };
  });
  return { nodes, ...(plan.deadlineMs === undefined ? {} : { deadlineMs: plan.deadlineMs }) };
}

function packSlotNames({ node, slots }: PlanNode): number | readonly string[] | null {
  if (slots.length === 1 && slots[0] === node) return null;
  return slots.every((slot, index) => slot === `${node}.${index + 1}`) ? slots.length : slots;
}

function unpackSlotNames(node: string, slots: number | readonly string[] | undefined): readonly string[] {
  if (slots === undefined) return [node];
  if (typeof slots !== 'number') return slots;
  return Array.from({ length: slots }, (_, index) => `${node}.${index + 1}`);
}

class Table<T> {
  readonly values: T[] = [];
  private readonly numbers = new Map<string, number>();

  add(value: T): number {
    const text = JSON.stringify(value);
    const known = this.numbers.get(text);
    if (known !== undefined) return known;
    this.numbers.set(text, this.values.length);
    return this.values.push(value) - 1;
  }
}
