/**
 * The slot after an attempt's end, for the answer of the command that ended it. Bounded: without a control worker nobody
 * settles, and the answer then says what is known.
 */
import { isTerminalLease, type Gate, type Slot, type SlotState } from '../domain/types.js';
import type { AttemptRow } from '../store/port.js';
import { pause } from './authority.js';
import { queryState } from './reads.js';
import type { Session } from './session.js';
import { iso } from './show.js';

/** How long settling may take before the answer goes out without it. */
const SETTLE_MS = 3_000;
/** How long the workflow may take to see what the store already has. */
const SEEN_MS = 1_500;

export interface SlotAfter {
  readonly slot: string;
  readonly state: SlotState;
  readonly gate: Gate | null;
  readonly retryTime: string | null;
  readonly attempt: string;
}

export async function slotAfter(session: Session, row: AttemptRow): Promise<SlotAfter> {
  const { run, slot, attempt } = row;
  const settled = await untilSettled(session, row);
  const until = performance.now() + SEEN_MS;
  for (;;) {
    const view = await queryState(session, run, SEEN_MS);
    const now = view?.state.slots[slot];
    if (!now) return { slot, ...known(settled), retryTime: null, attempt };
    const seen = now.active?.attempt !== attempt && now.ending?.attempt.attempt !== attempt;
    if (seen || !settled || performance.now() >= until) return { ...shown(now), attempt };
    await pause(25);
  }
}

async function untilSettled(
  session: Session,
  { tenant, run, attempt }: AttemptRow,
): Promise<AttemptRow | null> {
  const { attempts } = await session.store();
  const until = performance.now() + Math.min(SETTLE_MS, session.timeoutMs);
  for (let wait = 15; performance.now() < until; wait = Math.min(wait * 1.5, 200)) {
    const row = await attempts.get(tenant, run, attempt);
    if (row && isTerminalLease(row.leaseStatus)) return row;
    await pause(wait);
  }
  return null;
}

const shown = ({ slot, state, gate, retryTime }: Slot): Omit<SlotAfter, 'attempt'> => ({
  slot,
  state,
  gate,
  retryTime: iso(retryTime),
});

/** Nobody answers for the slot: what the attempt's own record says of it. A release opens the gate in every mode. */
function known(settled: AttemptRow | null): { state: SlotState; gate: Gate | null } {
  switch (settled?.workerStatus) {
    case 'succeeded':
      return { state: 'succeeded', gate: null };
    case 'released':
      return { state: 'retry-wait', gate: 'open' };
    case 'failed':
    case 'lost':
      return { state: 'retry-wait', gate: null };
    case 'cancelled':
      return { state: 'cancelled', gate: null };
    default:
      return { state: 'active', gate: null };
  }
}
