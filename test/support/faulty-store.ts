/**
 * A fault injector around a real store: sees every call of the store's verbs, and makes the one that a test names go wrong
 * once. What it lets through is done by the real store.
 */
import { BatonError } from '../../src/domain/errors.js';
import type { Store } from '../../src/store/port.js';
import { watchStore, type StoreCall as Call } from '../../src/testing/watch-store.js';

/** A call that went wrong: it did nothing and said so, it never answers, or it was done and the answer is lost. */
export const FAULTS = ['fails', 'hangs', 'loses its answer'] as const;
export type Fault = (typeof FAULTS)[number];

export interface StoreCall {
  /** For example `attempts.claim`. */
  readonly name: string;
  /** Counted from 1 among the calls of that name. */
  readonly nth: number;
}

export interface FaultyStore {
  readonly store: Store;
  /** Calls since the last {@link arm}, in order. */
  readonly calls: readonly StoreCall[];
  /** Forgets what was seen; with a fault, the named call goes wrong once. */
  arm(fault?: StoreCall & { readonly how: Fault }): void;
  /** Whether the armed fault has happened. */
  readonly struck: boolean;
}

export function faultyStore(store: Store): FaultyStore {
  let calls: StoreCall[] = [];
  let armed: (StoreCall & { readonly how: Fault }) | undefined;
  let struck = false;
  const around = async ({ name }: Call, proceed: () => Promise<unknown>): Promise<unknown> => {
    const nth = calls.filter((call) => call.name === name).length + 1;
    calls.push({ name, nth });
    if (struck || armed?.name !== name || armed.nth !== nth) return proceed();
    struck = true;
    if (armed.how === 'hangs') return new Promise(() => undefined);
    if (armed.how === 'loses its answer') await proceed();
    throw BatonError.of('StoreUnavailable', 'the store is away for this call', { call: name });
  };
  return {
    store: watchStore(store, around),
    get calls() {
      return calls;
    },
    arm(fault) {
      calls = [];
      armed = fault;
      struck = false;
    },
    get struck() {
      return struck;
    },
  };
}
