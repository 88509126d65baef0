/**
 * The effect's record as an attempt writes it: patient with a store that is away, and at an end when the store says that the
 * lease is.
 */
import pRetry from 'p-retry';
import type { Authority } from '../agent/authority.js';
import type { BatonError } from '../domain/errors.js';
import type { EffectRecord, EffectRow, EffectStore, Fence, Store } from '../store/port.js';
import { whileHeld } from './while-held.js';

/** Tries of what may as well be given up: some 5 seconds. */
const FEW = 6;

export class EffectRecords {
  constructor(
    private readonly store: Pick<Store, 'effects' | 'key'>,
    readonly fence: Fence,
    private readonly authority: Authority,
  ) {}

  storeKey(): Promise<Uint8Array> {
    return this.#patiently(() => this.store.key(), FEW);
  }

  /** Nothing has happened yet, so that the agent may be told that the store is away. */
  begin(
    effect: Pick<Parameters<EffectStore['begin']>[0], 'name' | 'instance' | 'key' | 'requestDigest'>,
  ): ReturnType<EffectStore['begin']> {
    const { fence } = this;
    const begin = () => this.store.effects.begin({ fence, ...effect, at: Date.now() });
    return this.#patiently(begin, FEW);
  }

  /** For as long as the lease lasts: an owner's word is not to be lost. */
  record(key: string, record: EffectRecord): Promise<EffectRow> {
    const { fence } = this;
    const write = () => this.store.effects.record({ fence, key, record, at: Date.now() });
    return this.#patiently(write, Number.POSITIVE_INFINITY);
  }

  async #patiently<T>(call: () => Promise<T>, retries: number): Promise<T> {
    const { signal } = this.authority;
    try {
      const written = pRetry(call, {
        retries,
        minTimeout: 50,
        maxTimeout: 1_000,
        signal,
        shouldRetry: ({ error }) => (error as Partial<BatonError>).code === 'StoreUnavailable',
      });
      return await whileHeld(signal, written);
    } catch (error) {
      const { code, details } = error as Partial<BatonError>;
      // One that comes after the end is staged is refused alone: the end is still to be told, under the lease.
      if (code === 'StaleLease' && details?.['staged'] !== true && !signal.aborted)
        throw this.authority.lose('the store refused to record an effect');
      throw error;
    }
  }
}
