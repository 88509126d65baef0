/**
 * The effect-owner kit: makes a service that has effects (a payment, a deploy, a publication) the authority on them. Each call
 * asks the authority check first and then, in one transaction of the owner's own database, fences the slot, looks the key up,
 * does the work at most once and records it. What remains open is one round trip between check and commit; within it the
 * fence lets nothing older land than what was seen here.
 */
import { BatonError } from '../../domain/errors.js';
import { checkInline } from '../../domain/text.js';
import type { Failure } from '../../domain/types.js';
import { canonicalJson, digestOf } from '../../store/canonical.js';
import type { Fence, Json } from '../../store/port.js';
import type { AuthorityCheck, Purpose } from '../check.js';
import { rejectionIn } from '../outcome.js';
import { awaits, type Mode, type OwnerEngine } from './engines.js';
import { attempt, end, find, insert, raiseFence, type EffectRef, type Recorded } from './protocol.js';
import { createTables, tablesOf } from './schema.js';
import { call as callWork, type Script } from './script.js';

/** What a worker sends. */
export interface EffectCall {
  /** Authority token of the attempt. */
  readonly authority: string;
  /** Names the effect in its slot: the `key` that `ctx.effect` gives. */
  readonly key: string;
}
export interface EffectRequest extends EffectCall {
  readonly request: Json;
}

/** `repeated`: it was on record already, and nothing was done now. */
export type OwnerAnswer = Recorded & { readonly repeated: boolean };
export type LookupAnswer = Recorded | { readonly state: 'absent' };

/** The owner's own work, inside the transaction. At a better-sqlite3 engine it must not be async. */
export type Work<Trx, M extends Mode> = (
  trx: Trx,
  effect: EffectRef,
) => M extends 'sync' ? Json : Json | Promise<Json>;
/** {@link Work} that stops what was begun; its answer is not kept. */
export type Stop<Trx> = (trx: Trx, effect: EffectRef & { readonly handle: Json }) => unknown;

export interface EffectOwnerOptions<Trx, M extends Mode> {
  readonly engine: OwnerEngine<Trx, M>;
  /** `authorityCheck` in a process that has store and Temporal, `httpAuthority` elsewhere. */
  readonly authority: AuthorityCheck;
  /** Of the two tables' names. Default `baton`. */
  readonly prefix?: string;
  /** Milliseconds since 1970 for the times in the records, which decide nothing. Default: this machine's clock. */
  readonly now?: () => number;
}

/**
 * All methods but `finish` and `migrate` throw what the authority check throws, `StaleLease` below the fence, and
 * `InvalidCommand` for what is not well formed; errors of the database and of the owner's work pass as they are, and have
 * taken everything back.
 */
export interface EffectOwner<Trx, M extends Mode> {
  /** Makes the tables where they are missing. */
  migrate(): Promise<void>;
  /**
   * Does an effect, or says what is on record of its key. A definite no is thrown by the work as `EffectRejected` and recorded.
   *
   * @param work returns the receipt
   * @throws BatonError `EffectConflict`: the key was used for another request
   */
  commit(call: EffectRequest, work: Work<Trx, M>): Promise<OwnerAnswer>;
  /** {@link commit} for what is only begun here and ends later, by {@link finish}. @param work returns the handle to poll by */
  accept(call: EffectRequest, work: Work<Trx, M>): Promise<OwnerAnswer>;
  /**
   * The owner's word of how an accepted effect ended: its own act, without anybody's authority.
   *
   * @param work returns the receipt, or throws `EffectRejected`
   * @returns what is on record; the first end stands
   * @throws BatonError `InvalidCommand` when no such effect was accepted
   */
  finish(effect: EffectRef, work: Work<Trx, M>): Promise<OwnerAnswer>;
  /**
   * Stops what was accepted and has not ended; afterwards it is `rejected` with the failure `Cancelled`. One that never arrived
   * is so too, so that it cannot arrive later.
   */
  cancel(call: EffectCall, work: Stop<Trx>): Promise<OwnerAnswer>;
  /**
   * {@link cancel} by an attempt whose lease is over because its slot or run was cancelled. One that was lost, released or
   * revoked is refused (`StaleLease`), since a successor may go on with what runs; before it is known which of them it was,
   * the answer is `AuthorityUnsettled`.
   */
  withdraw(call: EffectCall, work: Stop<Trx>): Promise<OwnerAnswer>;
  /** What is on record. It raises the fence too: after `absent`, nothing of an earlier attempt can land. */
  lookup(call: EffectCall): Promise<LookupAnswer>;
}

const CANCELLED: Failure = { code: 'Cancelled', message: 'The effect was withdrawn before it ended.' };
const KEY = /^[A-Za-z0-9._:-]{1,200}$/;

/** @throws BatonError `InvalidCommand` for a bad prefix */
export function effectOwner<Trx, M extends Mode>(options: EffectOwnerOptions<Trx, M>): EffectOwner<Trx, M> {
  const { engine, authority, now = Date.now } = options;
  const tables = tablesOf(options.prefix ?? 'baton');
  const forUpdate = engine.dialect === 'postgres' ? 'for update' : '';

  /** Asks the check, then runs the script with the fence raised. */
  async function fenced<T>(
    { authority: token, key }: EffectCall,
    purpose: Purpose,
    script: (trx: Trx, at: { fence: Fence; ref: EffectRef }) => Script<T>,
  ): Promise<T> {
    if (typeof key !== 'string' || !KEY.test(key))
      throw BatonError.of('InvalidCommand', '`key` must be 1 to 200 of A-Z a-z 0-9 . _ : -', {
        field: 'key',
      });
    const fence = await authority(token, { purpose });
    const { tenant, run, slot } = fence;
    return engine.transaction(function* (trx) {
      yield* raiseFence(tables, fence);
      return yield* script(trx, { fence, ref: { tenant, run, slot, key } });
    });
  }

  const begin = async (
    call: EffectRequest,
    work: Work<Trx, M>,
    recordOf: (value: unknown) => Recorded,
  ): Promise<OwnerAnswer> => {
    const requestDigest = digestOf(call.request);
    mustEnd(engine.mode, work);
    return fenced(call, 'act', function* (trx, { fence, ref }) {
      const known = yield* find(tables, ref);
      if (known) {
        // A withdrawal has no request; it stands for every one.
        if (known.requestDigest !== null && known.requestDigest !== requestDigest) throw conflict(ref);
        return { ...known.recorded, repeated: true };
      }
      const done = yield* attempt(() => work(trx, ref), rejectionIn);
      const recorded: Recorded =
        'failure' in done ? { state: 'rejected', failure: done.failure } : recordOf(done.value);
      yield* insert(tables, ref, { fence, requestDigest, at: now() }, recorded);
      return { ...recorded, repeated: false };
    });
  };

  const stop = async (call: EffectCall, purpose: Purpose, work: Stop<Trx>): Promise<OwnerAnswer> => {
    mustEnd(engine.mode, work);
    return fenced(call, purpose, function* (trx, { fence, ref }): Script<OwnerAnswer> {
      // Locked: the owner's own `finish` comes without the fence.
      const known = yield* find(tables, ref, forUpdate);
      const cancelled: Recorded = { state: 'rejected', failure: CANCELLED };
      if (!known) {
        yield* insert(tables, ref, { fence, requestDigest: null, at: now() }, cancelled);
        return { ...cancelled, repeated: false };
      }
      if (known.recorded.state !== 'accepted') return { ...known.recorded, repeated: true };
      const { handle } = known.recorded;
      yield* callWork(() => work(trx, { ...ref, handle }));
      yield* end(tables, ref, cancelled, now());
      return { ...cancelled, repeated: false };
    });
  };

  return {
    migrate: () => engine.transaction(() => createTables(tables, engine.dialect)),
    commit: (call, work) =>
      begin(call, work, (value) => ({ state: 'committed', receipt: kept('receipt', value) })),
    accept: (call, work) =>
      begin(call, work, (value) => ({ state: 'accepted', handle: kept('handle', value) })),
    async finish(effect, work) {
      mustEnd(engine.mode, work);
      return engine.transaction(function* (trx): Script<OwnerAnswer> {
        const known = yield* find(tables, effect, forUpdate);
        if (!known) {
          const { run, slot, key } = effect;
          throw BatonError.of('InvalidCommand', 'no such effect was accepted here', { run, slot, key });
        }
        if (known.recorded.state !== 'accepted') return { ...known.recorded, repeated: true };
        const done = yield* attempt(() => work(trx, effect), rejectionIn);
        const recorded: Recorded =
          'failure' in done
            ? { state: 'rejected', failure: done.failure }
            : { state: 'committed', receipt: kept('receipt', done.value) };
        yield* end(tables, effect, recorded, now());
        return { ...recorded, repeated: false };
      });
    },
    cancel: (call, work) => stop(call, 'act', work),
    withdraw: (call, work) => stop(call, 'withdraw', work),
    lookup: (call) =>
      fenced(call, 'act', function* (_trx, { ref }): Script<LookupAnswer> {
        return (yield* find(tables, ref))?.recorded ?? { state: 'absent' };
      }),
  };
}

/** Told before it runs: what an async function does after its first await would escape the rollback. */
function mustEnd(mode: Mode, work: (...args: never[]) => unknown): void {
  if (mode === 'sync' && work.constructor.name === 'AsyncFunction') throw awaits();
}

/** A copy, as it will be read again: the first answer and a repeated one are the same. */
function kept(field: string, value: unknown): Json {
  const json = canonicalJson(value ?? null);
  checkInline(field, value);
  return JSON.parse(json) as Json;
}

function conflict({ run, slot, key }: EffectRef): BatonError {
  return BatonError.of('EffectConflict', 'the key was used for another request', { run, slot, key });
}
