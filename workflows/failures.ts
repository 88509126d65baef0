/** How an activity ended, in the words of the domain. */
import { ActivityFailure, ApplicationFailure, CancelledFailure, TimeoutFailure } from '@temporalio/workflow';
import type { EndKind, Failure } from '../src/domain/types.js';

export interface ObservedEnd {
  readonly end: EndKind;
  readonly staged: string | null;
  readonly failure: Failure | null;
}

/** Types of the failures with which a lease's activity may end; anything else came from outside. */
const HOLDER_ENDS: Readonly<Record<string, EndKind>> = { Failed: 'failure', Released: 'released' };

const outside: ObservedEnd = {
  end: 'outside',
  staged: null,
  failure: {
    code: 'CompletedOutside',
    message: 'the activity was ended by somebody who is not the lease holder',
  },
};

/** A completion counts only with the id of what the holder staged before. */
export function endOfCompletion(result: unknown): ObservedEnd {
  const staged = stagedId(result);
  return staged === null ? outside : { end: 'success', staged, failure: null };
}

/**
 * @param error what the lease's activity failed with
 * @param ttlMs for the message
 * @param reattached true when the attempt was live before this execution: then not starting means that the holder is gone
 */
export function endOfFailure(error: unknown, ttlMs: number, reattached: boolean): ObservedEnd {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof TimeoutFailure) return endOfTimeout(cause, ttlMs, reattached);
  if (cause instanceof CancelledFailure) return revoked('the activity was cancelled by an operator');
  if (!(cause instanceof ApplicationFailure)) return outside;
  if (cause.type === 'Revoked') return revoked(cause.message);
  if (cause.type === 'ResetWorkflow') return revoked('an operator reset the workflow to before its end');
  if (cause.type === 'NeverAttached' && !reattached) return neverAttached(cause.message);
  if (cause.type === 'NeverAttached' || cause.type === 'Lost') return lost(cause.message);
  const end = cause.type ? HOLDER_ENDS[cause.type] : undefined;
  const staged = stagedId({ staged: cause.details?.[0] });
  if (!end || staged === null) return outside;
  // The words are in the staged row; settle brings them.
  return { end, staged, failure: null };
}

function endOfTimeout(timeout: TimeoutFailure, ttlMs: number, reattached: boolean): ObservedEnd {
  if (timeout.timeoutType === 'HEARTBEAT') return lost(`no beat for ${ttlMs} ms`);
  if (timeout.timeoutType === 'SCHEDULE_TO_START') {
    return reattached
      ? lost('the holder did not come back after the roll-over')
      : neverAttached('the claiming host did not attach in time');
  }
  return {
    end: 'max-duration',
    staged: null,
    failure: { code: 'MaxDuration', message: 'the attempt took too long' },
  };
}

const lost = (message: string): ObservedEnd => ({
  end: 'expired',
  staged: null,
  failure: { code: 'LeaseExpired', message },
});
const revoked = (message: string): ObservedEnd => ({
  end: 'revoked',
  staged: null,
  failure: { code: 'Revoked', message },
});
const neverAttached = (message: string): ObservedEnd => ({
  end: 'never-attached',
  staged: null,
  failure: { code: 'NeverAttached', message },
});

/** A claim's activity that was completed with something that is no attempt. */
export const claimedOutside = (): ApplicationFailure =>
  ApplicationFailure.nonRetryable(
    'the claim was completed by somebody who is no claimant',
    'CompletedOutside',
  );

/** An operator's word on an effect, whose activity was completed with something that is no state of an effect. */
export const settledOutside = (): ApplicationFailure =>
  ApplicationFailure.nonRetryable(
    'the activity was completed by somebody else; the effect is as the store says',
    'CompletedOutside',
  );

function stagedId(value: unknown): string | null {
  const staged = typeof value === 'object' && value !== null ? (value as { staged?: unknown }).staged : null;
  return typeof staged === 'string' && staged.length > 0 && staged.length <= 128 ? staged : null;
}

/** Why a claim failed: the code that its transaction threw, or what Temporal says. */
export function claimFailureOf(
  error: unknown,
): Failure & { readonly details: Readonly<Record<string, unknown>> } {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof ApplicationFailure) {
    const details = (cause.details?.[0] ?? {}) as Record<string, unknown>;
    return { code: cause.type ?? 'Internal', message: cause.message, details };
  }
  if (cause instanceof TimeoutFailure) {
    return {
      code: 'StoreUnavailable',
      message: `the store did not record it in time (${cause.timeoutType})`,
      details: {},
    };
  }
  return { code: 'Internal', message: cause instanceof Error ? cause.message : String(cause), details: {} };
}
