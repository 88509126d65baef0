/**
 * One form of JSON and one digest for everything that is pinned or compared (RFC 8785, sha256).
 * Digests are lower-case hex without a prefix; renderers add `sha256:`.
 */
import { createHash } from 'node:crypto';
import canonicalizeModule from 'canonicalize';
import { BatonError } from '../domain/errors.js';

// The library is CommonJS with an ES `default` in its types only: at run time the module is the function itself.
const canonicalize = canonicalizeModule as unknown as (value: unknown) => string | undefined;

/** JSON.stringify writes a lone surrogate, and nothing else, as an unescaped `\ud…` in lower case. */
const LONE_SURROGATE = /(?<!\\)(?:\\\\)*\\ud[89a-f][0-9a-f]{2}/;

/**
 * @param value any JSON value; `undefined` members are left out, as JSON.stringify does
 * @returns the RFC 8785 text: equal values give equal text
 * @throws BatonError `InvalidCommand` for what has no such text: undefined, NaN, infinities, bigint, cycles, lone surrogates, and
 *   for functions and holes in lists anywhere inside
 */
export function canonicalJson(value: unknown): string {
  let text: string | undefined;
  try {
    text = canonicalize(value);
  } catch (error) {
    const why = error instanceof RangeError ? 'nested too deeply or without end' : (error as Error).message;
    throw BatonError.of('InvalidCommand', `the value is not JSON: ${why}`);
  }
  if (text === undefined) throw BatonError.of('InvalidCommand', `the value is not JSON: ${typeof value}`);
  if (!isJson(text)) {
    throw BatonError.of('InvalidCommand', 'the value is not JSON: it holds a function, or a list with holes');
  }
  if (LONE_SURROGATE.test(text)) {
    throw BatonError.of(
      'InvalidCommand',
      'the value has text with a lone surrogate, which has no UTF-8 form',
    );
  }
  return text;
}

/** The library writes `undefined` or nothing for such members: text that nobody could read back once it is stored. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** @returns sha256 in lower-case hex; a string is hashed as its UTF-8 bytes. */
export function sha256(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** @returns sha256 of the value's canonical JSON, lower-case hex. Throws as {@link canonicalJson}. */
export function digestOf(value: unknown): string {
  return sha256(canonicalJson(value));
}
