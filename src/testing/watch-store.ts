/** Sees every call of a store's verbs: what fault injection and crash points are made of. */
import type { Store } from '../store/port.js';

/** One call of the store's port. */
export interface StoreCall {
  /** Group and verb, for example `attempts.claim`. */
  readonly name: string;
  readonly args: readonly unknown[];
}

type Verb = (...args: unknown[]) => Promise<unknown>;
const GROUPS = [
  'revisions',
  'runs',
  'attempts',
  'artifacts',
  'effects',
  'commands',
  'audit',
  'retention',
] as const;

/**
 * @param store carries out what is let through
 * @param around is given each call and what carries it out; its outcome is the caller's. It may do something before or after,
 *   reject instead, or never settle
 * @returns the store, seen through `around`; closing it closes the given one
 */
export function watchStore(
  store: Store,
  around: (call: StoreCall, proceed: () => Promise<unknown>) => Promise<unknown>,
): Store {
  const groups = GROUPS.map((group) => {
    const verbs = Object.entries(store[group] as unknown as Record<string, Verb>);
    const watched = verbs.map(([verb, carryOut]): [string, Verb] => [
      verb,
      (...args) => around({ name: `${group}.${verb}`, args }, () => carryOut(...args)),
    ]);
    return [group, Object.fromEntries(watched)] as const;
  });
  return {
    ...store,
    ...(Object.fromEntries(groups) as unknown as Pick<Store, (typeof GROUPS)[number]>),
    key: () => around({ name: 'key', args: [] }, () => store.key()) as Promise<Uint8Array>,
  };
}
