/**
 * What an outside holder's beats are (saves: save.ts). They need server and store, not the control worker. A beat goes
 * to Temporal, the only clock; the store is told the deadline that Temporal then gives.
 */
import { BatonError } from '../domain/errors.js';
import { checkId, checkInline } from '../domain/text.js';
import type { Gate, SlotState } from '../domain/types.js';
import type { Json } from '../store/port.js';
import { assertLive, attemptOf, fenceOf, pendingNow, withTaskToken, type Holder } from './authority.js';
import { commandIdOf } from './commands.js';
import { firstAnswer } from './first-answer.js';
import { leaseDeadline } from './leases.js';
import type { Session } from './session.js';
import { iso } from './show.js';

/** What every command of a holder answers: the slot after it. */
export interface HolderAnswer {
  readonly commandId: string;
  readonly slot: string;
  readonly state: SlotState;
  readonly gate: Gate | null;
  readonly retryTime: string | null;
  readonly attempt: string;
}

export interface BeatAnswer extends HolderAnswer {
  readonly lease: { readonly id: string; readonly deadline: string | null };
}

export interface HeartbeatRequest extends Holder {
  /** Shown in Temporal's UI as the activity's heartbeat details; at most 64 KiB. */
  readonly progress?: Json;
  readonly commandId?: string;
}

/** @throws BatonError `RunNotFound`, `StaleLease`, `TooLarge`, `CommandConflict`, `TemporalUnavailable`, `StoreUnavailable` */
export async function heartbeat(session: Session, request: HeartbeatRequest): Promise<BeatAnswer> {
  const { run, slot, lease } = checkHolder(request);
  const progress = request.progress ?? null;
  checkInline('progress', progress);
  const commandId = commandIdOf(request.commandId);
  const work = async (): Promise<BeatAnswer> => {
    const row = await attemptOf(session, request);
    assertLive(row);
    const beaten = await withTaskToken(session, row, (taskToken) =>
      session.client.activity.heartbeat(taskToken, progress),
    );
    const now = await pendingNow(session, beaten);
    const deadline = leaseDeadline(now.row, now.execution);
    if (deadline !== null) await (await session.store()).attempts.beat({ fence: fenceOf(now.row), deadline });
    return {
      ...activeAnswer(commandId, slot, row.attempt),
      lease: { id: row.lease, deadline: iso(deadline) },
    };
  };
  // A beat whose id the holder never chose cannot be repeated on purpose: nothing is kept for it.
  if (request.commandId === undefined) return work();
  return firstAnswer(
    session,
    { name: 'heartbeat', run, commandId, content: { slot, lease, progress } },
    work,
  );
}

/** Checks the fields that every command of a holder has. */
export function checkHolder(request: Holder): Holder {
  const { lease } = request;
  if (typeof lease !== 'string' || lease === '') {
    throw BatonError.of('InvalidCommand', '`lease` must be the token that `claim` answered', {
      field: 'lease',
    });
  }
  return { run: checkId('run', request.run), slot: checkId('slot', request.slot), lease };
}

/** The slot while its attempt works. */
export const activeAnswer = (commandId: string, slot: string, attempt: string): HolderAnswer => ({
  commandId,
  slot,
  state: 'active',
  gate: null,
  retryTime: null,
  attempt,
});
