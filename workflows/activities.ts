/** Options of the run's activities, and where each of them runs. */
import {
  ActivityCancellationType,
  ActivityFailure,
  proxyActivities,
  sleep,
  type ActivityOptions,
} from '@temporalio/workflow';
import type { Activities } from '../src/domain/wire.js';

/** Longest a claim's transaction may take. */
export const CLAIM_TIMEOUT = '5s';
/** Temporal wants a bound; the run's deadline timer is the one that counts, since a paused activity has no running timers. */
const UNBOUNDED = '3650 days';
/** Fairness keys are limited to 64 bytes. */
const fairnessKey = (tenant: string) => tenant.slice(0, 64);

/** An offer: waits on the class queue until a host with room takes it. */
export function offered(input: { taskQueue: string; activityId: string; tenant: string; summary: string }) {
  return proxyActivities<Pick<Activities, 'claimSlot'>>({
    taskQueue: input.taskQueue,
    activityId: input.activityId,
    priority: { fairnessKey: fairnessKey(input.tenant) },
    startToCloseTimeout: CLAIM_TIMEOUT,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { initialInterval: '100ms', backoffCoefficient: 2, maximumInterval: '5s' },
    summary: input.summary,
  });
}

/** A direct claim: one try on the control queue, so that its command gets an answer in time. */
export function directClaim(input: { activityId: string; summary: string }) {
  return proxyActivities<Pick<Activities, 'claimSlot'>>({
    activityId: input.activityId,
    startToCloseTimeout: CLAIM_TIMEOUT,
    scheduleToCloseTimeout: '8s',
    retry: { maximumAttempts: 1 },
    summary: input.summary,
  });
}

/** The lease. Missed beats end it; there is never a second try. */
export function lease(input: { taskQueue: string; activityId: string; ttlMs: number; summary: string }) {
  return proxyActivities<Pick<Activities, 'performAttempt'>>({
    taskQueue: input.taskQueue,
    activityId: input.activityId,
    heartbeatTimeout: input.ttlMs,
    scheduleToStartTimeout: input.ttlMs,
    startToCloseTimeout: UNBOUNDED,
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: { maximumAttempts: 1 },
    summary: input.summary,
  });
}

/** An operator's word, for the store: repeated for as long as its command may wait. A repeat finds what was written. */
export function settledEffect(summary: string) {
  return proxyActivities<Pick<Activities, 'resolveEffect'>>({
    startToCloseTimeout: '10s',
    scheduleToCloseTimeout: '30s',
    retry: { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '5s' },
    summary,
  });
}

/** Bookkeeping on the control queue: repeated until the store has it. */
export function recorded(summary: string, options: ActivityOptions = {}) {
  return proxyActivities<Pick<Activities, 'settle' | 'voidClaim' | 'closeRun' | 'leaseDeadlines'>>({
    startToCloseTimeout: '10s',
    retry: { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '10s' },
    summary,
    ...options,
  });
}

/**
 * Carries out bookkeeping that must not be skipped. Temporal repeats it while it fails by itself; here it is scheduled again
 * when somebody has failed it for good, or completed it with something that is no answer, by Temporal's own tools.
 *
 * @param call schedules the activity
 * @param read the answer, or null when it is none
 */
export async function persistently<T>(
  call: () => Promise<unknown>,
  read: (answer: unknown) => T | null,
): Promise<T> {
  for (let pauseMs = 200; ; pauseMs = Math.min(2 * pauseMs, 10_000)) {
    try {
      const answer = read(await call());
      if (answer !== null) return answer;
    } catch (error) {
      if (!(error instanceof ActivityFailure)) throw error;
    }
    await sleep(pauseMs, { summary: 'somebody ended an activity of the run' });
  }
}

/** For {@link persistently}: what has no answer but that it was done. */
export const done = (answer: unknown): true | null => (answer === undefined || answer === null ? true : null);
