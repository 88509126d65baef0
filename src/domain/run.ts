/**
 * A run as a whole: how it starts, when blocked slots open, and when it is over (design, section 2). Pure.
 */
import { endAttempt } from './attempt.js';
import type { Failure, LaunchSpec, Pins, PlanNode, RunPlan, RunState, RunStatus, Slot } from './types.js';

const OVER: ReadonlySet<Slot['state']> = new Set(['succeeded', 'failed', 'cancelled']);
export const isOver = (slot: Pick<Slot, 'state'>): boolean => OVER.has(slot.state);

/**
 * State of a run at launch: slots without dependencies are open, with their first specification selected.
 *
 * @param now the run's start, from which deadlines count
 */
export function createRun(
  input: { tenant: string; run: string; pins: Pins; plan: RunPlan },
  now: number,
): RunState {
  const { tenant, run, pins, plan } = input;
  const slots: Record<string, Slot> = {};
  for (const node of plan.nodes) for (const slot of node.slots) slots[slot] = newSlot(node, slot);
  const { deadlineMs } = plan;
  const deadline = deadlineMs === undefined ? {} : { deadline: now + deadlineMs };
  return advance({ tenant, run, pins, plan, status: 'running', ...deadline, slots }, now);
}

/** A slot that nobody has touched; `blocked` until the run advances. */
export function newSlot(node: PlanNode, slot: string): Slot {
  const spec = node.launch[0];
  if (!spec) throw new RangeError(`node ${node.node} has no launch specification`);
  return {
    slot,
    node: node.node,
    state: 'blocked',
    gate: null,
    spec: spec.id,
    workerClass: spec.workerClasses[0] ?? '',
    retryTime: null,
    pendingWorker: null,
    before: null,
    active: null,
    ending: null,
    prior: null,
    reassign: null,
    epoch: null,
    number: 0,
    counts: { claims: 0, failures: 0, losses: 0, releases: 0 },
    spent: { failures: 0, losses: 0 },
    result: null,
    failure: null,
    hold: null,
    claimFailure: null,
  };
}

export function withSlot(state: RunState, slot: Slot): RunState {
  // By name: a spread of thousands of properties takes four times as long, and this is done for every fact.
  const slots: Record<string, Slot> = {};
  for (const name of slotNames(state.plan)) slots[name] = state.slots[name] as Slot;
  slots[slot.slot] = slot;
  return { ...state, slots };
}

const namesOfPlans = new WeakMap<RunPlan, readonly string[]>();

/** All slot names in plan order. */
export function slotNames(plan: RunPlan): readonly string[] {
  let names = namesOfPlans.get(plan);
  if (!names) namesOfPlans.set(plan, (names = plan.nodes.flatMap(({ slots }) => slots)));
  return names;
}

/**
 * What follows from the slots' states: dependants open, and the run ends. Called after every change.
 *
 * A required slot that failed fails the run at once; a required slot that was cancelled ends it as `cancelled` when
 * nothing else is left that could go on. At the end whatever is not over is cancelled.
 */
export function advance(state: RunState, now: number): RunState {
  // A success that was being verified when the run ended may turn out to be none: nobody will work on the slot again.
  if (state.status !== 'running') return endRun(state, state.status, now);
  const status = outcome(state);
  if (status !== 'running') return endRun(state, status, now);
  let slots: Record<string, Slot> | null = null;
  // Asked once for each dependency, however many wait for it.
  const done = new Map<string, boolean>();
  const ready = (dependency: string): boolean => {
    const known = done.get(dependency) ?? isDone(state, dependency);
    done.set(dependency, known);
    return known;
  };
  for (const node of state.plan.nodes) {
    const blocked = node.slots.filter((name) => state.slots[name]?.state === 'blocked');
    if (blocked.length === 0 || !node.dependsOn.every(ready)) continue;
    slots ??= { ...state.slots };
    for (const name of blocked) slots[name] = opened(slots[name] as Slot, node, now);
  }
  return slots ? { ...state, slots } : state;
}

/** The time that a slot has runs from here, and goes on while it is on hold. */
function opened(slot: Slot, { deadlineMs }: PlanNode, now: number): Slot {
  const deadline = slot.deadline ?? (deadlineMs === undefined ? undefined : now + deadlineMs);
  return { ...slot, state: 'open', ...(deadline === undefined ? {} : { deadline }) };
}

function outcome(state: RunState): RunStatus {
  const waiting: Slot[] = [];
  let cancelled = false;
  for (const node of state.plan.nodes) {
    for (const name of node.slots) {
      const slot = state.slots[name] as Slot;
      if (slot.state === 'failed' && !node.optional) return 'failed';
      if (slot.state === 'cancelled' && !node.optional) cancelled = true;
      if (!isOver(slot)) waiting.push(slot);
    }
  }
  if (waiting.length === 0) return cancelled ? 'cancelled' : 'succeeded';
  if (!cancelled) return 'running';
  const dead = unreachable(state);
  // On hold or not: nothing brings a slot to work whose dependency was cancelled.
  return waiting.every((slot) => dead.has(slot.node)) ? 'cancelled' : 'running';
}

/** A dependency of an optional node counts as done however it ended: dependants get its absence as input. */
function isDone(state: RunState, nodeName: string): boolean {
  const node = nodeOf(state.plan, nodeName);
  return node.slots.every((name) => {
    const slot = state.slots[name] as Slot;
    return slot.state === 'succeeded' || (node.optional && isOver(slot));
  });
}

/** Nodes that wait, however indirectly, for a required slot that was cancelled. */
function unreachable(state: RunState): ReadonlySet<string> {
  const dead = new Set<string>();
  const cancelled = state.plan.nodes.filter(
    (node) => !node.optional && node.slots.some((slot) => state.slots[slot]?.state === 'cancelled'),
  );
  const queue = cancelled.map((node) => node.node);
  const dependants = dependantsOf(state.plan);
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    for (const node of dependants.get(name) ?? []) {
      if (dead.has(node.node) || isDone(state, node.node)) continue;
      dead.add(node.node);
      queue.push(node.node);
    }
  }
  return dead;
}

function dependantsOf(plan: RunPlan): ReadonlyMap<string, readonly PlanNode[]> {
  const dependants = new Map<string, PlanNode[]>();
  for (const node of plan.nodes) {
    for (const name of node.dependsOn) {
      const known = dependants.get(name);
      if (known) known.push(node);
      else dependants.set(name, [node]);
    }
  }
  return dependants;
}

/**
 * Ends the run: every slot that is not over is cancelled, and live attempts end as `cancelled`. A success that the store
 * is verifying stands until the store has spoken.
 */
export function endRun(
  state: RunState,
  status: Exclude<RunStatus, 'running'>,
  now: number,
  failure: Failure = { code: 'Cancelled', message: `the run is over: ${status}` },
): RunState {
  const slots: Record<string, Slot> = {};
  for (const [name, slot] of Object.entries(state.slots))
    slots[name] = cancelled(slot, specOf(state, slot), failure, now);
  return { ...state, status, slots };
}

/** The slot cancelled; an attempt that is live ends with it. A slot that is over, or whose success is being verified, stays. */
export function cancelled(slot: Slot, spec: LaunchSpec, failure: Failure, now: number): Slot {
  if (isOver(slot) || (slot.state === 'active' && slot.ending)) return slot;
  if (slot.state === 'active') {
    return endAttempt(slot, spec, { end: 'cancelled', failure, staged: null, now });
  }
  return {
    ...slot,
    state: 'cancelled',
    gate: null,
    retryTime: null,
    pendingWorker: null,
    before: null,
    hold: null,
  };
}

/** The selected launch specification of a slot. */
export function specOf(state: RunState, slot: Slot): LaunchSpec {
  const spec = nodeOf(state.plan, slot.node).launch.find((candidate) => candidate.id === slot.spec);
  if (!spec) throw new RangeError(`slot ${slot.slot} has no launch specification ${slot.spec}`);
  return spec;
}

export function nodeOf(plan: RunPlan, name: string): PlanNode {
  const node = indexOf(plan).get(name);
  if (!node) throw new RangeError(`the plan has no node ${name}`);
  return node;
}

/** Nodes by name, made once a plan: a run of thousands of nodes looks them up for every slot at every change. */
const indexes = new WeakMap<RunPlan, ReadonlyMap<string, PlanNode>>();

function indexOf(plan: RunPlan): ReadonlyMap<string, PlanNode> {
  const known = indexes.get(plan);
  if (known) return known;
  const index = new Map(plan.nodes.map((node) => [node.node, node]));
  indexes.set(plan, index);
  return index;
}
