/** One call of an effect's owner, and what was heard: its word, or that it could not be had. Never throws. */
import type { OwnerWord } from '../domain/effect.js';
import { BatonError } from '../domain/errors.js';
import { isId, recordable } from '../domain/text.js';
import type { Failure } from '../domain/types.js';
import type { Json } from '../store/port.js';
import { inlineAnswer } from './options.js';
import { isAccepted, rejectionIn } from './outcome.js';
import type { EffectCallInput, EffectOptions } from './types.js';

/** No word was had. */
export interface Unheard {
  readonly state: 'unknown';
  readonly failure: Failure;
  readonly error: unknown;
  /** It answered, and asking again brings nothing else. */
  readonly told: boolean;
  /** It says that the attempt has no authority. */
  readonly stale: boolean;
}
export type Heard = Exclude<OwnerWord<Json>, { state: 'unknown' }> | Unheard;

/** Sends the effect. */
export async function sent(options: EffectOptions, call: EffectCallInput): Promise<Heard> {
  let answer: unknown;
  try {
    answer = await options.perform(call);
  } catch (error) {
    const no = rejectionIn(error);
    return no ? { state: 'rejected', failure: no } : unheard(error);
  }
  return worded(() =>
    isAccepted(answer)
      ? { state: 'accepted', handle: inlineAnswer('handle', answer.handle) }
      : { state: 'committed', receipt: inlineAnswer('receipt', answer) },
  );
}

/** Asks by `lookup` or `poll`. What is no answer of one counts as not told. */
export async function asked(ask: () => unknown): Promise<Heard> {
  let answer: unknown;
  try {
    answer = await ask();
  } catch (error) {
    const no = rejectionIn(error);
    return no ? { state: 'rejected', failure: no } : unheard(error);
  }
  const word = (answer ?? {}) as Partial<Record<'state' | 'receipt' | 'handle' | 'failure', unknown>>;
  switch (word.state) {
    case 'committed':
      return worded(() => ({ state: 'committed', receipt: inlineAnswer('receipt', word.receipt) }));
    case 'accepted':
      return worded(() => ({ state: 'accepted', handle: inlineAnswer('handle', word.handle) }));
    case 'rejected':
      return { state: 'rejected', failure: failureOf(word.failure, 'EffectRejected') };
    case 'absent':
      return { state: 'absent' };
    case 'unknown':
      return unheard(new Error('its owner does not know'), true);
    default:
      return unheard(
        BatonError.of('InvalidCommand', '`lookup` and `poll` must return an object with a state', {
          field: 'state',
        }),
        true,
      );
  }
}

/** The owner did answer, but with what cannot be recorded. */
function worded(word: () => Heard): Heard {
  try {
    return word();
  } catch (error) {
    return unheard(error, true);
  }
}

function unheard(error: unknown, told = false): Unheard {
  const { code } = (error ?? {}) as { code?: unknown };
  return {
    state: 'unknown',
    failure: failureOf(error, 'OwnerUnreachable'),
    error,
    told: told || code === 'EffectConflict',
    stale: code === 'StaleLease',
  };
}

/** Bounded, and of the characters that a failure may have. */
function failureOf(error: unknown, otherwise: string): Failure {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  const text = typeof message === 'string' && message !== '' ? message : String(error);
  return { code: isId(code) ? code : otherwise, message: recordable(text) };
}
