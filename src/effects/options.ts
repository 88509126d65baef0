/** What `ctx.effect` is given, checked where its author sees the error. */
import { checkName } from '../agent/provenance.js';
import { BatonError } from '../domain/errors.js';
import { checkFields, checkInline, MAX_INLINE_BYTES, utf8Bytes } from '../domain/text.js';
import { canonicalJson } from '../store/canonical.js';
import type { Json } from '../store/port.js';
import type { EffectOptions } from './types.js';

const FUNCTIONS = ['perform', 'lookup', 'poll'] as const;
/** What else `httpOwner` has: its object may be spread into the options. */
const FIELDS = [...FUNCTIONS, 'request', 'instance', 'pollMs', 'send', 'cancel', 'withdraw'];
const POLL_MS = { least: 10, most: 3_600_000, default: 1_000 };

export const pollEvery = ({ pollMs }: EffectOptions): number => pollMs ?? POLL_MS.default;

/** @throws BatonError `InvalidCommand` naming the field that is wrong */
export function checkedOptions(options: EffectOptions): EffectOptions {
  const wrong = (field: string, rule: string) =>
    BatonError.of('InvalidCommand', `\`${field}\` of an effect must be ${rule}`, { field });
  if (typeof options !== 'object' || (options as unknown) === null) throw wrong('options', 'an object');
  checkFields('an effect', options, FIELDS);
  for (const field of FUNCTIONS) {
    const value = (options as unknown as Readonly<Record<string, unknown>>)[field];
    if (typeof value !== 'function' && (field === 'perform' || value !== undefined))
      throw wrong(field, 'a function');
  }
  if (options.instance !== undefined) checkName('instance', options.instance);
  const { pollMs } = options;
  if (pollMs !== undefined && !(pollMs >= POLL_MS.least && pollMs <= POLL_MS.most))
    throw wrong('pollMs', `from ${POLL_MS.least} to ${POLL_MS.most} milliseconds`);
  return options;
}

/**
 * A copy as JSON, so that what the agent changes later is not sent half changed.
 *
 * @throws BatonError `InvalidCommand` for what is no JSON, `TooLarge` beyond 64 KiB
 */
export function inlineJson(field: string, value: unknown): Json {
  const copy = JSON.parse(canonicalJson(value ?? null)) as Json;
  checkInline(field, copy);
  return copy;
}

/** A receipt or handle as JSON. Too large a one has happened all the same, so the error says what to do about it. */
export function inlineAnswer(field: 'receipt' | 'handle', value: unknown): Json {
  const copy = JSON.parse(canonicalJson(value ?? null)) as Json;
  const size = utf8Bytes(JSON.stringify(copy));
  if (size <= MAX_INLINE_BYTES) return copy;
  throw BatonError.of(
    'TooLarge',
    `the ${field} of an effect is too large; save it as an artifact in \`perform\` and return its digest`,
    { field, size, limit: MAX_INLINE_BYTES, unit: 'bytes' },
  );
}
