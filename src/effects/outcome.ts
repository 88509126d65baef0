/**
 * The two outcomes of `perform` that are no receipt: the owner took it and will finish later, or it said no for good. Every
 * other error that it throws means that the outcome is unknown. Told by their marks and codes, not by their classes: they may
 * come from another copy of this package.
 */
import { BatonError } from '../domain/errors.js';
import type { Failure } from '../domain/types.js';
import type { Json } from '../store/port.js';

const ACCEPTED = Symbol.for('temporal-baton.effect-accepted');

/** What {@link accepted} makes. */
export interface Accepted {
  readonly [ACCEPTED]: true;
  /** What the effect is polled by. */
  readonly handle: Json;
}

/** The owner has taken the effect and will finish it later: for `perform` to return in place of a receipt. */
export function accepted(handle: Json): Accepted {
  return { [ACCEPTED]: true, handle };
}

export const isAccepted = (value: unknown): value is Accepted =>
  typeof value === 'object' && value !== null && ACCEPTED in value;

/** The owner's definite no: nothing happened, and under this key nothing will. */
export class EffectRejected extends BatonError {
  /** @param failure as the owner gave it; kept with the effect */
  constructor(failure: Failure) {
    const { message } = BatonError.of('EffectRejected', `the effect’s owner refused: ${failure.message}`, {
      code: failure.code,
    });
    super('EffectRejected', message, { failure: { code: failure.code, message: failure.message } });
  }
}

/** The failure of a definite no, from whatever copy of this package; null for every other error. */
export function rejectionIn(error: unknown): Failure | null {
  const { code, message, details } = (error ?? {}) as Partial<BatonError>;
  if (code !== 'EffectRejected') return null;
  const failure = details?.['failure'] as Partial<Failure> | undefined;
  return { code: failure?.code ?? 'EffectRejected', message: failure?.message ?? message ?? '' };
}
