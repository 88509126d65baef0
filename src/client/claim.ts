/**
 * A direct claim: the update makes the attempt, its lease attaches, and only then is there an answer, with the token and the
 * handoff. Repeated with the same command id it is the same answer, token included.
 */
import { buildHandoff } from '../agent/handoff.js';
import type { Handoff } from '../agent/types.js';
import { BatonError } from '../domain/errors.js';
import type { AttemptRow } from '../store/port.js';
import { recordTakeover } from '../telemetry/metrics.js';
import { pause } from './authority.js';
import { commandIdOf, sendCommand } from './commands.js';
import { keepAnswer, recallAnswer } from './first-answer.js';
import type { HolderAnswer } from './holder.js';
import { runNotFound, type Session } from './session.js';
import { leaseToken } from './token.js';

export interface ClaimRequest {
  readonly run: string;
  readonly slot: string;
  readonly workerClass: string;
  /** Id of the worker that takes the slot. */
  readonly worker: string;
  /** Actor recorded as owner of the worker. Default: the predecessor's, if any. */
  readonly owner?: string;
  /** Launch specification; another than the selected one only from `open`. */
  readonly spec?: string;
  readonly commandId?: string;
}

export interface Claimed extends HolderAnswer {
  readonly number: number;
  readonly epoch: number;
  readonly lease: { readonly id: string; readonly token: string; readonly ttlSeconds: number };
  readonly handoff: Handoff;
}

/**
 * @throws BatonError `SlotNotClaimable`, `WorkerClassNotAdmitted`, `AlreadyLeased`, `PinsDamaged`, `OutcomeUnknown`, and what
 *   every command may throw
 */
export async function claim(session: Session, request: ClaimRequest): Promise<Claimed> {
  const commandId = commandIdOf(request.commandId);
  const { run, slot, workerClass, worker, owner, spec } = request;
  const until = performance.now() + session.timeoutMs;
  // The token is made from this store. Without the run's row it is another one than the run's, and the claim would take the
  // slot for a lease that nobody can hold.
  const store = await session.store();
  if ((await store.runs.get(session.tenant, run)) === null) throw runNotFound(session, run);
  const answer = await sendCommand(session, 'claim', {
    run,
    slot,
    workerClass,
    worker,
    owner,
    spec,
    commandId,
  });
  const attempt = answer.attempt?.attempt;
  if (attempt === undefined)
    throw BatonError.of('Internal', 'the run answered a claim without an attempt', { run, slot, commandId });
  const row = await untilAttached(session, { run, slot, attempt, commandId }, until);
  const token = leaseToken(await store.key(), attempt, commandId);
  // The token is computed each time; what is kept is the rest, so that a repeat hands over what the first answer did.
  const kept = { name: 'claimed', run, commandId: `claimed:${commandId}`, content: { attempt } };
  const earlier = await recallAnswer<Omit<Claimed, 'lease'>>(session, kept);
  const first =
    earlier?.answer ?? (await keepAnswer(session, kept, await firstClaimed(session, commandId, row)));
  return { ...first, lease: { id: row.lease, token, ttlSeconds: row.ttlMs / 1000 } };
}

async function firstClaimed(
  session: Session,
  commandId: string,
  row: AttemptRow,
): Promise<Omit<Claimed, 'lease'>> {
  const { tenant, run, slot, attempt, number, epoch } = row;
  const { handoff } = await buildHandoff(await session.store(), { tenant, run, slot, before: epoch });
  recordTakeover(row.workerClass, handoff.attempts.at(-1), row.startedAt);
  return { commandId, attempt, slot, number, epoch, state: 'active', gate: null, retryTime: null, handoff };
}

async function untilAttached(
  session: Session,
  { run, slot, attempt, commandId }: { run: string; slot: string; attempt: string; commandId: string },
  until: number,
): Promise<AttemptRow> {
  const { attempts } = await session.store();
  for (let wait = 8; ; wait = Math.min(wait * 1.5, 150)) {
    const row = await attempts.get(session.tenant, run, attempt);
    if (row && row.leaseStatus !== 'provisional' && row.leaseStatus !== 'void') return row;
    if (!row || row.leaseStatus === 'void') {
      throw BatonError.of(
        'SlotNotClaimable',
        'the claim came to nothing: its lease never attached; claim with a fresh command id',
        {
          run,
          slot,
          attempt,
        },
      );
    }
    if (performance.now() >= until) {
      throw BatonError.of('OutcomeUnknown', 'the claim is made, but its lease is not attached yet', {
        run,
        slot,
        attempt,
        commandId,
      });
    }
    await pause(wait);
  }
}
