/**
 * The state of a run put together from the store, for when no control worker can be asked: its plan from the pins, its slots
 * from their attempts. A projection for the eye; nothing is decided from it. Gates are left out, because a reassign that no
 * claim has followed is known to the workflow alone.
 */
import { withEffects } from '../domain/attempt.js';
import { openAmong } from '../domain/effect.js';
import { loadPlan } from '../definitions/resolve.js';
import { advance, createRun, isOver, withSlot } from '../domain/run.js';
import { isTerminalWorker, type AttemptRef, type Counts, type RunState, type Slot } from '../domain/types.js';
import type { AttemptRow, RunRow, Store } from '../store/port.js';

export async function rebuildState(store: Store, row: RunRow): Promise<RunState> {
  const { tenant, run, pins } = row;
  const [plan, attempts, effects] = await Promise.all([
    loadPlan(store, tenant, pins),
    store.attempts.list(tenant, run),
    store.effects.list(tenant, run),
  ]);
  const effectsOf = group(effects);
  let state = createRun({ tenant, run, pins, plan }, row.createdAt);
  for (const [name, rows] of group(attempts)) {
    const slot = state.slots[name];
    if (!slot) continue;
    const worked = slotFrom(slot, rows, row.status !== 'running');
    state = withSlot(state, withEffects(worked, openAmong(effectsOf.get(name) ?? [])));
  }
  const running = row.status === 'running';
  const moved = running ? advance({ ...state, status: 'running' }, 0) : state;
  const slots = Object.fromEntries(
    Object.entries(moved.slots).map(([name, { deadline: _unknown, ...slot }]) => {
      // When a slot opened is not in the store, and its deadline counts from there.
      if (running || isOver(slot)) return [name, slot];
      return [name, { ...slot, state: 'cancelled' as const, active: null }];
    }),
  );
  return { ...moved, status: row.status, slots };
}

function slotFrom(slot: Slot, rows: readonly AttemptRow[], runOver: boolean): Slot {
  const last = rows.at(-1);
  if (!last) return slot;
  const ended = isTerminalWorker(last.workerStatus);
  const priorRow = ended ? last : rows.at(-2);
  return {
    ...slot,
    state: stateOf(last, ended, runOver),
    spec: last.spec,
    workerClass: last.workerClass,
    active: ended ? null : attemptRef(last),
    prior: priorRow
      ? {
          attempt: priorRow.attempt,
          number: priorRow.number,
          worker: priorRow.worker,
          workerClass: priorRow.workerClass,
          ownerActor: priorRow.ownerActor,
          status: priorRow.workerStatus,
          leaseStatus: priorRow.leaseStatus,
        }
      : null,
    reassign: ended ? null : last.reassign,
    epoch: last.epoch,
    number: last.number,
    counts: countsOf(rows),
    result: last.workerStatus === 'succeeded' ? (last.staged?.result ?? null) : null,
    failure: last.failure,
  };
}

function stateOf(last: AttemptRow, ended: boolean, runOver: boolean): Slot['state'] {
  if (!ended) return 'active';
  if (last.workerStatus === 'succeeded') return 'succeeded';
  if (last.workerStatus === 'cancelled' && runOver) return 'cancelled';
  return 'retry-wait';
}

function countsOf(rows: readonly AttemptRow[]): Counts {
  const count = (status: AttemptRow['workerStatus']): number =>
    rows.filter((row) => row.workerStatus === status).length;
  return {
    claims: rows.length,
    failures: count('failed'),
    losses: count('lost'),
    releases: count('released'),
  };
}

const attemptRef = (row: AttemptRow): AttemptRef => ({
  attempt: row.attempt,
  number: row.number,
  epoch: row.epoch,
  worker: row.worker,
  workerClass: row.workerClass,
  ownerActor: row.ownerActor,
  lease: row.lease,
  spec: row.spec,
  hostQueue: row.hostQueue,
  ttlMs: row.ttlMs,
  maxDurationMs: row.maxDurationMs,
  startedAt: row.startedAt ?? row.claimedAt,
});

function group<R extends { readonly slot: string }>(rows: readonly R[]): ReadonlyMap<string, R[]> {
  const bySlot = new Map<string, R[]>();
  for (const row of rows) {
    const known = bySlot.get(row.slot);
    if (known) known.push(row);
    else bySlot.set(row.slot, [row]);
  }
  return bySlot;
}
