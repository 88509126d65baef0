/** What the fields of a workflow document cannot say one by one: names, dependencies and slots fit together. */
import { isKey, LIMITS } from './fields.js';
import type { Problem } from './problems.js';
import type { WorkflowNode } from './schema.js';

/**
 * Slot names of a node: `[node]`; for `slots: [a, b]` `node.a`, `node.b`; for `slots: N` `node.1` to `node.N`.
 */
export function slotNames(node: Pick<WorkflowNode, 'node' | 'slots'>): readonly string[] {
  const { node: name, slots } = node;
  if (slots === undefined) return [name];
  if (typeof slots === 'number') return Array.from({ length: slots }, (_, index) => `${name}.${index + 1}`);
  return slots.map((slot) => `${name}.${slot}`);
}

/** All that is wrong with the graph, each by its field; empty when it can be run. */
export function graphProblems(nodes: readonly WorkflowNode[]): readonly Problem[] {
  const problems = [...nameProblems(nodes), ...dependencyProblems(nodes)];
  return problems.length > 0 ? problems : cycleProblems(nodes);
}

function nameProblems(nodes: readonly WorkflowNode[]): Problem[] {
  const problems: Problem[] = [];
  const seen = new Set<string>();
  const owners = new Map<string, string>();
  for (const [index, node] of nodes.entries()) {
    if (seen.has(node.node))
      problems.push({ field: `nodes[${index}].node`, what: `names node ${node.node} twice` });
    else for (const slot of slotNames(node)) problems.push(...slotProblems(slot, node.node, index, owners));
    seen.add(node.node);
  }
  if (owners.size > LIMITS.slots) {
    problems.push({
      field: 'nodes',
      what: `have ${owners.size} slots, the limit is ${LIMITS.slots}`,
      oversize: true,
    });
  }
  return problems;
}

function slotProblems(slot: string, node: string, index: number, owners: Map<string, string>): Problem[] {
  const field = `nodes[${index}].slots`;
  const owner = owners.get(slot);
  if (owner !== undefined) {
    return [
      {
        field,
        what: owner === node ? `names slot ${slot} twice` : `gives slot ${slot}, which node ${owner} has too`,
      },
    ];
  }
  owners.set(slot, node);
  return isKey(slot) ? [] : [{ field, what: `gives slot ${slot}, longer than the 128 characters of an id` }];
}

function dependencyProblems(nodes: readonly WorkflowNode[]): Problem[] {
  const known = new Set(nodes.map((node) => node.node));
  return nodes.flatMap((node, index) =>
    node.dependsOn.flatMap((name, position): Problem[] => {
      const field = `nodes[${index}].dependsOn[${position}]`;
      if (!known.has(name)) return [{ field, what: `names ${name}, which is no node of this workflow` }];
      if (node.dependsOn.indexOf(name) !== position) return [{ field, what: `names ${name} twice` }];
      return [];
    }),
  );
}

/** Takes nodes off whose dependencies are all off; what stays holds a cycle, which is then walked and named. */
function cycleProblems(nodes: readonly WorkflowNode[]): readonly Problem[] {
  const left = new Map(nodes.map((node) => [node.node, node.dependsOn.length]));
  const dependants = new Map<string, string[]>();
  for (const node of nodes) {
    for (const name of node.dependsOn) dependants.set(name, [...(dependants.get(name) ?? []), node.node]);
  }
  const ready = nodes.filter((node) => node.dependsOn.length === 0).map((node) => node.node);
  for (let name = ready.pop(); name !== undefined; name = ready.pop()) {
    left.delete(name);
    for (const dependant of dependants.get(name) ?? []) {
      const open = (left.get(dependant) ?? 0) - 1;
      left.set(dependant, open);
      if (open === 0) ready.push(dependant);
    }
  }
  const stuck = nodes.find((node) => left.has(node.node));
  if (stuck === undefined) return [];
  const cycle = walk(stuck.node, new Map(nodes.map((node) => [node.node, node.dependsOn])), left);
  const index = nodes.findIndex((node) => node.node === cycle[0]);
  return [{ field: `nodes[${index}].dependsOn`, what: `is a cycle: ${cycle.join(' → ')}` }];
}

function walk(
  start: string,
  edges: ReadonlyMap<string, readonly string[]>,
  left: ReadonlyMap<string, number>,
): string[] {
  const path: string[] = [];
  for (let name: string | undefined = start; name !== undefined;) {
    const seen = path.indexOf(name);
    if (seen >= 0) return [...path.slice(seen), name];
    path.push(name);
    name = edges.get(name)?.find((dependency) => left.has(dependency));
  }
  return path;
}
