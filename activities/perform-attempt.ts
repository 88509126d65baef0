/**
 * Activity `performAttempt`: the lease. It only attaches (makes the rows live, hands its task token over) and leaves the
 * activity open; whoever holds the token beats, completes or fails it. It has one try, so every way out of here is either
 * an attachment or a failure that says that nobody works under this lease.
 */
import { activityInfo, CompleteAsyncError } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import pRetry from 'p-retry';
import type { Activities, PerformInput } from '../src/domain/wire.js';
import type { AttemptRow, Store } from '../src/store/port.js';
import { countClaim } from '../src/telemetry/metrics.js';
import {
  fenceOf,
  isCode,
  LOST,
  NEVER_ATTACHED,
  storeWithin,
  type Held,
  type HostPort,
} from './claims-shared.js';

/**
 * @param options.host the host whose queue this serves; absent on a control worker, where the holder is outside and finds
 *   the token in the lease row
 * @returns the activity. It fails, not retryable, with type `NeverAttached` (the claim came to nothing) or `Lost` (the
 *   lease was live, but this process has no agent for it).
 */
export function makePerformAttempt(options: { store: Store; host?: HostPort }): Activities['performAttempt'] {
  const { store, host } = options;
  return async function performAttempt(input) {
    const held = heldNow();
    const known = host ? host.expect(input.attempt.attempt) : 'claimed';
    if (known === 'unknown') throw await whatIsMissing(store, input);
    let row: AttemptRow;
    try {
      row = await attach(store, input, held);
    } catch (error) {
      host?.dropped(input.attempt.attempt);
      const why = error instanceof Error ? error.message : String(error);
      if (known === 'running') throw failure(LOST, `the lease could not be attached again: ${why}`, error);
      throw failure(NEVER_ATTACHED, `the lease could not be attached: ${why}`, error);
    }
    // A roll-over attaches a lease again: its row keeps the time of the first attachment.
    if (row.startedAt === activityInfo().currentAttemptScheduledTimestampMs)
      countClaim(row.workerClass, row.number > 1);
    if (host && !host.attached(input, row, held)) {
      // A claim on a host that is closing has run nothing; an agent whose lease ended here has.
      if (known === 'claimed') throw failure(NEVER_ATTACHED, 'the host is shutting down');
      throw failure(LOST, 'the agent stopped before the lease came back');
    }
    throw new CompleteAsyncError();
  };
}

function heldNow(): Held {
  const receivedAt = performance.now();
  const info = activityInfo();
  return {
    workflowRunId: info.workflowExecution?.runId ?? '',
    activityId: info.activityId,
    taskToken: info.taskToken,
    receivedAt,
  };
}

/** Repeats while the store is away, for most of the TTL: after it the lease is over anyway. */
async function attach(store: Store, input: PerformInput, held: Held): Promise<AttemptRow> {
  const { workflowRunId, activityId, taskToken } = held;
  const at = activityInfo().currentAttemptScheduledTimestampMs;
  const limitMs = Math.max(500, 0.7 * input.attempt.ttlMs - (performance.now() - held.receivedAt));
  const once = (): Promise<AttemptRow> =>
    storeWithin(
      store.attempts.attach({
        fence: fenceOf(input),
        attachment: { workflowRunId, activityId, taskToken },
        at,
      }),
      Math.min(limitMs, 5_000),
      `attachment of ${input.attempt.attempt}`,
    );
  return pRetry(once, {
    retries: 1_000,
    minTimeout: 50,
    maxTimeout: 1_000,
    maxRetryTime: limitMs,
    shouldRetry: ({ error }) => isCode(error, 'StoreUnavailable'),
  });
}

/** An attempt that this process never claimed: the row says whether somebody was at work on it. */
async function whatIsMissing(store: Store, input: PerformInput): Promise<ApplicationFailure> {
  const { attempt } = input.attempt;
  const row = await storeWithin(
    store.attempts.get(input.tenant, input.run, attempt),
    2_000,
    `attempt ${attempt}`,
  ).catch(() => null);
  return row?.leaseStatus === 'live'
    ? failure(LOST, `this process does not run the agent of ${attempt}`)
    : failure(NEVER_ATTACHED, `this process did not claim ${attempt}, or gave its place back`);
}

function failure(type: string, message: string, cause?: unknown): ApplicationFailure {
  return ApplicationFailure.create({
    type,
    message,
    nonRetryable: true,
    cause: cause instanceof Error ? cause : undefined,
  });
}
