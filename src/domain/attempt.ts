/**
 * How an attempt begins and ends, for one slot: the table of ends of the design (section 2), row by row. Pure.
 */
import { NO_EFFECTS, type OpenEffect, type OpenEffects } from './effect.js';
import type {
  AttemptRef,
  BeforeClaim,
  EndKind,
  Ending,
  Failure,
  Gate,
  LaunchSpec,
  LeaseStatus,
  PriorWorker,
  RetryPolicy,
  Slot,
  WorkerStatus,
} from './types.js';

interface EndRow {
  readonly worker: WorkerStatus;
  readonly lease: LeaseStatus;
  readonly count: 'failures' | 'losses' | 'releases' | null;
  /** `by mode`: the retry policy decides; null: the slot leaves the waiting states. */
  readonly gate: Gate | 'by mode' | null;
}

/** `never-attached` is no row: such a claim leaves no attempt. */
export const ENDS: Readonly<Record<Exclude<EndKind, 'never-attached'>, EndRow>> = {
  success: { worker: 'succeeded', lease: 'released', count: null, gate: null },
  failure: { worker: 'failed', lease: 'released', count: 'failures', gate: 'by mode' },
  outside: { worker: 'failed', lease: 'released', count: 'failures', gate: 'by mode' },
  expired: { worker: 'lost', lease: 'expired', count: 'losses', gate: 'by mode' },
  'max-duration': { worker: 'lost', lease: 'expired', count: 'losses', gate: 'by mode' },
  released: { worker: 'released', lease: 'released', count: 'releases', gate: 'open' },
  revoked: { worker: 'cancelled', lease: 'revoked', count: null, gate: 'reassign' },
  cancelled: { worker: 'cancelled', lease: 'revoked', count: null, gate: null },
};

export interface AttemptEnd {
  readonly end: EndKind;
  readonly failure: Failure | null;
  /** Staged id that the activity's end carried. */
  readonly staged: string | null;
  readonly now: number;
}

/** Remembers where the slot stands, so that a claim that fails leaves no trace. */
export function beforeClaim(slot: Slot): BeforeClaim {
  const { gate, retryTime, spec, workerClass, prior, reassign, number, counts, spent, failure } = slot;
  const state = slot.state === 'retry-wait' ? 'retry-wait' : 'open';
  return { state, gate, retryTime, spec, workerClass, prior, reassign, number, counts, spent, failure };
}

/** The claim's transaction is complete: the slot is active. */
export function beginAttempt(slot: Slot, attempt: AttemptRef, now: number): Slot {
  return {
    ...slot,
    state: 'active',
    gate: null,
    retryTime: null,
    pendingWorker: null,
    before: slot.before ?? beforeClaim(slot),
    // Measured from the server's time at which the run learnt of it, never from the host's clock.
    active: { ...attempt, startedAt: now },
    epoch: attempt.epoch,
    number: attempt.number,
    counts: { ...slot.counts, claims: slot.counts.claims + 1 },
  };
}

/** A claim that failed: the slot is where it was, and the failure can be read. Never counts as work. */
export function undoClaim(slot: Slot, failure: Failure, now: number): Slot {
  const back: Partial<Slot> = slot.before ?? {};
  const times = (slot.claimFailure?.times ?? 0) + 1;
  return {
    ...slot,
    ...back,
    pendingWorker: null,
    before: null,
    active: null,
    claimFailure: { ...failure, at: now, times },
  };
}

/**
 * The attempt is over. Its worker's status is terminal from here on, its lease's only once the store has recorded it
 * ({@link settleAttempt}); a success changes nothing before that.
 */
export function endAttempt(slot: Slot, spec: LaunchSpec, input: AttemptEnd): Slot {
  const attempt = slot.active;
  if (!attempt) throw new RangeError(`slot ${slot.slot} has no active attempt`);
  const before = slot.before ?? beforeClaim({ ...slot, state: 'open' });
  const { counts, spent, prior, reassign } = slot;
  const { now, ...said } = input;
  const ending: Ending = { attempt, ...said, endedAt: now, undo: { counts, spent, prior, reassign }, before };
  if (input.end === 'success') return { ...slot, ending };
  return applyEnd({ ...slot, ending }, spec, ending);
}

/** The store's verdict on an end: it stands, or the end that the store found instead replaces it. */
export function settleAttempt(
  slot: Slot,
  spec: LaunchSpec,
  settled: {
    end: EndKind;
    workerStatus: WorkerStatus;
    leaseStatus: LeaseStatus;
    failure: Failure | null;
    result: string | null;
    effects?: OpenEffects | undefined;
  },
): Slot {
  const ending = slot.ending;
  if (!ending) return slot;
  const corrected = settled.end === ending.end ? slot : correct(slot, spec, ending, settled);
  if (settled.end === 'never-attached') return { ...corrected, ending: null };
  const prior = {
    ...priorOf(ending.attempt, settled.end),
    status: settled.workerStatus,
    leaseStatus: settled.leaseStatus,
  };
  // Of an early version's worker: nothing is known of effects.
  const open = settled.effects ?? slot.effects ?? NO_EFFECTS;
  const done = withEffects({ ...corrected, ending: null, prior }, open);
  const left = leftBehind(slot, ending);
  // Why it is over, a deadline for example, is not what became of its last attempt.
  if (settled.end !== 'success') return left && slot.failure ? done : explained(done, spec.retry, settled);
  if (left) return done;
  const { result } = settled;
  const nothingLeft = { active: null, before: null, reassign: null, claimFailure: null, failure: null };
  return { ...done, ...nothingLeft, state: 'succeeded', result };
}

/** The slot with these effects open. */
export function withEffects(slot: Slot, effects: OpenEffects): Slot {
  const { effects: _, ...rest } = slot;
  return effects.count === 0 ? rest : { ...rest, effects };
}

/** The slot once an effect has an outcome. */
export function effectSettled(slot: Slot, settled: Pick<OpenEffect, 'name' | 'instance'>): Slot {
  if (!slot.effects) return slot;
  const { count, listed } = slot.effects;
  const left = listed.filter(({ name, instance }) => name !== settled.name || instance !== settled.instance);
  if (left.length === listed.length && count === listed.length) return slot;
  return withEffects(slot, { count: count - 1, listed: left });
}

/** Words the slot's failure as the store knows it; a budget that is used up is named beside it. */
function explained(slot: Slot, retry: RetryPolicy, last: { end: EndKind; failure: Failure | null }): Slot {
  // Nothing new was said: the words of the end stand, with their budget.
  if (last.failure === null && slot.failure !== null) return slot;
  const failure = last.failure;
  const used = usesBudget(last.end) ? exhausted(slot, retry) : null;
  if (!used) return { ...slot, failure };
  const why = `budget of ${retry[used]} ${used} used up`;
  return {
    ...slot,
    failure: { code: failure?.code ?? 'AgentError', message: failure ? `${failure.message}; ${why}` : why },
  };
}

/** Ends after which the retry policy decides. */
export const usesBudget = (end: EndKind): boolean => end !== 'never-attached' && ENDS[end].gate === 'by mode';

/** The budget that is used up since the last reassign, if any. A budget of 0 is used up by the first end of its kind only. */
export function exhausted({ spent }: Slot, retry: RetryPolicy): 'failures' | 'losses' | null {
  if (spent.failures > 0 && spent.failures >= retry.failures) return 'failures';
  return spent.losses > 0 && spent.losses >= retry.losses ? 'losses' : null;
}

function correct(
  slot: Slot,
  spec: LaunchSpec,
  ending: Ending,
  settled: { end: EndKind; failure: Failure | null },
): Slot {
  const { number, spec: claimedSpec } = ending.attempt;
  const active = {
    ...slot,
    ...ending.undo,
    state: 'active' as const,
    active: ending.attempt,
    before: ending.before,
    // A claim that was taken for one that never attached has been undone: number and specification are the attempt's again.
    number,
    spec: claimedSpec,
  };
  const corrected = applyEnd(active, spec, { ...ending, end: settled.end, failure: settled.failure });
  if (!leftBehind(slot, ending)) return corrected;
  const { state, gate, retryTime, failure, claimFailure } = slot;
  return { ...corrected, state, gate, retryTime, failure, claimFailure };
}

/** Over meanwhile, with its run or alone: a verdict changes the record of the attempt then, not what became of the slot. */
const leftBehind = ({ state }: Slot, ending: Ending): boolean =>
  state !== 'active' && state !== 'retry-wait' && state !== ending.before.state;

function applyEnd(slot: Slot, spec: LaunchSpec, ending: Ending): Slot {
  const failure = ending.failure;
  if (ending.end === 'never-attached') {
    return undoClaim(
      slot,
      failure ?? { code: 'NeverAttached', message: 'the worker never attached' },
      ending.endedAt,
    );
  }
  const row = ENDS[ending.end];
  const prior = priorOf(ending.attempt, ending.end);
  const over = { ...slot, active: null, before: null, reassign: null, claimFailure: null, prior, failure };
  const counted = row.count ? { ...over, counts: raise(slot.counts, row.count) } : over;
  if (row.gate === null) return { ...counted, state: 'cancelled', gate: null, retryTime: null };
  if (row.gate !== 'by mode') return waiting(counted, row.gate, null);
  const spent =
    row.count === 'failures' || row.count === 'losses' ? raise(slot.spent, row.count) : slot.spent;
  return explained(byMode({ ...counted, spent }, spec.retry, ending.endedAt), spec.retry, ending);
}

/** Only once the end is recorded: until then a loss may turn out to be a claim that never attached, and use up no budget. */
export function failedForGood(slot: Slot, retry: RetryPolicy, end: EndKind): Slot {
  const fails = retry.onExhausted === 'fail' && usesBudget(end) && exhausted(slot, retry);
  if (!fails || slot.state !== 'retry-wait') return slot;
  return { ...slot, state: 'failed', gate: null, retryTime: null };
}

function byMode(slot: Slot, retry: RetryPolicy, now: number): Slot {
  if (exhausted(slot, retry) || retry.mode === 'manual') return waiting(slot, 'reassign', null);
  return waiting(slot, 'time', now + pauseMs(retry, slot.spent.failures + slot.spent.losses));
}

/** Pause after the n-th end in a row, in whole milliseconds. 0 stays 0 even where the power is infinite. */
export function pauseMs({ backoff: { initialMs, factor, maxMs } }: RetryPolicy, times: number): number {
  return initialMs === 0 ? 0 : Math.round(Math.min(maxMs, initialMs * factor ** Math.max(0, times - 1)));
}

const waiting = (slot: Slot, gate: Gate, retryTime: number | null): Slot => ({
  ...slot,
  state: 'retry-wait',
  gate,
  retryTime,
});

function priorOf(attempt: AttemptRef, end: Exclude<EndKind, 'never-attached'>): PriorWorker {
  const { number, worker, workerClass, ownerActor, trace } = attempt;
  return {
    attempt: attempt.attempt,
    number,
    worker,
    workerClass,
    ownerActor,
    status: ENDS[end].worker,
    leaseStatus: 'live',
    ...(trace === undefined ? {} : { trace }),
  };
}

function raise<C extends object, K extends keyof C>(counts: C, name: K): C {
  return { ...counts, [name]: Number(counts[name]) + 1 };
}
