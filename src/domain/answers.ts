/**
 * What the run's activities answer, read with suspicion: Temporal's own tools can complete any activity with any payload,
 * and an answer that is taken as it comes would end in an error of the workflow's code, which hangs the run for good. Pure.
 */
import * as z from 'zod';
import type { AttemptRef, EndKind, LeaseStatus, WorkerStatus } from './types.js';
import { hostQueue, type ClaimSlotInput, type SettledAttempt } from './wire.js';

/** A claim skips epochs only after a reset or a restored store; a leap beyond this is nobody's claim. */
const EPOCH_LEAP = 1_000_000;

const name = z.string().min(1).max(256);
const count = z.int().min(1);
const claimed = z.object({
  attempt: name,
  number: count,
  epoch: count,
  worker: name,
  workerClass: name,
  ownerActor: name.nullable(),
  lease: name,
  spec: name,
  hostQueue: z.string().min(1).max(1_000),
  ttlMs: count,
  maxDurationMs: count.nullable(),
  startedAt: z.number(),
});

/**
 * @param input what the claim was asked for
 * @param taskQueue of the run
 * @returns the attempt, or null when this is no answer to that claim
 */
export function readClaimed(answer: unknown, input: ClaimSlotInput, taskQueue: string): AttemptRef | null {
  const { success, data } = claimed.safeParse(answer);
  if (!success) return null;
  const { direct, spec, lastEpoch, lastNumber } = input;
  const asAsked =
    data.workerClass === input.workerClass &&
    data.spec === spec.id &&
    data.ttlMs === spec.lease.ttlMs &&
    data.maxDurationMs === spec.lease.maxDurationMs &&
    (direct
      ? data.worker === direct.worker && data.hostQueue === taskQueue
      : data.hostQueue.startsWith(hostQueue(taskQueue, '')));
  const later =
    data.epoch > lastEpoch &&
    data.epoch <= lastEpoch + EPOCH_LEAP &&
    data.number > lastNumber &&
    data.number <= data.epoch;
  return asAsked && later ? data : null;
}

const END_KINDS = {
  success: 1,
  failure: 1,
  outside: 1,
  expired: 1,
  'max-duration': 1,
  released: 1,
  revoked: 1,
  cancelled: 1,
  'never-attached': 1,
} as const satisfies Record<EndKind, 1>;
const keysOf = <K extends string>(of: Record<K, 1>) => Object.keys(of) as [K, ...K[]];
const settled = z.object({
  end: z.enum(keysOf(END_KINDS)),
  workerStatus: z.enum(['succeeded', 'failed', 'released', 'lost', 'cancelled'] satisfies WorkerStatus[]),
  leaseStatus: z.enum(['released', 'expired', 'revoked', 'void'] satisfies LeaseStatus[]),
  failure: z.object({ code: z.string(), message: z.string() }).nullable(),
  result: z.string().nullable(),
});

/** @returns how the attempt stands in the store, or null when this is no answer of a settle */
export function readSettled(answer: unknown): SettledAttempt | null {
  const { success, data } = settled.safeParse(answer);
  return success ? data : null;
}

const deadlines = z.record(z.string(), z.object({ deadline: z.number(), beaten: z.boolean() }).nullable());

/** @returns the deadlines by attempt, or null when this is no such answer */
export function readDeadlines(answer: unknown): z.infer<typeof deadlines> | null {
  const { success, data } = deadlines.safeParse(answer);
  return success ? data : null;
}
