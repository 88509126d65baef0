/**
 * Rules for ids and texts (design, section 5): one place for client, validator, store and agents. Pure.
 */
import { BatonError, refusal, type Refusal } from './errors.js';

const ID = /^[A-Za-z0-9._-]{1,128}$/;
/** Nothing but White_Space, control (Cc) and format (Cf) characters. */
const BLANK = /^[\p{White_Space}\p{Cc}\p{Cf}]*$/u;
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Longest reason or message, in Unicode code points. */
export const MAX_TEXT = 4_000;
/** Longest name of a step, an artifact or an effect, in Unicode code points. */
export const MAX_NAME = 256;
/** Largest inline value (run input, slot result), in bytes of its JSON as UTF-8. */
export const MAX_INLINE_BYTES = 64 * 1024;

export const isId = (value: unknown): value is string => typeof value === 'string' && ID.test(value);
export const isBlank = (text: string): boolean => BLANK.test(text);

/**
 * Any text as one that may be recorded: what no store keeps replaced, and cut.
 *
 * @param max most code points, default {@link MAX_TEXT}
 */
export const recordable = (text: string, max = MAX_TEXT): string =>
  Array.from(text.replace(/\0|\p{Surrogate}/gu, '\uFFFD'))
    .slice(0, max)
    .join('');

/** Length in code points, as a person counts characters. */
export function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** Bytes of a text as UTF-8; counted by hand because the workflow sandbox has no Buffer. */
export function utf8Bytes(text: string): number {
  let bytes = 0;
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return bytes;
}

/** What is wrong with an id, or null. */
export function idProblem(field: string, value: unknown): Refusal | null {
  if (isId(value)) return null;
  return refusal('InvalidCommand', `\`${field}\` must be 1 to 128 of A-Z a-z 0-9 . _ -`, {
    field,
    value: shown(value),
  });
}

/**
 * What is wrong with a text, or null. Blank texts pass: whether a reason is required is a guard of its own.
 *
 * @param max most code points, default {@link MAX_TEXT}
 */
export function textProblem(field: string, value: unknown, max = MAX_TEXT): Refusal | null {
  if (typeof value !== 'string')
    return refusal('InvalidCommand', `\`${field}\` must be a text`, { field, value: shown(value) });
  if (value.includes('\0') || LONE_SURROGATE.test(value)) {
    return refusal('InvalidCommand', `\`${field}\` holds a NUL or half a surrogate pair`, { field });
  }
  const size = codePoints(value);
  return size <= max
    ? null
    : refusal('TooLarge', `\`${field}\` is too long`, { field, size, limit: max, unit: 'code points' });
}

/** Throws `InvalidCommand` unless the value is an id. */
export function checkId(field: string, value: unknown): string {
  const problem = idProblem(field, value);
  if (problem) throw BatonError.from(problem);
  return value as string;
}

/** Throws `InvalidCommand` or `TooLarge` unless the value is a text within the limit. Blank is allowed. */
export function checkText(field: string, value: unknown, max = MAX_TEXT): string {
  const problem = textProblem(field, value, max);
  if (problem) throw BatonError.from(problem);
  return value as string;
}

/** Throws `TooLarge` when a value's JSON is over the inline limit. Returns the JSON. */
export function checkInline(field: string, value: unknown, limit = MAX_INLINE_BYTES): string {
  const json = JSON.stringify(value ?? null);
  const size = utf8Bytes(json);
  if (size > limit)
    throw BatonError.of('TooLarge', `\`${field}\` is too large to be given inline`, {
      field,
      size,
      limit,
      unit: 'bytes',
    });
  return json;
}

/** Bytes of a value's JSON as UTF-8; null for what is no JSON. Nothing counts as null. */
export function inlineBytes(value: unknown): number | null {
  const json = jsonOf(value ?? null);
  return json === undefined ? null : utf8Bytes(json);
}

/** A value for an error message: short, whatever was sent. */
export function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (jsonOf(value) ?? typeof value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

/** Undefined for what is no JSON, and for what is nested deeper than the stack. */
function jsonOf(value: unknown): string | undefined {
  try {
    const json: unknown = JSON.stringify(value);
    return typeof json === 'string' ? json : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Options given from JavaScript have no compiler: a misspelt one must not be ignored.
 *
 * @throws BatonError `InvalidCommand` naming the first field that is not known
 */
export function checkFields(what: string, given: object, known: readonly string[]): void {
  const field = Object.keys(given).find((name) => !known.includes(name));
  if (field === undefined) return;
  throw BatonError.of('InvalidCommand', `${what} has no field \`${field}\`; it has ${known.join(', ')}`, {
    field,
  });
}

/** `1 attempt`, `2 attempts`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;
