/** What an agent's context needs of the lease keeper: whether it may act now, and whom to tell when it may not. */
import type { BatonError } from '../domain/errors.js';
import type { Json } from '../store/port.js';

export interface Authority {
  /** Fires when the attempt has lost its authority; the reason is a `BatonError`. */
  readonly signal: AbortSignal;
  /**
   * Resolves when a save or effect may start: at once while attached, later while detached. Rejects with `StaleLease` when
   * the lease is over.
   */
  usable(): Promise<void>;
  /** The store refused a fenced write: the lease is over. Answers the error to throw. */
  lose(why: string): BatonError;
  /** Details of the next beat. */
  progress(value: Json): void;
}
