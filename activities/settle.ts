/** Settle: the fenced write of an attempt's end, and of the run's when nothing else is left. */
import { log } from '@temporalio/activity';
import { ENDS } from '../src/domain/attempt.js';
import type { SettleAttemptInput, SettledAttempt } from '../src/domain/wire.js';
import type { Store } from '../src/store/port.js';
import { countLoss } from '../src/telemetry/metrics.js';
import { ATTRIBUTES, attributesOf } from '../src/telemetry/names.js';
import { markSpan, traced } from '../src/telemetry/trace.js';

/**
 * @returns how the attempt stands in the store, which the run takes as the truth
 * @throws StoreUnavailable; Temporal repeats it
 */
export function settleAttempt(store: Store, input: SettleAttemptInput): Promise<SettledAttempt> {
  const { attempt, ...rest } = input;
  const span = { attributes: attributesOf({ ...rest, ...attempt }), parent: attempt.trace };
  return traced('baton.settle', span, async (settling) => {
    const settled = await settle(store, input);
    const { end, failure } = settled;
    settling.setAttribute(ATTRIBUTES.end, end);
    // A host that was killed tells nobody of its attempt's end: this is the only trace of it.
    if (failure !== null) markSpan(settling, failure.code);
    if (end === 'never-attached' || ENDS[end].count !== 'losses') return settled;
    countLoss(attempt.workerClass, end);
    log.warn('attempt lost', { end, code: failure?.code });
    return settled;
  });
}

async function settle(store: Store, input: SettleAttemptInput): Promise<SettledAttempt> {
  const { tenant, run, slot, attempt, end, staged, failure, endedAt, closes } = input;
  const fence = { tenant, run, slot, attempt: attempt.attempt, epoch: attempt.epoch };
  const deadline = end === 'expired' ? await lastDeadline(store, input) : null;
  const settled = await store.attempts.settle({ fence, end, staged, failure, endedAt, deadline });
  // The store may have found another end than the run expected: then the run is not over yet.
  if (closes !== null && settled.end === end)
    await store.runs.close({ tenant, run, status: closes, at: endedAt });
  return settled;
}

/**
 * Last beat + TTL of an expired lease. An outside holder's beats are in the row, and its attachment counts as the first;
 * a host's are known to Temporal only, which ends the lease within one tick of the deadline.
 */
async function lastDeadline(
  store: Store,
  { tenant, run, attempt, endedAt }: SettleAttemptInput,
): Promise<number> {
  const row = await store.attempts.get(tenant, run, attempt.attempt);
  if (row?.deadline) return row.deadline;
  return row?.commandId && row.startedAt !== null ? Math.min(endedAt, row.startedAt + row.ttlMs) : endedAt;
}
