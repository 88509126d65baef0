/** What a lease holder does with its authority: attach, stage its end, beat. Each is fenced by attempt and epoch. */
import { randomBytes } from 'node:crypto';
import type { Blobs } from './blobs.js';
import { BatonError, refusal } from '../domain/errors.js';
import { effectLabel, effectsInWords } from '../domain/effect.js';
import { isEffectOpen, openEffects } from './effects.js';
import { exclusively, slotOf } from './exclusive.js';
import type { AttemptRow, AttemptStore, Fence, Staged } from './port.js';
import { canonicalJson } from './canonical.js';
import { attemptRow, fencedRow, fencedUpdate, json, stagedOf, staleLease } from './rows.js';
import type { Db } from './schema.js';

type AttachInput = Parameters<AttemptStore['attach']>[0];
type StageInput = Parameters<AttemptStore['stage']>[0];
type BeatInput = Parameters<AttemptStore['beat']>[0];

/** See the port. Not a worker's write of its work but the start of its authority, hence two rows in one transaction. */
export function attach(db: Db, { fence, attachment, at }: AttachInput): Promise<AttemptRow> {
  return exclusively(db, slotOf(fence), async (trx) => {
    const { numUpdatedRows } = await fencedUpdate(trx, fence)
      .where('status', 'in', ['provisional', 'live'])
      .set({
        status: 'live',
        workflow_run_id: attachment.workflowRunId,
        activity_id: attachment.activityId,
        task_token: Buffer.from(attachment.taskToken),
      })
      .executeTakeFirst();
    if (numUpdatedRows === 0n) throw staleLease(fence, (await fencedRow(trx, fence))?.status);
    await trx
      .updateTable('attempts')
      .set((eb) => ({
        worker_status: 'running',
        started_at: eb.fn.coalesce(eb.ref('started_at'), eb.val(at)),
      }))
      .where('tenant', '=', fence.tenant)
      .where('run', '=', fence.run)
      .where('attempt', '=', fence.attempt)
      .execute();
    const row = await fencedRow(trx, fence);
    if (!row) throw staleLease(fence);
    return attemptRow(row);
  });
}

/** See the port. A completion whose result's bytes are missing or damaged is refused here, with the attempt still live. */
export async function stage(db: Db, bytes: Blobs, input: StageInput): Promise<Staged> {
  const { fence, kind, result, failure } = input;
  const before = await fencedRow(db, fence);
  if (before?.status !== 'live') throw staleLease(fence, before?.status);
  const known = stagedOf(before);
  if (known) return repeated(known, input);
  if (result !== null) await bytes.read(result);
  const staged: Staged = { id: `s-${randomBytes(6).toString('hex')}`, kind, result, failure };
  const { numUpdatedRows } = await exclusively(db, slotOf(fence), (trx) =>
    fencedUpdate(trx, fence)
      .where('status', '=', 'live')
      .where('staged_id', 'is', null)
      .$if(kind === 'completion', (update) =>
        update.where((eb) => eb.not(eb.exists(isEffectOpen(trx, fence)))),
      )
      .set({ staged_id: staged.id, staged_kind: kind, staged_result: result, staged_failure: json(failure) })
      .executeTakeFirst(),
  );
  if (numUpdatedRows === 1n) return staged;
  // Somebody was faster: the same holder with a repeat, or the end of the lease.
  const now = await fencedRow(db, fence);
  const first = now?.status === 'live' ? stagedOf(now) : null;
  if (kind === 'completion' && now?.status === 'live' && !first) throw await effectsOpen(db, fence);
  if (!first) throw staleLease(fence, now?.status);
  return repeated(first, input);
}

/** Why a completion is not staged. */
async function effectsOpen(db: Db, fence: Fence): Promise<BatonError> {
  const open = await openEffects(db, fence);
  const { message } = refusal('EffectUnresolved', 'the slot has effects whose outcome is not known', {
    slot: fence.slot,
    effects: effectsInWords(open),
  });
  // All the names that are listed are in the facts only: the message must fit where failures are kept.
  const effects = open.listed.map((effect) => `${effectLabel(effect)}: ${effect.state}`);
  return new BatonError('EffectUnresolved', message, { slot: fence.slot, count: open.count, effects });
}

function repeated(first: Staged, { fence, kind, result, failure }: StageInput): Staged {
  const content = (staged: Pick<Staged, 'kind' | 'result' | 'failure'>): string =>
    canonicalJson({ kind: staged.kind, result: staged.result, failure: staged.failure });
  if (content(first) === content({ kind, result, failure })) return first;
  const facts = { attempt: fence.attempt, first: first.kind, now: kind };
  throw BatonError.of('CompletionConflict', 'the attempt has ended its work otherwise already', facts);
}

/** See the port. */
export async function beat(db: Db, { fence, deadline }: BeatInput): Promise<void> {
  const { numUpdatedRows } = await fencedUpdate(db, fence)
    .where('status', '=', 'live')
    .set({ deadline })
    .executeTakeFirst();
  if (numUpdatedRows === 0n) throw staleLease(fence, (await fencedRow(db, fence))?.status);
}
