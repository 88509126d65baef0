/**
 * The authority of an outside holder: a lease token, checked against the store's key, the attempt's row and Temporal. Every
 * "no" is `StaleLease`; which of the reasons it was is in the message only.
 */
import {
  ActivityCancelledError,
  ActivityNotFoundError,
  ActivityPausedError,
  ActivityResetError,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { BatonError } from '../domain/errors.js';
import { isTerminalLease } from '../domain/types.js';
import type { AttemptRow, Fence } from '../store/port.js';
import { toBatonError } from './failure.js';
import { standingOf, type ExecutionView } from './lease-view.js';
import { describeRun, queryState } from './reads.js';
import { runRow, type Session } from './session.js';
import { attemptOfToken, isGenuine } from './token.js';

export interface Holder {
  readonly run: string;
  readonly slot: string;
  /** The lease token that `claim` answered. */
  readonly lease: string;
}

export const stale = (why: string, facts: Record<string, unknown>): BatonError =>
  BatonError.of('StaleLease', why, facts);

export const fenceOf = ({ tenant, run, slot, attempt, epoch }: AttemptRow): Fence => ({
  tenant,
  run,
  slot,
  attempt,
  epoch,
});

/**
 * The row that a token names, whatever its status.
 *
 * @throws BatonError `RunNotFound` unless the tenant has the run; `StaleLease` for a token that is not this slot's
 */
export async function attemptOf(session: Session, { run, slot, lease }: Holder): Promise<AttemptRow> {
  await runRow(session, run);
  const store = await session.store();
  const attempt = attemptOfToken(lease);
  const row = attempt === null ? null : await store.attempts.get(session.tenant, run, attempt);
  const ours =
    row !== null &&
    row.slot === slot &&
    row.commandId !== null &&
    isGenuine(await store.key(), lease, row.attempt, row.commandId);
  if (!ours) throw stale('the lease token is not one of this slot', { run, slot });
  return row;
}

/** The row of a token whose lease the store and Temporal both hold for live, and what Temporal says of the run. */
export async function liveAttempt(
  session: Session,
  holder: Holder,
): Promise<{ row: AttemptRow; execution: ExecutionView }> {
  const row = await attemptOf(session, holder);
  assertLive(row);
  return pendingNow(session, row);
}

export function assertLive(row: AttemptRow): void {
  const { run, slot, attempt } = row;
  if (isTerminalLease(row.leaseStatus))
    throw stale(`the lease is ${row.leaseStatus}`, { run, slot, attempt });
  if (row.leaseStatus !== 'live') throw stale('the lease is not attached yet', { run, slot, attempt });
}

/**
 * Waits out a roll-over and makes sure that Temporal still holds the lease's activity: the row stays live until settle, so it
 * alone would let a holder write after its lease is over.
 */
export async function pendingNow(
  session: Session,
  found: AttemptRow,
): Promise<{ row: AttemptRow; execution: ExecutionView }> {
  const { tenant, run, slot, attempt } = found;
  const until = performance.now() + Math.min(session.timeoutMs, found.ttlMs);
  const store = await session.store();
  for (let row = found; ;) {
    const execution = await describeRun(session, run);
    const standing = standingOf(row.attachment, execution);
    if (standing.kind === 'over') throw stale(standing.why, { run, slot, attempt });
    if (standing.kind === 'stopping') {
      if (row.attachment) await giveUp(session, row.attachment.taskToken);
      throw stale('the lease is asked to stop', { run, slot, attempt });
    }
    if (standing.kind === 'pending' && execution) return { row, execution };
    if (performance.now() >= until) {
      await assertKnown(session, found);
      throw BatonError.of('RollingOver', 'the lease is not attached to the new execution yet', {
        run,
        slot,
        attempt,
      });
    }
    await pause(40);
    const again = await store.attempts.get(tenant, run, attempt);
    if (!again) throw stale('the attempt is gone', { run, slot, attempt });
    assertLive(again);
    row = again;
  }
}

/** A workflow reset makes the run forget what came after: such a lease never comes back, and its holder must not wait for it. */
async function assertKnown(session: Session, { run, slot, attempt }: AttemptRow): Promise<void> {
  const view = await queryState(session, run);
  if (!view || view.rollingOver || view.state.slots[slot]?.active?.attempt === attempt) return;
  throw stale('the run does not know the lease any more', { run, slot, attempt });
}

/**
 * Uses the lease's task token; after a roll-over, the new one.
 *
 * @throws BatonError `StaleLease` when Temporal does not know the lease any more or somebody asked it to stop
 */
export async function withTaskToken(
  session: Session,
  found: AttemptRow,
  call: (taskToken: Uint8Array) => Promise<void>,
): Promise<AttemptRow> {
  const { client } = session;
  const { run, slot, attempt } = found;
  for (let row = found, tries = 0; ; tries += 1) {
    if (!row.attachment) throw stale('the lease is not attached', { run, slot, attempt });
    const { taskToken } = row.attachment;
    try {
      await client.withDeadline(Date.now() + session.timeoutMs, () => call(taskToken));
      return row;
    } catch (error) {
      if (error instanceof ActivityNotFoundError && tries < 20) {
        row = (await pendingNow(session, row)).row;
        await pause(30);
        continue;
      }
      if (error instanceof ActivityNotFoundError)
        throw stale('Temporal does not know the lease', { run, slot, attempt });
      if (
        error instanceof ActivityCancelledError ||
        error instanceof ActivityPausedError ||
        error instanceof ActivityResetError
      ) {
        await giveUp(session, taskToken);
        throw stale(`the lease was ${error.message} by an operator`, { run, slot, attempt });
      }
      throw toBatonError(error, { run, slot, attempt });
    }
  }
}

/** An operator's cancel, pause or reset ends the attempt: nobody else is there to end it for an outside holder. */
async function giveUp(session: Session, taskToken: Uint8Array): Promise<void> {
  const failure = ApplicationFailure.create({
    type: 'Revoked',
    message: 'an operator stopped the lease',
    nonRetryable: true,
  });
  try {
    await session.client.activity.fail(taskToken, failure);
  } catch (error) {
    // Gone already: the run has ended it.
    if (!(error instanceof ActivityNotFoundError)) throw toBatonError(error);
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
