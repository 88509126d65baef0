/**
 * What the run's activities answer, read with suspicion: Temporal's own tools can complete any activity with any payload,
 * and an answer that is taken as it comes would end in an error of the workflow's code, which hangs the run for good. Pure.
 */
import { EFFECT_STATES, LISTED_EFFECTS } from './effect.js';
import type { AttemptRef, EndKind, LeaseStatus, WorkerStatus } from './types.js';
import { hostQueue, type ClaimSlotInput, type SettledAttempt } from './wire.js';

/** A claim skips epochs only after a reset or a restored store; a leap beyond this is nobody's claim. */
const EPOCH_LEAP = 1_000_000;

type Rule = (value: unknown) => boolean;

const name: Rule = (value) => typeof value === 'string' && value.length > 0 && value.length <= 1_000;
const count: Rule = (value) => Number.isSafeInteger(value) && (value as number) >= 1;
const orNull =
  (rule: Rule): Rule =>
  (value) =>
    value === null || rule(value);
const oneOf =
  <K extends string>(of: Record<K, true>): Rule =>
  (value) =>
    typeof value === 'string' && Object.hasOwn(of, value);
const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The fields that have a rule, when each obeys its own; null otherwise. */
function read<T extends object>(answer: unknown, rules: Record<keyof T & string, Rule>): T | null {
  if (!isRecord(answer)) return null;
  const entries = Object.entries<Rule>(rules).map(([field, rule]) => {
    const value = Object.hasOwn(answer, field) ? answer[field] : undefined;
    return rule(value) ? ([field, value] as const) : null;
  });
  return entries.every((entry) => entry !== null) ? (Object.fromEntries(entries) as T) : null;
}

const CLAIMED: Record<keyof AttemptRef, Rule> = {
  attempt: name,
  number: count,
  epoch: count,
  worker: name,
  workerClass: name,
  ownerActor: orNull(name),
  lease: name,
  spec: name,
  hostQueue: name,
  ttlMs: count,
  maxDurationMs: orNull(count),
  startedAt: Number.isFinite,
  trace: (value) => value === undefined || (typeof value === 'string' && value.length <= 100),
};

/**
 * @param input what the claim was asked for
 * @param taskQueue of the run
 * @returns the attempt, or null when this is no answer to that claim
 */
export function readClaimed(answer: unknown, input: ClaimSlotInput, taskQueue: string): AttemptRef | null {
  const claimed = read<AttemptRef>(answer, CLAIMED);
  if (!claimed) return null;
  const { direct, spec, lastEpoch, lastNumber } = input;
  const asAsked =
    claimed.workerClass === input.workerClass &&
    claimed.spec === spec.id &&
    claimed.ttlMs === spec.lease.ttlMs &&
    claimed.maxDurationMs === spec.lease.maxDurationMs &&
    (direct
      ? claimed.worker === direct.worker && claimed.hostQueue === taskQueue
      : claimed.hostQueue.startsWith(hostQueue(taskQueue, '')));
  const { epoch, number } = claimed;
  const later =
    epoch > lastEpoch && epoch <= lastEpoch + EPOCH_LEAP && number > lastNumber && number <= epoch;
  return asAsked && later ? claimed : null;
}

const ENDS: Record<EndKind, true> = {
  success: true,
  failure: true,
  outside: true,
  expired: true,
  'max-duration': true,
  released: true,
  revoked: true,
  cancelled: true,
  'never-attached': true,
};
const WORKERS: Partial<Record<WorkerStatus, true>> = {
  succeeded: true,
  failed: true,
  released: true,
  lost: true,
  cancelled: true,
};
const LEASES: Partial<Record<LeaseStatus, true>> = {
  released: true,
  expired: true,
  revoked: true,
  void: true,
};

const isEffect: Rule = (value) =>
  isRecord(value) &&
  name(value['name']) &&
  orNull(name)(value['instance']) &&
  (EFFECT_STATES as readonly unknown[]).includes(value['state']);

const isOpenEffects: Rule = (value) =>
  isRecord(value) &&
  Number.isSafeInteger(value['count']) &&
  Array.isArray(value['listed']) &&
  value['listed'].length <= Math.min(LISTED_EFFECTS, value['count'] as number) &&
  value['listed'].every(isEffect);

const SETTLED: Record<keyof SettledAttempt, Rule> = {
  end: oneOf(ENDS),
  workerStatus: oneOf(WORKERS as Record<string, true>),
  leaseStatus: oneOf(LEASES as Record<string, true>),
  failure: orNull(
    (value) => isRecord(value) && typeof value['code'] === 'string' && typeof value['message'] === 'string',
  ),
  result: orNull(name),
  effects: (value) => value === undefined || isOpenEffects(value),
};

/** @returns how the attempt stands in the store, or null when this is no answer of a settle */
export const readSettled = (answer: unknown): SettledAttempt | null => read<SettledAttempt>(answer, SETTLED);

type Deadlines = Readonly<Record<string, { readonly deadline: number; readonly beaten: boolean } | null>>;

const isDeadline: Rule = (value) =>
  isRecord(value) && Number.isFinite(value['deadline']) && typeof value['beaten'] === 'boolean';

/** @returns the deadlines by attempt, or null when this is no such answer */
export function readDeadlines(answer: unknown): Deadlines | null {
  return isRecord(answer) && Object.values(answer).every(orNull(isDeadline)) ? (answer as Deadlines) : null;
}
