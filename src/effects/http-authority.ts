/** The authority check of a control worker elsewhere, asked over HTTP. Whatever goes wrong on the way is never a yes. */
import pRetry from 'p-retry';
import { BatonError, ERROR_CODES } from '../domain/errors.js';
import type { AuthorityCheck, Purpose } from './check.js';
import type { Fence } from '../store/port.js';
import { errorOfAnswer } from './http.js';
import { peekAuthority } from './token.js';

export interface HttpAuthorityOptions {
  /** Longest time for an answer, all tries together, in milliseconds. Default 10,000. */
  readonly timeoutMs?: number;
}

/**
 * @param url base address of the endpoint (`baton worker --authority-port`), for example `http://127.0.0.1:7300`; may have a
 *   path, when a proxy stands before it
 * @returns the check. It tries again while the answer is that it cannot be told, or there is none; then `AuthorityUnsettled`
 * @throws BatonError `InvalidCommand` for what is no HTTP address
 */
export function httpAuthority(
  url: string,
  { timeoutMs = 10_000 }: HttpAuthorityOptions = {},
): AuthorityCheck {
  const endpoint = endpointOf(url);
  return async (token, { purpose = 'act', signal } = {}) => {
    const claimed = peekAuthority(token);
    const late = AbortSignal.timeout(timeoutMs);
    const until = signal ? AbortSignal.any([late, signal]) : late;
    try {
      return await pRetry(() => ask(endpoint, { token, purpose }, claimed, until), {
        retries: Number.POSITIVE_INFINITY,
        minTimeout: 50,
        maxTimeout: 1_000,
        randomize: true,
        signal: until,
        shouldRetry: ({ error }) => error instanceof BatonError && ERROR_CODES[error.code].retry,
      });
    } catch (error) {
      if (error instanceof BatonError && !until.aborted) throw error;
      throw unsettled(endpoint, error);
    }
  };
}

function endpointOf(url: string): URL {
  const base = URL.canParse(url) ? new URL(url) : null;
  if (base?.protocol !== 'http:' && base?.protocol !== 'https:')
    throw BatonError.of('InvalidCommand', '`url` must be the http address of an authority check', {
      field: 'url',
      value: url,
    });
  return new URL(`${base.pathname.replace(/\/+$/, '')}/authority`, base);
}

async function ask(
  endpoint: URL,
  body: { readonly token: string; readonly purpose: Purpose },
  claimed: Fence,
  signal: AbortSignal,
): Promise<Fence> {
  let status: number;
  let answer: unknown;
  try {
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      // A redirect would be followed to whoever it names, and believed.
      redirect: 'error',
      signal,
    });
    status = response.status;
    answer = await response.json();
  } catch (error) {
    throw unsettled(endpoint, error);
  }
  if (status === 200 && isFence(answer, claimed)) return claimed;
  throw errorOfAnswer(answer) ?? unsettled(endpoint, `it answered ${status} with something else`);
}

/** Not any 200 is a yes: only one about the fence that was asked for. */
function isFence(answer: unknown, claimed: Fence): boolean {
  const fence = (answer as { fence?: Partial<Fence> } | null)?.fence;
  return (
    fence?.tenant === claimed.tenant &&
    fence.run === claimed.run &&
    fence.slot === claimed.slot &&
    fence.attempt === claimed.attempt &&
    fence.epoch === claimed.epoch
  );
}

function unsettled(endpoint: URL, cause: unknown): BatonError {
  if (cause instanceof BatonError && cause.code === 'AuthorityUnsettled') return cause;
  const why =
    cause instanceof Error
      ? cause.cause instanceof Error
        ? cause.cause.message
        : cause.message
      : String(cause);
  const what = `the authority check did not answer: ${why}`;
  return BatonError.of('AuthorityUnsettled', what, { url: endpoint.href }, { cause });
}
