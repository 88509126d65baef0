/**
 * The worker's side of effects over a real store: attempts that are claimed and end by hand, and an owner in this process that
 * commits for real (it counts), loses answers and goes away when told to.
 */
import type { Authority } from '../../src/agent/authority.js';
import { BatonError } from '../../src/domain/errors.js';
import { Effects } from '../../src/effects/boundary.js';
import { EffectRejected } from '../../src/effects/outcome.js';
import type { EffectCallInput, EffectOptions, OwnerAnswerTo } from '../../src/effects/types.js';
import { canonicalJson } from '../../src/store/canonical.js';
import type { Fence, Json, Store } from '../../src/store/port.js';
import { attachment, claimInput, fenceOf, RUN, settleInput } from '../store/inputs.js';

export { RUN };

export interface Held {
  readonly fence: Fence;
  readonly effects: Effects;
  readonly warnings: string[];
  /** The process is gone: nothing of it is heard again, and its lease expires. */
  die(): Promise<void>;
  /** The lease keeper has noticed. */
  abort(): void;
  /** Whether its authority has gone. */
  lost(): boolean;
}

/** A new attempt of the slot. @param seen the store as the worker sees it */
export async function attempt(store: Store, seen: Store = store): Promise<Held> {
  const fence = fenceOf(await store.attempts.claim(claimInput()));
  await store.attempts.attach({ fence, attachment: attachment(), at: 2_000 });
  const aborter = new AbortController();
  const warnings: string[] = [];
  const lose = (why: string): BatonError => {
    aborter.abort(BatonError.of('StaleLease', why));
    return aborter.signal.reason as BatonError;
  };
  const authority: Authority = {
    signal: aborter.signal,
    usable: async () => aborter.signal.throwIfAborted(),
    lose,
    progress: () => undefined,
  };
  const effects = new Effects({
    store: seen,
    fence,
    authority,
    warn: (_effect, message) => warnings.push(message),
  });
  const abort = (): void => void lose('the worker is gone');
  return {
    fence,
    effects,
    warnings,
    abort,
    lost: () => aborter.signal.aborted,
    async die() {
      abort();
      await store.attempts.settle(settleInput(fence));
    },
  };
}

/** What goes wrong with one call of the owner. */
export type Trouble =
  | 'none'
  /** The request never arrives. */
  | 'request lost'
  /** It is done, and the answer is lost. */
  | 'answer lost'
  /** The owner cannot say. */
  | 'unknown';

export interface Owner {
  /** Receipts by key: what the owner has committed, once a key whatever is sent. */
  readonly committed: ReadonlyMap<string, Json>;
  /** Requests that arrived, by key. */
  readonly arrived: Map<string, string[]>;
  readonly lookups: number;
  /** Trouble of the next calls in order; none when they are used up. */
  trouble: Trouble[];
  readonly perform: (call: EffectCallInput) => Promise<Json>;
  readonly lookup: (call: EffectCallInput) => Promise<OwnerAnswerTo>;
}

export function owner({ refuses = false }: { refuses?: boolean } = {}): Owner {
  const committed = new Map<string, Json>();
  const rejected = new Set<string>();
  const arrived = new Map<string, string[]>();
  let lookups = 0;
  const troubled = async <T>(trouble: Trouble, act: () => T): Promise<T> => {
    if (trouble === 'request lost') throw new Error('connection refused');
    const answer = act();
    if (trouble === 'answer lost') throw new Error('socket hang up');
    return answer;
  };
  const self: Owner = {
    committed,
    arrived,
    get lookups() {
      return lookups;
    },
    trouble: [],
    perform: ({ key, request }) =>
      troubled(self.trouble.shift() ?? 'none', () => {
        arrived.set(key, [...(arrived.get(key) ?? []), canonicalJson(request)]);
        if (refuses || rejected.has(key)) {
          rejected.add(key);
          throw new EffectRejected({ code: 'NoFunds', message: 'the account is empty' });
        }
        // An owner without dedupe: what is sent twice is done twice, and shows.
        const receipt = { number: committed.size + 1, request };
        if (!committed.has(key)) committed.set(key, receipt);
        return receipt;
      }),
    lookup: async ({ key }) => {
      lookups += 1;
      const trouble = self.trouble.shift() ?? 'none';
      if (trouble === 'unknown') return { state: 'unknown' };
      return troubled(trouble, (): OwnerAnswerTo => {
        const receipt = committed.get(key);
        if (receipt !== undefined) return { state: 'committed', receipt };
        return rejected.has(key)
          ? { state: 'rejected', failure: { code: 'NoFunds', message: 'the account is empty' } }
          : { state: 'absent' };
      });
    },
  };
  return self;
}

/** Options of an effect at that owner. */
export const at = ({ perform, lookup }: Owner, change: Partial<EffectOptions> = {}): EffectOptions => ({
  request: { amount: 5 },
  perform,
  lookup,
  ...change,
});
