/**
 * The kinds of value that definition files are made of: ids, short texts, durations, JSON content; and their limits.
 * What is valid here can be stored, compared by canonical JSON and carried through Temporal without a change.
 */
import ms from 'ms';
import { z } from 'zod';
import { codePoints, isBlank, isId, MAX_TEXT } from '../domain/text.js';
import type { Json } from '../store/port.js';

const SECOND = 1_000;
const DAY = 86_400 * SECOND;

/** Bounds of definitions. Sizes in bytes of UTF-8, durations in milliseconds, texts in code points. */
export const LIMITS = {
  fileBytes: 1024 * 1024,
  attachmentBytes: 1024 * 1024,
  contentDepth: 64,
  /** The plan as it travels in the run's input (packed); with {@link LIMITS.slots} it stays below Temporal's 2 MB payload. */
  planBytes: 512 * 1024,
  slots: 2_000,
  documents: 1_000,
  steps: 1_000,
  specs: 32,
  classes: 64,
  attachments: 64,
  text: MAX_TEXT,
  shortText: 256,
  ttlMin: SECOND,
  ttlMax: 30 * DAY,
  durationMax: 366 * DAY,
  revision: 2 ** 31 - 1,
} as const;

const DURATION = /^\d+(?:\.\d+)?\s*(?:ms|s|m|h|d|w)$/;

/** Marks an issue as a size over its limit, so that it is reported as `TooLarge`. */
export const OVERSIZE = { oversize: true } as const;

/** True for an id that can also be a key of a plain object; names of nodes and slots are such keys. */
export const isKey = (value: string): boolean => isId(value) && value !== '__proto__';

/** NUL and lone surrogates are in no valid text: no database and no other language would give them back. */
const isStorable = (value: string): boolean => !value.includes('\0') && !/\p{Surrogate}/u.test(value);

export const id = z
  .string()

  .refine(isKey, 'is no id: 1 to 128 of the characters A-Z a-z 0-9 . _ - are allowed');

/** Text of 1 to `limit` code points that is not blank, kept as it is. */
export const text = (limit: number) =>
  z.string().superRefine((value, ctx) => {
    if (!isStorable(value))
      ctx.addIssue({ code: 'custom', message: 'has a NUL character or a lone surrogate' });
    else if (isBlank(value)) ctx.addIssue({ code: 'custom', message: 'is blank' });
    else if (codePoints(value) > limit) {
      ctx.addIssue({
        code: 'custom',
        message: `has ${codePoints(value)} code points, the limit is ${limit}`,
        params: OVERSIZE,
      });
    }
  });

/**
 * A duration: a whole number of milliseconds, or a number with its unit (`500ms`, `10s`, `5m`, `2h`, `30d`). Gives
 * milliseconds. A text without unit is refused, because "10" would be read as seconds by most people.
 */
export const duration = (min: number, max: number) =>
  z.unknown().transform((value, ctx): number => {
    const parsed = typeof value === 'string' && DURATION.test(value) ? ms(value as ms.StringValue) : value;
    if (typeof parsed !== 'number' || !Number.isFinite(parsed)) {
      ctx.addIssue({
        code: 'custom',
        message: `is no duration: write 500ms, 10s, 5m or 2h, or milliseconds`,
      });
      return z.NEVER;
    }
    const rounded = Math.round(parsed);
    if (rounded < min || rounded > max) {
      ctx.addIssue({
        code: 'custom',
        message: `must be from ${ms(min)} to ${ms(max)}, and is ${rounded} ms`,
      });
      return z.NEVER;
    }
    return rounded;
  });

export const count = (min: number, max: number) =>
  z
    .number()
    .refine(
      (value) => Number.isInteger(value) && value >= min && value <= max,
      `must be a whole number from ${min} to ${max}`,
    );

/** `name` or `name@revision`. */
export const reference = z
  .string()
  .refine((value) => parseRef(value) !== null, 'must be NAME or NAME@REVISION');

export interface Ref {
  readonly name: string;
  readonly revision: number | null;
}

/** Reads `name` or `name@revision`; null when it is neither. */
export function parseRef(value: string): Ref | null {
  const match = /^([^@]+)(?:@([1-9]\d{0,9}))?$/.exec(value);
  const name = match?.[1];
  if (name === undefined || !isKey(name)) return null;
  const revision = match?.[2] === undefined ? null : Number(match[2]);
  return revision !== null && revision > LIMITS.revision ? null : { name, revision };
}

/** Any JSON that canonical JSON gives back as it was. Numbers that lost digits in reading are refused, not rounded. */
export const json = z.unknown().transform((value, ctx): Json => {
  const problem = jsonProblem(value, '', 0);
  if (problem === null) return value as Json;
  ctx.addIssue({ code: 'custom', message: problem });
  return z.NEVER;
});

function jsonProblem(value: unknown, path: string, depth: number): string | null {
  const at = path === '' ? '' : ` at ${path}`;
  if (depth > LIMITS.contentDepth) return `is nested deeper than ${LIMITS.contentDepth} levels`;
  if (value === null || typeof value === 'boolean') return null;
  if (typeof value === 'string') {
    return isStorable(value) ? null : `has a text with a NUL character or a lone surrogate${at}`;
  }
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) return `has a number that JSON does not know${at}`;
    const rounded = Number.isInteger(value) && !Number.isSafeInteger(value);
    return rounded ? `has a number too large to be kept exactly${at}: quote it` : null;
  }
  if (Array.isArray(value)) {
    return firstProblem(
      value.map((item, index) => [`${path}[${index}]`, item] as const),
      depth,
    );
  }
  if (typeof value === 'object' && isPlain(value)) {
    const entries = Object.entries(value);
    const bad = entries.find(([key]) => key === '__proto__' || !isStorable(key));
    if (bad !== undefined) return `has a key that cannot be stored${at}`;
    return firstProblem(
      entries.map(([key, item]) => [path === '' ? key : `${path}.${key}`, item] as const),
      depth,
    );
  }
  return `has a value that is no JSON${at}`;
}

function firstProblem(items: readonly (readonly [string, unknown])[], depth: number): string | null {
  for (const [path, item] of items) {
    const problem = jsonProblem(item, path, depth + 1);
    if (problem !== null) return problem;
  }
  return null;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
