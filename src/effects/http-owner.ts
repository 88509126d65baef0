/**
 * The worker's side of an owner that serves `effectRoutes`: `perform`, `lookup` and `poll` as `ctx.effect` takes them, and
 * `cancel` and `withdraw` for what runs long. Retries nothing by itself: whether to send again is the effect protocol's to decide.
 */
import type { Json } from '../store/port.js';
import { errorOfAnswer } from './http.js';
import { accepted, EffectRejected, type Accepted } from './outcome.js';
import type { LookupAnswer, OwnerAnswer } from './owner/owner.js';

/** What is used of a call that `ctx.effect` makes. */
export interface OwnerCall {
  readonly key: string;
  readonly authority: string;
  readonly request: Json;
  readonly signal?: AbortSignal;
}

export interface HttpOwnerOptions {
  /** Longest wait for one answer, in milliseconds; without one the outcome is unknown. Default 30,000. */
  readonly timeoutMs?: number;
}

/**
 * @param url of the routes, for example `http://127.0.0.1:8080/effects`
 * @throws BatonError (its methods) what the owner answered: `StaleLease`, `EffectConflict`, `AuthorityUnsettled`…; any other
 *   error means that no answer came, and that the owner must be asked
 */
export function httpOwner(url: string, { timeoutMs = 30_000 }: HttpOwnerOptions = {}) {
  const base = url.replace(/\/+$/, '');
  async function post<T>(path: string, body: Json, signal?: AbortSignal): Promise<T> {
    const late = AbortSignal.timeout(timeoutMs);
    const response = await fetch(`${base}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      redirect: 'error',
      signal: signal ? AbortSignal.any([signal, late]) : late,
    });
    const answer: unknown = await response.json();
    if (response.status === 200 && typeof (answer as { state?: unknown } | null)?.state === 'string')
      return answer as T;
    throw (
      errorOfAnswer(answer) ?? new Error(`the effect owner answered ${response.status} with something else`)
    );
  }
  const called = ({ authority, key }: OwnerCall): { authority: string; key: string } => ({ authority, key });
  const send = (call: OwnerCall) =>
    post<OwnerAnswer>('', { ...called(call), request: call.request }, call.signal);
  const lookup = (call: OwnerCall) => post<LookupAnswer>('/lookup', called(call), call.signal);
  return {
    /** Sends the effect; the answer is what the owner has on record then. */
    send,
    /** {@link send}, as `ctx.effect` takes its outcome: the receipt, `accepted(handle)`, or `EffectRejected`. */
    perform: async (call: OwnerCall): Promise<Json | Accepted> => {
      const answer = await send(call);
      if (answer.state === 'rejected') throw new EffectRejected(answer.failure);
      return answer.state === 'accepted' ? accepted(answer.handle) : answer.receipt;
    },
    lookup,
    /** Whatever became of an accepted effect is on the owner's record too. */
    poll: lookup,
    /** Stops it, under the lease. */
    cancel: (call: OwnerCall) => post<OwnerAnswer>('/cancel', called(call), call.signal),
    /** Stops it after the lease, if that was cancelled: takes no signal, since it is called when that has fired. */
    withdraw: (call: OwnerCall) => post<OwnerAnswer>('/withdraw', called(call)),
  };
}
