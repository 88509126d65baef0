/** Small plans, crafted slots and shorthands for tests of the domain; every state is frozen, so that a mutation throws. */
import { expect } from 'vitest';
import type { ClaimCommand, Command, ReassignCommand } from '../../src/domain/commands.js';
import { check, obey, observe, type Fact } from '../../src/domain/decide.js';
import { ERROR_CODES, type ErrorCode, type Refusal } from '../../src/domain/errors.js';
import { createRun } from '../../src/domain/run.js';
import type {
  AttemptRef,
  EndKind,
  Failure,
  LaunchSpec,
  PlanNode,
  PriorWorker,
  RetryPolicy,
  RunPlan,
  RunState,
  Slot,
} from '../../src/domain/types.js';
import type { SettledAttempt } from '../../src/domain/wire.js';

export const NOW = 1_700_000_000_000;
export const pin = { ref: 'job@1', digest: `sha256:${'0'.repeat(64)}` };
export const pins = { package: pin, workflow: pin, binding: pin };

export const retry = (changes: Partial<RetryPolicy> = {}): RetryPolicy => ({
  mode: 'auto',
  backoff: { initialMs: 5_000, factor: 2, maxMs: 300_000 },
  failures: 3,
  losses: 5,
  onExhausted: 'wait',
  ...changes,
});

export const spec = (id: string, changes: Partial<LaunchSpec> = {}): LaunchSpec => ({
  id,
  workerClasses: ['coder'],
  dispatch: 'direct',
  lease: { ttlMs: 60_000, maxDurationMs: null },
  retry: retry(),
  ...changes,
});

export const node = (name: string, changes: Partial<PlanNode> = {}): PlanNode => ({
  node: name,
  slots: [name],
  dependsOn: [],
  optional: false,
  steps: null,
  agent: { name: 'tester', revision: '1' },
  attachments: [],
  launch: [
    spec('one'),
    spec('two', { workerClasses: ['senior', 'human'] }),
    spec('three', { workerClasses: ['human'] }),
  ],
  ...changes,
});

export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}

export const start = (...nodes: PlanNode[]): RunState => {
  const plan: RunPlan = { nodes: nodes.length > 0 ? nodes : [node('a')] };
  return deepFreeze(createRun({ tenant: 'acme', run: 'r1', pins, plan }, NOW));
};

export function slotOf(state: RunState, name = 'a'): Slot {
  const slot = state.slots[name];
  if (!slot) throw new Error(`no slot ${name}`);
  return slot;
}

/** The state with one slot changed by hand, for states that no short history reaches. */
export function craft(state: RunState, changes: Partial<Slot>, name = 'a'): RunState {
  return deepFreeze({ ...state, slots: { ...state.slots, [name]: { ...slotOf(state, name), ...changes } } });
}

export const prior = (changes: Partial<PriorWorker> = {}): PriorWorker => ({
  attempt: 'a-1',
  number: 1,
  worker: 'w1',
  workerClass: 'coder',
  ownerActor: 'ada',
  status: 'lost',
  leaseStatus: 'expired',
  ...changes,
});

export const attempt = (number: number, changes: Partial<AttemptRef> = {}): AttemptRef => ({
  attempt: `att-${number}`,
  number,
  epoch: number,
  worker: `w${number}`,
  workerClass: 'coder',
  ownerActor: null,
  lease: `lease-${number}`,
  spec: 'one',
  hostQueue: 'baton/host/h1',
  ttlMs: 60_000,
  maxDurationMs: null,
  startedAt: 0,
  ...changes,
});

const signed = { tenant: 'acme', run: 'r1', actor: 'ada', commandId: 'c1' };
export type Reassign = { readonly name: 'reassign' } & ReassignCommand;
export const reassign = (changes: Partial<ReassignCommand> = {}): Reassign => ({
  name: 'reassign',
  ...signed,
  slot: 'a',
  workerClass: 'senior',
  reason: 'host lost',
  ...changes,
});
export type Claim = { readonly name: 'claim' } & ClaimCommand;
export const claim = (changes: Partial<ClaimCommand> = {}): Claim => ({
  name: 'claim',
  ...signed,
  slot: 'a',
  workerClass: 'coder',
  worker: 'w1',
  ...changes,
});
export const steer = (
  name: 'hold' | 'releaseHold' | 'revoke' | 'cancelSlot',
  slot = 'a',
  reason: string | null = 'because',
): Command => ({ name, ...signed, slot, reason });
export const cancelRun = (reason: string | null = 'because'): Command => ({
  name: 'cancelRun',
  ...signed,
  reason,
});

/** Carries a command out; fails the test when it is refused. */
export function accept(state: RunState, command: Command, now = NOW): RunState {
  expect(check(state, command, now)).toBeNull();
  return deepFreeze(obey(state, command, now));
}

export const see = (state: RunState, fact: Fact, now = NOW): RunState =>
  deepFreeze(observe(state, fact, now));
export const claimed = (state: RunState, given: AttemptRef, now = NOW, slot = 'a'): RunState =>
  see(state, { kind: 'claimed', slot, attempt: given }, now);

export interface EndInput {
  readonly slot?: string;
  readonly now?: number;
  readonly failure?: Failure | null;
  readonly staged?: string | null;
}

/** The active attempt of the slot ends. */
export function ends(state: RunState, end: EndKind, input: EndInput = {}): RunState {
  const { slot = 'a', now = NOW, failure = null, staged = null } = input;
  const active = slotOf(state, slot).active;
  if (!active) throw new Error(`slot ${slot} has no active attempt`);
  return see(state, { kind: 'attempt-ended', slot, attempt: active.attempt, end, staged, failure }, now);
}

const STATUSES: Readonly<
  Record<EndKind, readonly [SettledAttempt['workerStatus'], SettledAttempt['leaseStatus']]>
> = {
  success: ['succeeded', 'released'],
  failure: ['failed', 'released'],
  outside: ['failed', 'released'],
  expired: ['lost', 'expired'],
  'max-duration': ['lost', 'expired'],
  released: ['released', 'released'],
  revoked: ['cancelled', 'revoked'],
  cancelled: ['cancelled', 'revoked'],
  'never-attached': ['cancelled', 'void'],
};

/** What the store answers for an end, as its settle does. */
export const verdict = (
  end: EndKind,
  failure: Failure | null = null,
  result: string | null = null,
): SettledAttempt => {
  const [workerStatus, leaseStatus] = STATUSES[end];
  return { end, workerStatus, leaseStatus, failure, result };
};

/** The store records the slot's ending: as it was seen, or as `end` says. */
export function settles(
  state: RunState,
  input: EndInput & { end?: EndKind; result?: string | null } = {},
): RunState {
  const { slot = 'a', now = NOW, failure = null, result = null } = input;
  const ending = slotOf(state, slot).ending;
  if (!ending) throw new Error(`slot ${slot} has no ending`);
  const settled = verdict(input.end ?? ending.end, failure, result);
  return see(state, { kind: 'settled', slot, attempt: ending.attempt.attempt, settled }, now);
}

/** Claims, ends and settles one attempt. */
export function round(state: RunState, number: number, end: EndKind, input: EndInput = {}): RunState {
  const { slot = 'a', now = NOW } = input;
  const given = attempt(number, { attempt: `${slot}-${number}`, spec: slotOf(state, slot).spec });
  return settles(ends(claimed(state, given, now, slot), end, input), input);
}

/** A refusal that a person can act on: the code, the facts in words, and the next step of the table. */
export function expectRefused(
  refused: Refusal | null,
  code: ErrorCode,
  ...words: readonly string[]
): Refusal {
  expect(refused?.code).toBe(code);
  const message = refused?.message ?? '';
  for (const word of words) expect(message).toContain(word);
  expect(message.endsWith(ERROR_CODES[code].next)).toBe(true);
  return refused as Refusal;
}
