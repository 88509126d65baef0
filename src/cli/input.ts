/** What is given on the command line: texts and JSON values inline, from a file (`@FILE`) or from standard input (`-`). */
import { readFile } from 'node:fs/promises';
import ms, { type StringValue } from 'ms';
import { BatonError, whyOf } from '../domain/errors.js';
import { MAX_PORT } from '../server/ports.js';
import type { Json } from '../store/port.js';

const LONGEST_DURATION = 100;

/** Bytes of a file, or of standard input for `-`. */
export async function readInput(field: string, file: string): Promise<Buffer> {
  try {
    if (file !== '-') return await readFile(file);
    const chunks: Buffer[] = [];
    for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk as Uint8Array));
    return Buffer.concat(chunks);
  } catch (error) {
    const why = whyOf(error);
    const what = `\`${field}\` cannot be read (${why})`;
    throw BatonError.of('InvalidCommand', what, { field, file }, { cause: error });
  }
}

/** A text as it is, `@FILE` or `-`; untrimmed, since texts are stored as they are given. Absent stays absent. */
export async function textInput<T extends string | undefined>(field: string, value: T): Promise<T | string> {
  if (value === undefined) return value;
  if (value === '-') return decode(field, await readInput(field, '-'));
  if (value.startsWith('@')) return decode(field, await readInput(field, value.slice(1)));
  return value;
}

/** A JSON value, `@FILE` or `-`. Absent stays absent. */
export async function jsonInput(field: string, value: string | undefined): Promise<Json | undefined> {
  const text = await textInput(field, value);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw BatonError.of('InvalidCommand', `\`${field}\` is not JSON (${why}); quote texts: '"like this"'`, {
      field,
    });
  }
}

/** A duration like `10s` or `1500ms` in milliseconds; a bare number is seconds. */
export function durationInput(field: string, value: string): number {
  const time = /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : worded(value);
  if (typeof time === 'number' && Number.isFinite(time) && time > 0) return time;
  throw BatonError.of('InvalidCommand', `\`${field}\` must be a duration of more than 0, like 10s or 500ms`, {
    field,
    value,
  });
}

/** `ms` throws for an empty text and for a long one. */
const worded = (value: string): number | undefined =>
  value === '' || value.length > LONGEST_DURATION ? undefined : ms(value as StringValue);

/** A whole number. */
export function integerInput(field: string, value: string): number {
  if (/^\d{1,9}$/.test(value)) return Number(value);
  throw BatonError.of('InvalidCommand', `\`${field}\` must be a whole number`, { field, value });
}

/** A TCP port. */
export function portInput(field: string, value: string): number {
  const port = integerInput(field, value);
  if (port <= MAX_PORT) return port;
  throw BatonError.of('InvalidCommand', `\`${field}\` must be at most ${MAX_PORT}`, { field, value });
}

function decode(field: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw BatonError.of('InvalidCommand', `\`${field}\` is not UTF-8`, { field });
  }
}
