/**
 * What claiming and attaching share: how a refusal becomes an activity failure, how long a store call may take, and what
 * an activity needs of the host that it runs on. The host implements {@link HostPort}; activities know nothing else of it.
 */
import { ApplicationFailure } from '@temporalio/common';
import type { Info } from '@temporalio/activity';
import { within } from '../src/access/within.js';
import { BatonError, ERROR_CODES } from '../src/domain/errors.js';
import type { PerformInput } from '../src/domain/wire.js';
import type { AttemptRef } from '../src/domain/types.js';
import type { Attachment, AttemptRow, Fence } from '../src/store/port.js';

/** Failure types of `performAttempt` that no holder reports: nothing was attached, or what was attached is gone. */
export const NEVER_ATTACHED = 'NeverAttached';
export const LOST = 'Lost';
/** The holder gave the lease up because an operator paused, reset or cancelled its activity. */
export const REVOKED = 'Revoked';
/** The holder gave the lease up by itself (shutdown, drain); details[0] is the staged id. */
export const RELEASED = 'Released';
/** The holder reports a failed attempt; details[0] is the staged id. */
export const FAILED = 'Failed';

/** A place that a claim has taken on a host, until it is kept for an attempt or given back. */
export interface TakenPlace {
  /** Id of the worker that will run there. */
  readonly worker: string;
  /** The claim is written: keeps the place for this attempt until it attaches, or its schedule-to-start is over. */
  keep(attempt: AttemptRef): void;
  /** The claim failed. */
  giveBack(): void;
}

/** The lease's activity as the process sees it. `receivedAt` is monotonic (milliseconds of `performance.now()`). */
export interface Held extends Attachment {
  readonly receivedAt: number;
}

export interface HostPort {
  readonly hostQueue: string;
  /** Owner actor of this host's workers, or null. */
  readonly owner: string | null;
  /** Takes a place for a claim; again for the same claim id: the same one. Throws `HostFull`. */
  take(claimId: string, workerClass: string): TakenPlace;
  /** What this process knows of an attempt. A `claimed` one keeps its place until `attached` or `dropped`. */
  expect(attempt: string): 'claimed' | 'running' | 'unknown';
  /** The row is live: starts the agent, or gives a running one its new activity. False when it has no use for it any more. */
  attached(input: PerformInput, row: AttemptRow, held: Held): boolean;
  /** A claimed attempt could not be attached. */
  dropped(attempt: string): void;
}

/** Id of a claim: fresh for each offer, the same for every try of it. */
export function claimIdOf(info: Info): string {
  const execution = info.workflowExecution;
  if (!execution) throw new BatonError('Internal', 'a claim must be scheduled by a run');
  return `${execution.runId}:${info.activityId}`;
}

export function fenceOf(input: PerformInput): Fence {
  const { attempt, epoch } = input.attempt;
  return { tenant: input.tenant, run: input.run, slot: input.slot, attempt, epoch };
}

/**
 * Turns any error into the failure that Temporal records: type = the code, retryable only where the table says that the
 * same call may succeed later.
 */
export function toActivityFailure(error: unknown): ApplicationFailure {
  if (error instanceof ApplicationFailure) return error;
  const known =
    error instanceof BatonError
      ? error
      : new BatonError(
          'Internal',
          error instanceof Error ? error.message : String(error),
          {},
          { cause: error },
        );
  return ApplicationFailure.create({
    type: known.code,
    message: known.message,
    nonRetryable: !ERROR_CODES[known.code].retry,
    details: [known.details],
    cause: error instanceof Error ? error : undefined,
  });
}

/** {@link within} for a store call: no answer in time is `StoreUnavailable`. */
export function storeWithin<T>(call: Promise<T>, ms: number, what: string): Promise<T> {
  return within(call, ms, () =>
    BatonError.of('StoreUnavailable', `the store did not answer in time: ${what}`, { ms }),
  );
}

export const isCode = (error: unknown, code: string): boolean =>
  typeof error === 'object' && error !== null && (error as { code?: unknown }).code === code;
