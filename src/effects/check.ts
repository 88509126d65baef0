/**
 * The authority check: whether the attempt that a token names may act for its slot at this moment. Asked by effect owners at
 * the effect's boundary. It says *yes* only where store and Temporal both hold the lease for live now; whatever it cannot tell
 * is `AuthorityUnsettled`, never a yes. A yes is as old as its answer's way back: the owner's fence and key close that gap.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { stale } from '../client/authority.js';
import { standingOf } from '../client/lease-view.js';
import { describeRun } from '../client/reads.js';
import { BatonError } from '../domain/errors.js';
import { isTerminalLease } from '../domain/types.js';
import type { AttemptRow, Fence, Store } from '../store/port.js';
import { readAuthority } from './token.js';

/**
 * What the authority is asked for. `act`: an effect is to be done, stopped, or its owner asked about it. `withdraw`: what an
 * attempt has begun is to be stopped after its lease, for which only one whose slot or run was cancelled has authority: nobody
 * will come after it. One that was lost, released or revoked has not, since a successor may go on with what runs.
 */
export type Purpose = 'act' | 'withdraw';

export interface CheckOptions {
  /** Default `act`. */
  readonly purpose?: Purpose;
  /** Ends the waiting with `AuthorityUnsettled`. */
  readonly signal?: AbortSignal;
}

/**
 * @returns the fence that the token names, when its attempt has authority
 * @throws BatonError `StaleLease`: no. `AuthorityUnsettled`, `StoreUnavailable`, `TemporalUnavailable`: not to be told now
 */
export type AuthorityCheck = (token: string, options?: CheckOptions) => Promise<Fence>;

export interface AuthorityCheckOptions {
  readonly store: Pick<Store, 'key' | 'attempts'>;
  readonly client: Client;
  /** Longest wait for what is unsettled, in milliseconds. Default, and at most: the lease's TTL. */
  readonly patienceMs?: number;
}

/** A roll-over's gap is some 25 ms; a slower one is looked at less and less often. */
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;

type Verdict = { readonly yes: true } | { readonly yes: false; readonly why: string };

/** Makes the check over a store and the Temporal client of its runs. Holds no state: every call asks both anew. */
export function authorityCheck(options: AuthorityCheckOptions): AuthorityCheck {
  const { store, client, patienceMs = Number.POSITIVE_INFINITY } = options;
  return async (token, { purpose = 'act', signal } = {}) => {
    const fence = readAuthority(await store.key(), token);
    const from = performance.now();
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      const row = await newestRow(store, fence);
      const verdict = await (purpose === 'act' ? mayAct(client, row) : mayWithdraw(row));
      if (verdict.yes) return fence;
      const left = from + Math.min(row.ttlMs, patienceMs) - performance.now();
      if (left <= 0 || signal?.aborted) throw unsettled(fence, verdict.why);
      await sleep(Math.min(pause, left), undefined, { signal }).catch(() => undefined);
    }
  };
}

/** @throws BatonError `StaleLease` unless the fence is of the slot's newest attempt */
async function newestRow(store: Pick<Store, 'attempts'>, fence: Fence): Promise<AttemptRow> {
  const { tenant, run, slot, attempt, epoch } = fence;
  const newest = await store.attempts.newest(tenant, run, slot);
  const facts = { run, slot, attempt };
  if (newest?.attempt === attempt && newest.epoch === epoch) return newest;
  if (newest && newest.epoch > epoch)
    throw stale('another attempt has been claimed since', { ...facts, epoch, newest: newest.epoch });
  throw stale('the store has no such lease', { ...facts, epoch });
}

/** Unsettled verdicts are returned, a *no* is thrown. */
async function mayAct(client: Client, row: AttemptRow): Promise<Verdict> {
  const { tenant, run, slot, attempt } = row;
  const facts = { run, slot, attempt };
  if (row.leaseStatus !== 'live') throw stale(`the lease is ${row.leaseStatus}`, facts);
  const standing = standingOf(row.attachment, await describeRun({ client, tenant }, run));
  switch (standing.kind) {
    case 'pending':
      return { yes: true };
    case 'moving':
      return { yes: false, why: 'the lease is not attached to the run’s newest execution' };
    case 'stopping':
      throw stale('the lease is asked to stop', facts);
    case 'over':
      throw stale(standing.why, facts);
  }
}

/** Judged by how the attempt ended, as the store has it. Until that is recorded it cannot be told. */
function mayWithdraw(row: AttemptRow): Verdict {
  const { run, slot, attempt } = row;
  if (!isTerminalLease(row.leaseStatus))
    return { yes: false, why: 'how the attempt ends is not recorded yet' };
  if (row.failure?.code === 'Cancelled') return { yes: true };
  const why = `the lease is ${row.leaseStatus}, and a successor may go on with what runs`;
  throw stale(why, { run, slot, attempt });
}

function unsettled({ run, slot, attempt }: Fence, why: string): BatonError {
  return BatonError.of('AuthorityUnsettled', `whether the attempt has authority cannot be told: ${why}`, {
    run,
    slot,
    attempt,
  });
}
