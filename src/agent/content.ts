/** What can be saved: JSON, text, bytes, a stream or a file; each as pieces of bytes, with its media type. */
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { BatonError } from '../domain/errors.js';
import type { Chunks } from '../store/blob-port.js';
import { canonicalJson } from '../store/canonical.js';
import type { Json } from '../store/port.js';

/** Largest result of a step, and largest checkpoint, in bytes: they are held in memory as one JSON text. */
export const MAX_VALUE_BYTES = 16 * 1024 * 1024;

export type Content = Json | Uint8Array | Readable;

export interface Encoded {
  readonly mediaType: string;
  /** The bytes as one piece, or what opens them; `again` when they can be read a second time. */
  readonly bytes: Uint8Array | { open(): Chunks; readonly again: boolean };
}

/**
 * Text and JSON as UTF-8; `InvalidCommand` for what is none of these.
 *
 * @param input `file`: a path, read piece by piece; a file that cannot be read fails the save with Node's own error
 */
export function encoded(input: { content?: Content; file?: string; mediaType?: string }): Encoded {
  const { content, file, mediaType } = input;
  if ((content === undefined) === (file === undefined)) {
    throw BatonError.of('InvalidCommand', 'exactly one of `content` and `file` must be given', {
      field: 'content',
    });
  }
  if (file !== undefined)
    return { mediaType: mediaType ?? BINARY, bytes: { open: () => createReadStream(file), again: true } };
  if (content instanceof Uint8Array) return { mediaType: mediaType ?? BINARY, bytes: content };
  if (content instanceof Readable)
    return { mediaType: mediaType ?? BINARY, bytes: { open: () => pieces(content), again: false } };
  if (typeof content === 'string')
    return { mediaType: mediaType ?? 'text/plain; charset=utf-8', bytes: new TextEncoder().encode(content) };
  return { mediaType: mediaType ?? JSON_TYPE, bytes: jsonBytes(content) };
}

/**
 * Does what takes a stream. What the stream says before anybody reads it must not end the process (an `error` nobody listens
 * for does): its reader is told. When the work is refused the stream is closed, as what it reads from would stay open.
 */
export async function withSource<T>(source: unknown, work: () => Promise<T>): Promise<T> {
  if (!(source instanceof Readable)) return work();
  source.on('error', () => undefined);
  try {
    return await work();
  } catch (error) {
    source.destroy();
    throw error;
  }
}

const BINARY = 'application/octet-stream';
export const JSON_TYPE = 'application/json';

/** A stream of text (`setEncoding`, `Readable.from(['…'])`) gives strings; objects are refused. */
async function* pieces(stream: Readable): AsyncGenerator<Uint8Array> {
  for await (const piece of stream as AsyncIterable<unknown>) {
    if (piece instanceof Uint8Array) yield piece;
    else if (typeof piece === 'string') yield Buffer.from(piece, 'utf8');
    else
      throw BatonError.of('InvalidCommand', '`content` must be a stream of bytes or text', {
        field: 'content',
      });
  }
}

/** Canonical JSON as UTF-8; `InvalidCommand` for what is no JSON. */
export const jsonBytes = (value: unknown): Uint8Array =>
  new TextEncoder().encode(canonicalJson(value ?? null));

/** {@link jsonBytes} of a value that is kept whole in memory: `TooLarge` beyond 16 MiB. */
export function valueBytes(field: string, value: unknown): Uint8Array {
  const bytes = jsonBytes(value);
  if (bytes.byteLength <= MAX_VALUE_BYTES) return bytes;
  const facts = { field, size: bytes.byteLength, limit: MAX_VALUE_BYTES, unit: 'bytes' };
  throw BatonError.of('TooLarge', `\`${field}\` is too large`, facts);
}
