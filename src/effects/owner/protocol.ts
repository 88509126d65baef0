/**
 * What an owner does in its own transaction, with the slot's fence row locked: refuse an epoch below the fence, raise the
 * fence, look the key up, do the work once, record it. Scripts only; see `script.ts`.
 */
import { BatonError } from '../../domain/errors.js';
import type { Failure } from '../../domain/types.js';
import type { Fence, Json } from '../../store/port.js';
import type { Tables } from './schema.js';
import { call, query, type Row, type Script } from './script.js';

/** Names one effect at its owner: its key within its slot. Plain, so that the owner can keep it with a job. */
export interface EffectRef {
  readonly tenant: string;
  readonly run: string;
  readonly slot: string;
  readonly key: string;
}

/** What the owner has on record. */
export type Recorded =
  | { readonly state: 'committed'; readonly receipt: Json }
  | { readonly state: 'accepted'; readonly handle: Json }
  | { readonly state: 'rejected'; readonly failure: Failure };

interface Entry {
  readonly recorded: Recorded;
  readonly requestDigest: string | null;
}

const text = (value: Json | Failure): string => JSON.stringify(value);
const parsed = <T>(value: unknown): T => JSON.parse(String(value)) as T;
const scope = ({ tenant, run, slot }: EffectRef | Fence): string[] => [tenant, run, slot];

/**
 * Locks the slot's fence row until the transaction ends, and raises it. One statement, and a write: SQLite takes its write
 * lock by it, and Postgres lets whoever comes second wait and then see what the first has left.
 *
 * @throws BatonError `StaleLease` when a later attempt was seen here
 */
export function* raiseFence(tables: Tables, fence: Fence): Script<void> {
  const [row] = yield* query(
    `insert into ${tables.fences} as f (tenant, run, slot, epoch) values (?, ?, ?, ?)
     on conflict (tenant, run, slot) do update
       set epoch = case when excluded.epoch > f.epoch then excluded.epoch else f.epoch end
     returning epoch`,
    [...scope(fence), fence.epoch],
  );
  const newest = Number(row?.['epoch']);
  if (newest === fence.epoch) return;
  const { run, slot, attempt, epoch } = fence;
  throw BatonError.of('StaleLease', 'a later attempt of the slot has been here', {
    run,
    slot,
    attempt,
    epoch,
    newest,
  });
}

/** Locks a row that is there: `finish` comes without the fence. `forUpdate` is SQL of the engine. */
export function* find(tables: Tables, ref: EffectRef, forUpdate = ''): Script<Entry | null> {
  const [row] = yield* query(
    `select state, receipt, handle, failure, request_digest from ${tables.effects}
     where tenant = ? and run = ? and slot = ? and effect_key = ? ${forUpdate}`,
    [...scope(ref), ref.key],
  );
  return row ? { recorded: recordedOf(row), requestDigest: row['request_digest'] as string | null } : null;
}

function recordedOf(row: Row): Recorded {
  switch (row['state']) {
    case 'committed':
      return { state: 'committed', receipt: parsed(row['receipt']) };
    case 'accepted':
      return { state: 'accepted', handle: parsed(row['handle']) };
    default:
      return { state: 'rejected', failure: parsed(row['failure']) };
  }
}

/** A first record of a key. */
export function* insert(
  tables: Tables,
  ref: EffectRef,
  by: { readonly fence: Fence; readonly requestDigest: string | null; readonly at: number },
  recorded: Recorded,
): Script<void> {
  const { receipt, handle, failure } = columns(recorded);
  yield* query(
    `insert into ${tables.effects} (tenant, run, slot, effect_key, request_digest, state, receipt, handle, failure,
       attempt, epoch, recorded_at, finished_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      ...scope(ref),
      ref.key,
      by.requestDigest,
      recorded.state,
      receipt,
      handle,
      failure,
      by.fence.attempt,
      by.fence.epoch,
      by.at,
      recorded.state === 'accepted' ? null : by.at,
    ],
  );
}

/** The end of an accepted effect; its handle stays. */
export function* end(tables: Tables, ref: EffectRef, recorded: Recorded, at: number): Script<void> {
  const { receipt, failure } = columns(recorded);
  yield* query(
    `update ${tables.effects} set state = ?, receipt = ?, failure = ?, finished_at = ?
     where tenant = ? and run = ? and slot = ? and effect_key = ? and state = 'accepted'`,
    [recorded.state, receipt, failure, at, ...scope(ref), ref.key],
  );
}

function columns(recorded: Recorded): Record<'receipt' | 'handle' | 'failure', string | null> {
  return {
    receipt: recorded.state === 'committed' ? text(recorded.receipt) : null,
    handle: recorded.state === 'accepted' ? text(recorded.handle) : null,
    failure: recorded.state === 'rejected' ? text(recorded.failure) : null,
  };
}

/**
 * The owner's own work. A definite no (`rejectionIn` finds one in what it throws) takes back what the work wrote, and is
 * given for recording; anything else it throws takes back the whole transaction.
 */
export function* attempt(
  work: () => unknown,
  rejectionIn: (error: unknown) => Failure | null,
): Script<{ readonly value: unknown } | { readonly failure: Failure }> {
  yield* query('savepoint baton_work');
  try {
    const value = yield* call(work);
    yield* query('release savepoint baton_work');
    return { value };
  } catch (error) {
    const failure = rejectionIn(error);
    if (failure === null) throw error;
    yield* query('rollback to savepoint baton_work');
    yield* query('release savepoint baton_work');
    return { failure };
  }
}
