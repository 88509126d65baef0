/**
 * How an outside holder ends its attempt: complete, fail, release. The end is staged in the store first, then told to Temporal
 * with the staged id; settle makes it terminal. An end that comes too late is `StaleLease`, also when nobody else has claimed.
 */
import { ApplicationFailure } from '@temporalio/common';
import { BatonError } from '../domain/errors.js';
import { checkId, checkInline, checkText, isBlank } from '../domain/text.js';
import { isTerminalLease, type Failure } from '../domain/types.js';
import { canonicalJson, digestOf } from '../store/canonical.js';
import type { AttemptRow, Json, Staged } from '../store/port.js';
import {
  attemptOf,
  assertLive,
  fenceOf,
  pause,
  pendingNow,
  stale,
  withTaskToken,
  type Holder,
} from './authority.js';
import { commandIdOf } from './commands.js';
import { firstAnswer, keepAnswer, recallAnswer } from './first-answer.js';
import { checkHolder, type HolderAnswer } from './holder.js';
import { agentOf } from './save.js';
import type { Session } from './session.js';
import { slotAfter, type SlotAfter } from './slot-after.js';

export interface CompleteRequest extends Holder {
  /** The slot's result: any JSON of at most 64 KiB. Default null. */
  readonly result?: Json;
  readonly commandId?: string;
}

/**
 * The same result again, under whatever command id, gets the first answer, also after the end of the run.
 *
 * @throws BatonError `StaleLease`, `CompletionConflict` (another result), `TooLarge`, `OutcomeUnknown`, …
 */
export async function complete(session: Session, request: CompleteRequest): Promise<HolderAnswer> {
  const { run, slot, lease } = checkHolder(request);
  const result = request.result ?? null;
  checkInline('result', result);
  const commandId = commandIdOf(request.commandId);
  const command = { name: 'complete', run, commandId, content: { slot, lease, result } };
  return firstAnswer(session, command, async () => {
    const row = await attemptOf(session, request);
    // One completion an attempt: its answer is kept under the attempt too, so that a repeat under a fresh id finds it.
    const first = { name: 'completion', run, commandId: `completion:${row.attempt}`, content: { result } };
    const { digest } = await resultBytes(result);
    const completed =
      row.staged?.kind === 'completion' &&
      (!isTerminalLease(row.leaseStatus) || row.workerStatus === 'succeeded');
    if (completed && row.staged.result !== digest) {
      throw BatonError.of('CompletionConflict', 'the attempt was completed with another result', {
        run,
        slot,
        attempt: row.attempt,
      });
    }
    const kept = completed ? await recallAnswer<HolderAnswer>(session, first) : null;
    if (kept) return kept.answer;
    if (isTerminalLease(row.leaseStatus)) {
      if (!completed) assertLive(row);
      return keepAnswer(session, first, { commandId, ...(await slotAfter(session, row)) });
    }
    const staged = await sendCompletion(session, row, result);
    return keepAnswer(session, first, { commandId, ...(await counted(session, row, staged)) });
  });
}

async function sendCompletion(session: Session, row: AttemptRow, result: Json): Promise<Staged> {
  assertLive(row);
  const store = await session.store();
  const { bytes, digest } = await resultBytes(result);
  if (row.staged?.result !== digest) {
    const { row: live } = await pendingNow(session, row);
    const { size } = await store.artifacts.putBytes(bytes);
    const artifact = {
      kind: 'result',
      name: 'result',
      digest,
      size,
      mediaType: 'application/json',
      step: null,
      agentRevision: await agentOf(session, row.run, row.node),
    } as const;
    await store.artifacts.save({ fence: fenceOf(live), ...artifact, at: Date.now() });
  }
  const staged = await store.attempts.stage({
    fence: fenceOf(row),
    kind: 'completion',
    result: digest,
    failure: null,
  });
  await tell(session, row, staged, (taskToken) =>
    session.client.activity.complete(taskToken, { staged: staged.id }),
  );
  return staged;
}

export interface FailRequest extends Holder {
  /** Short name of the kind of failure, as an id. */
  readonly code: string;
  readonly message: string;
  readonly commandId?: string;
}

/** Reports that the work failed. @throws BatonError `StaleLease`, `InvalidCommand`, `TooLarge`, `OutcomeUnknown`, … */
export async function fail(session: Session, request: FailRequest): Promise<HolderAnswer> {
  const code = checkId('code', request.code);
  const message = checkText('message', request.message);
  if (isBlank(message))
    throw BatonError.of('InvalidCommand', '`message` must not be blank', { field: 'message' });
  return giveBack(session, request, 'failure', { code, message });
}

export interface ReleaseRequest extends Holder {
  readonly reason: string;
  readonly commandId?: string;
}

/** Gives the slot back unfinished; uses up no budget and opens the gate. @throws BatonError `ReasonRequired`, `StaleLease`, … */
export async function release(session: Session, request: ReleaseRequest): Promise<HolderAnswer> {
  const reason = checkText('reason', request.reason);
  if (isBlank(reason)) throw BatonError.of('ReasonRequired', 'a release needs a reason', { field: 'reason' });
  return giveBack(session, request, 'release', { code: 'Released', message: reason });
}

async function giveBack(
  session: Session,
  request: Holder & { readonly commandId?: string },
  kind: 'failure' | 'release',
  failure: Failure,
): Promise<HolderAnswer> {
  const { run, slot, lease } = checkHolder(request);
  const commandId = commandIdOf(request.commandId);
  const command = {
    name: kind === 'failure' ? 'fail' : 'release',
    run,
    commandId,
    content: { slot, lease, ...failure },
  };
  return firstAnswer(session, command, async () => {
    const found = await attemptOf(session, request);
    assertLive(found);
    const { row } = await pendingNow(session, found);
    const store = await session.store();
    const staged = await store.attempts.stage({ fence: fenceOf(row), kind, result: null, failure });
    const type = kind === 'failure' ? 'Failed' : 'Released';
    const error = ApplicationFailure.create({
      type,
      message: failure.message,
      nonRetryable: true,
      details: [staged.id],
    });
    await tell(session, row, staged, (taskToken) => session.client.activity.fail(taskToken, error));
    return { commandId, ...(await counted(session, row, staged)) };
  });
}

/**
 * The slot after an end that Temporal has acknowledged. A command that the run saw first, such as a cancel in the same
 * moment, leaves that end without effect: the store's record tells.
 */
async function counted(session: Session, row: AttemptRow, staged: Staged): Promise<SlotAfter> {
  const after = await slotAfter(session, row);
  const { tenant, run, slot, attempt } = row;
  const recorded = await (await session.store()).attempts.get(tenant, run, attempt);
  if (recorded && isTerminalLease(recorded.leaseStatus) && !isOurs(recorded, staged)) {
    const ended = `the attempt had ended before as ${recorded.workerStatus}`;
    throw stale(ended, { run, slot, attempt, failure: recorded.failure });
  }
  return after;
}

const AS = { completion: 'succeeded', failure: 'failed', release: 'released' } as const;
const isOurs = (row: AttemptRow, staged: Staged): boolean =>
  row.staged?.id === staged.id && row.workerStatus === AS[staged.kind];

/**
 * Tells Temporal of the staged end. When Temporal says that the lease is over, an earlier try of ours may have been what
 * ended it: the store's record tells.
 */
async function tell(
  session: Session,
  row: AttemptRow,
  staged: Staged,
  call: (taskToken: Uint8Array) => Promise<void>,
): Promise<void> {
  try {
    await withTaskToken(session, row, call);
  } catch (error) {
    if (!(error instanceof BatonError) || error.code !== 'StaleLease') throw error;
    if (!(await wasOurs(session, row, staged))) throw error;
  }
}

async function wasOurs(
  session: Session,
  { tenant, run, slot, attempt }: AttemptRow,
  staged: Staged,
): Promise<boolean> {
  const { attempts } = await session.store();
  const until = performance.now() + session.timeoutMs;
  for (;;) {
    const row = await attempts.get(tenant, run, attempt);
    if (!row) throw stale('the attempt is gone', { run, slot, attempt });
    if (isTerminalLease(row.leaseStatus)) return isOurs(row, staged);
    if (performance.now() >= until) {
      throw BatonError.of('OutcomeUnknown', 'Temporal has ended the lease and its end is not recorded yet', {
        run,
        slot,
        attempt,
      });
    }
    await pause(100);
  }
}

async function resultBytes(result: Json): Promise<{ bytes: Uint8Array; digest: string }> {
  return { bytes: Buffer.from(canonicalJson(result), 'utf8'), digest: digestOf(result) };
}
