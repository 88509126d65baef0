/** What an agent gives `ctx.effect`, and what it is called with. Types only. */
import type { OwnerWord } from '../domain/effect.js';
import type { Json } from '../store/port.js';

/** What every call of an effect's owner is made with. */
export interface EffectCallInput {
  /** Idempotency key: the same in every attempt. Send it. */
  readonly key: string;
  readonly request: Json;
  /** Opaque token that names the attempt, for owners that use the kit (`temporal-baton/effects`). Send it. */
  readonly authority: string;
  /** Fencing token of the slot: rises with every attempt. It is in `authority` too. */
  readonly epoch: number;
  /** Fires when the attempt has lost its authority. */
  readonly signal: AbortSignal;
}

export type OwnerAnswerTo = OwnerWord<Json>;

export interface EffectOptions {
  /** JSON of at most 64 KiB. Another request under the same name and instance is `EffectConflict`. */
  readonly request: unknown;
  /** Tells several effects of one name apart: an order number, a recipient. Absent: the only one of its name. */
  readonly instance?: string;
  /**
   * Sends the effect. Returns the receipt (JSON of at most 64 KiB) or `accepted(handle)`; throws `EffectRejected` for a definite
   * no. **Every other error means that the outcome is unknown**, and the owner is asked by {@link lookup}.
   */
  perform(call: EffectCallInput): unknown;
  /**
   * Asks the owner what became of the key. A throw, or `unknown`, means that it cannot be told now. *Without it nobody can find out
   * whether an effect happened whose answer was lost*: it stays unresolved, nothing is sent again, and the slot waits for
   * `baton resolve-effect`. Baton warns once for each effect that has none.
   */
  lookup?(call: EffectCallInput): Promise<OwnerAnswerTo> | OwnerAnswerTo;
  /** Asks for the end of what was accepted. Absent: {@link lookup} is asked. */
  poll?(call: EffectCallInput & { readonly handle: Json }): Promise<OwnerAnswerTo> | OwnerAnswerTo;
  /** Time between two polls, in milliseconds. Default 1,000; from 10 to 3,600,000. */
  readonly pollMs?: number;
}
