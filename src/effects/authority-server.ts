/**
 * The authority check as an HTTP endpoint of the control worker, for effect owners in other processes:
 * `POST /authority {"token","purpose"?}` answers 200 `{"fence"}` for a yes, 403 for a no, 503 for what cannot be told now;
 * `GET /health` answers 200. A token is all that a caller shows and a fence all that it learns, which the token holds anyway,
 * so that there is no secret here; still it listens on this machine alone unless told otherwise.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BatonError } from '../domain/errors.js';
import type { AuthorityCheck, Purpose } from './check.js';
import { pathOf, readFields, sendError, sendJson } from './http.js';

/** A token has at most 2,048 characters. */
const BODY_LIMIT = 8_192;
const HEADERS_MS = 5_000;
const BODY_MS = 10_000;
/** How long calls that are answered already may take to be read at the end. */
const CLOSE_GRACE_MS = 2_000;

export interface AuthorityServerOptions {
  readonly check: AuthorityCheck;
  /** 0 takes a free one. */
  readonly port: number;
  /** Default `127.0.0.1`. */
  readonly host?: string;
}

export interface AuthorityServer {
  /** Base address, for `httpAuthority`. */
  readonly url: string;
  /** Ends it: checks that wait are answered 503. Any number of times. */
  close(): Promise<void>;
}

/**
 * Starts the endpoint.
 *
 * @throws BatonError `InvalidCommand` when it cannot listen there
 */
export async function startAuthorityServer(options: AuthorityServerOptions): Promise<AuthorityServer> {
  const { check, port, host = '127.0.0.1' } = options;
  const closing = new AbortController();
  const server = createServer(
    { headersTimeout: HEADERS_MS, requestTimeout: BODY_MS },
    (request, response) => {
      answer(check, closing.signal, request, response).catch((error: unknown) => sendError(response, error));
    },
  );
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      const what = `the authority endpoint cannot listen: ${error.message}`;
      reject(BatonError.of('InvalidCommand', what, { field: 'authority', host, port }, { cause: error }));
    });
    server.listen(port, host, resolve);
  });
  const { port: taken } = server.address() as AddressInfo;
  let closed: Promise<void> | undefined;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}`,
    close: () =>
      (closed ??= new Promise<void>((resolve) => {
        closing.abort();
        server.close(() => resolve());
        server.closeIdleConnections();
        setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS).unref();
      })),
  };
}

async function answer(
  check: AuthorityCheck,
  closing: AbortSignal,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const pathname = pathOf(request.url);
  const expected = pathname === '/authority' ? 'POST' : pathname === '/health' ? 'GET' : null;
  const notHere = (status: number, what: string): void =>
    sendError(response, BatonError.of('InvalidCommand', what, { method: request.method, pathname }), status);
  if (expected === null) return notHere(404, 'there is nothing at this path');
  if (request.method !== expected) {
    response.setHeader('allow', expected);
    return notHere(405, `${pathname} takes ${expected} only`);
  }
  if (pathname === '/health') return sendJson(response, 200, { ok: true });
  const { token, purpose = 'act' } = await readFields(request, BODY_LIMIT, ['token', 'purpose']);
  if (typeof token !== 'string')
    throw BatonError.of('InvalidCommand', '`token` must be an authority token', { field: 'token' });
  if (!isPurpose(purpose))
    throw BatonError.of('InvalidCommand', '`purpose` must be act or withdraw', { field: 'purpose' });
  // Whoever has hung up waits for no answer.
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const fence = await check(token, { purpose, signal: AbortSignal.any([closing, gone.signal]) });
  sendJson(response, 200, { fence });
}

const isPurpose = (value: unknown): value is Purpose => value === 'act' || value === 'withdraw';
