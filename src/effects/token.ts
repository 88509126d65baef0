/**
 * Authority tokens: what a worker shows to an effect owner. `ba1.<fence>.<HMAC(store key, …)>`, opaque to the worker. The
 * token says on whose behalf an effect is asked for, signed by the store; whether that attempt may still act is never in it,
 * which is why owners ask the authority check. The text that is signed starts with the version and has no line break, so no
 * lease token (`src/client/token.ts`) is ever one of these.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { BatonError } from '../domain/errors.js';
import { checkId } from '../domain/text.js';
import { canonicalJson } from '../store/canonical.js';
import type { Fence } from '../store/port.js';

const VERSION = 'ba1';
/** Four ids of 128 characters, an epoch and a signature fit twice. Longer text is not looked at. */
const MAX_LENGTH = 2_048;
const FIELDS = ['attempt', 'epoch', 'run', 'slot', 'tenant'];

const signature = (key: Uint8Array, signed: string): Buffer =>
  createHmac('sha256', key).update(signed).digest();

/**
 * @param storeKey secret of the store, from `store.key()`
 * @returns the token of an attempt; the same each time
 */
export function authorityToken(storeKey: Uint8Array, { tenant, run, slot, attempt, epoch }: Fence): string {
  const fence = canonicalJson({ tenant, run, slot, attempt, epoch });
  const signed = `${VERSION}.${Buffer.from(fence, 'utf8').toString('base64url')}`;
  return `${signed}.${signature(storeKey, signed).toString('base64url')}`;
}

/**
 * The fence that a genuine token names. Says nothing about whether the attempt may still act: see `authorityCheck`.
 *
 * @throws BatonError `StaleLease` when the token was not made with this key, or is not a token at all
 */
export function readAuthority(storeKey: Uint8Array, token: string): Fence {
  let fence: Fence;
  try {
    fence = peekAuthority(token);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw BatonError.of('StaleLease', `the authority token is not one: ${why}`);
  }
  // Compared as bytes: base64 would read several texts as the same signature.
  const [shown, right] = [Buffer.from(token, 'utf8'), Buffer.from(authorityToken(storeKey, fence), 'utf8')];
  if (shown.length !== right.length || !timingSafeEqual(shown, right)) {
    const { run, slot, attempt } = fence;
    throw BatonError.of('StaleLease', 'the authority token was not made by this store', {
      run,
      slot,
      attempt,
    });
  }
  return fence;
}

/**
 * The fence that a token claims to name, unverified: for owners that have no store key and ask the authority check of the
 * store's own side before they believe it.
 *
 * @throws BatonError `InvalidCommand` when it has not the form of a token
 */
export function peekAuthority(token: string): Fence {
  const malformed = (why: string): BatonError =>
    BatonError.of('InvalidCommand', `\`authority\` must be the token that an effect's call carries: ${why}`, {
      field: 'authority',
    });
  if (typeof token !== 'string') throw malformed('it is no text');
  if (token.length > MAX_LENGTH) throw malformed(`it is longer than ${MAX_LENGTH} characters`);
  const [version, payload, mac, ...rest] = token.split('.');
  if (version !== VERSION || !payload || !mac || rest.length > 0) throw malformed('it has another form');
  const fence = decode(payload);
  if (!fence) throw malformed('it names no attempt');
  return fence;
}

/** Null unless the payload is exactly what {@link authorityToken} writes for some fence. */
function decode(payload: string): Fence | null {
  try {
    const text = Buffer.from(payload, 'base64url').toString('utf8');
    const value = JSON.parse(text) as Fence;
    const canonical = canonicalJson(value);
    const exact = Buffer.from(canonical, 'utf8').toString('base64url') === payload;
    if (!exact || Object.keys(value).sort().join() !== FIELDS.join()) return null;
    for (const field of ['tenant', 'run', 'slot', 'attempt'] as const) checkId(field, value[field]);
    return Number.isSafeInteger(value.epoch) && value.epoch > 0 ? value : null;
  } catch {
    return null;
  }
}
