/**
 * Lease tokens: what an outside holder shows for its authority. `<attempt>.<HMAC(store key, attempt, command id)>`, computed
 * when asked for, so that a claim whose answer was lost gives the same token again and none is kept in history.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

const hmac = (key: Uint8Array, attempt: string, commandId: string): Buffer =>
  createHmac('sha256', key).update(`${attempt}\n${commandId}`).digest();

export function leaseToken(key: Uint8Array, attempt: string, commandId: string): string {
  return `${attempt}.${hmac(key, attempt, commandId).toString('base64url')}`;
}

/** Attempt that a token names, or null when it has not the form of one. Says nothing about whether it is genuine. */
export function attemptOfToken(token: string): string | null {
  const dot = token.lastIndexOf('.');
  return dot > 0 && dot < token.length - 1 ? token.slice(0, dot) : null;
}

/** True when the token was made with this key for this attempt and claim command. */
export function isGenuine(key: Uint8Array, token: string, attempt: string, commandId: string): boolean {
  const shown = Buffer.from(token.slice(token.lastIndexOf('.') + 1), 'base64url');
  const right = hmac(key, attempt, commandId);
  return (
    shown.length === right.length &&
    timingSafeEqual(shown, right) &&
    token === leaseToken(key, attempt, commandId)
  );
}
