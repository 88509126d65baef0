/**
 * The kit as HTTP middleware, for plain `http` and for Express: `POST <path>` does an effect, `POST <path>/lookup` asks about
 * one, `POST <path>/cancel` and `/withdraw` stop one. Bodies are `{authority, key, request?}`, answers the state on record; a refusal is
 * `{"error":{"code",…}}` with 403 (no authority), 409 (another request under the key) or 503 (try again).
 */
import type { ServerResponse } from 'node:http';
import { BatonError } from '../../domain/errors.js';
import type { Json } from '../../store/port.js';
import { pathOf, readFields, sendError, sendJson, type Request } from '../http.js';
import type { Mode } from './engines.js';
import type { EffectOwner, EffectRequest, Stop, Work } from './owner.js';
import type { EffectRef } from './protocol.js';

/** Exactly one of `commit` and `accept`; the work gets the request as it came, for the owner to check. */
export interface EffectRoutesOptions<Trx, M extends Mode> {
  readonly owner: EffectOwner<Trx, M>;
  /** Of the whole URL, also where Express mounts it further down. Default `/effects`. */
  readonly path?: string;
  /** Does the effect and returns its receipt. */
  readonly commit?: RequestWork<Trx, M>;
  /** Begins it and returns the handle to poll by. */
  readonly accept?: RequestWork<Trx, M>;
  /** Stops what was begun. Without it there is neither `/cancel` nor `/withdraw`. */
  readonly cancel?: Stop<Trx>;
  /** Most bytes of a request's body. Default 256 KiB. */
  readonly bodyLimit?: number;
  /** Told of errors that are not the caller's; the caller sees `Internal` and no more. Default: nobody. */
  readonly onError?: (error: unknown) => void;
}

export type RequestWork<Trx, M extends Mode> = (
  trx: Trx,
  request: Json,
  effect: EffectRef,
) => ReturnType<Work<Trx, M>>;

/** Answers what is under its path; the rest goes to `next`, or is 404 without one. */
export type Middleware = (
  request: Request,
  response: ServerResponse,
  next?: (error?: unknown) => void,
) => void;

/** @throws BatonError `InvalidCommand` unless one of `commit` and `accept` is given */
export function effectRoutes<Trx, M extends Mode>(options: EffectRoutesOptions<Trx, M>): Middleware {
  const { owner, path = '/effects', commit, accept, cancel, bodyLimit = 256 * 1024, onError } = options;
  if ((commit === undefined) === (accept === undefined))
    throw BatonError.of('InvalidCommand', 'give either `commit` or `accept`', { field: 'commit' });

  const begin = (call: EffectRequest) => {
    const work =
      (given: RequestWork<Trx, M>): Work<Trx, M> =>
      (trx, effect) =>
        given(trx, call.request, effect);
    return commit
      ? owner.commit(call, work(commit))
      : owner.accept(call, work(accept as RequestWork<Trx, M>));
  };
  const routes = new Map<string, (request: Request) => Promise<unknown>>([
    [
      '',
      async (request) => {
        const { authority, key, ...rest } = await fields(request, ['authority', 'key', 'request']);
        return begin({ authority, key, request: rest['request'] as Json });
      },
    ],
    ['/lookup', async (request) => owner.lookup(await fields(request, ['authority', 'key']))],
  ]);
  if (cancel) {
    const called = (request: Request) => fields(request, ['authority', 'key']);
    routes.set('/cancel', async (request) => owner.cancel(await called(request), cancel));
    routes.set('/withdraw', async (request) => owner.withdraw(await called(request), cancel));
  }

  async function fields(request: Request, known: readonly string[]) {
    const body = await readFields(request, bodyLimit, known);
    const missing = known.find((field) => body[field] === undefined);
    if (missing !== undefined)
      throw BatonError.of('InvalidCommand', `\`${missing}\` is missing`, { field: missing });
    // `owner` checks the key, and the authority check its token.
    return body as { authority: string; key: string } & Record<string, unknown>;
  }

  return (request, response, next) => {
    // Express cuts the path at which it mounts a middleware off `url`, and keeps the whole of it.
    const pathname = pathOf((request as { originalUrl?: string }).originalUrl ?? request.url);
    const notHere = (status: number, what: string): void =>
      sendError(response, BatonError.of('InvalidCommand', what, { pathname }), status);
    const route = pathname.startsWith(path) ? routes.get(pathname.slice(path.length)) : undefined;
    if (!route) {
      if (next) return next();
      return notHere(404, 'there is nothing at this path');
    }
    if (request.method !== 'POST') {
      response.setHeader('allow', 'POST');
      return notHere(405, 'it takes POST only');
    }
    route(request).then(
      (answer) => sendJson(response, 200, answer),
      (error: unknown) => {
        if ((error as Partial<BatonError> | null)?.name !== 'BatonError') onError?.(error);
        sendError(response, error);
      },
    );
  };
}
