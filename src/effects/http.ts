/**
 * JSON over HTTP as the authority check's endpoint and an owner's middleware speak it: bounded bodies, errors as
 * `{"error":{"code","message","details"}}` with a status that says whether to try again. Node's own `http`, no framework.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { BatonError, ERROR_CODES, isErrorCode, type ErrorCode } from '../domain/errors.js';

/** Requests and answers of Express and of plain `http` alike; `body` where a body parser came first. */
export type Request = IncomingMessage & { readonly body?: unknown };

const STATUS: Partial<Record<ErrorCode, number>> = {
  InvalidCommand: 400,
  StaleLease: 403,
  RunNotFound: 404,
  TooLarge: 413,
  Internal: 500,
};

/** 503 is for what may succeed when tried again, 409 for what a rule refuses. */
function statusOfCode(code: ErrorCode): number {
  return STATUS[code] ?? (ERROR_CODES[code].retry ? 503 : 409);
}

/** Path of a request; what is no address (`//`) as it came, since a request must never throw where nobody waits for it. */
export function pathOf(url: string | undefined): string {
  const address = url ?? '/';
  return URL.canParse(address, 'http://localhost') ? new URL(address, 'http://localhost').pathname : address;
}

/**
 * The body as JSON.
 *
 * @param limit most bytes
 * @throws BatonError `InvalidCommand`, `TooLarge`
 */
export async function readJson(request: Request, limit: number): Promise<unknown> {
  if (request.body !== undefined) return request.body;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > limit)
      throw BatonError.of('TooLarge', 'the request body is too large', { limit, unit: 'bytes' });
    chunks.push(chunk);
  }
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)));
  } catch {
    throw BatonError.of('InvalidCommand', 'the request body is not JSON', { field: 'body' });
  }
}

/** The body as an object with none but the given fields. @throws BatonError as {@link readJson} */
export async function readFields(
  request: Request,
  limit: number,
  known: readonly string[],
): Promise<Readonly<Record<string, unknown>>> {
  const value = await readJson(request, limit);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw BatonError.of('InvalidCommand', 'the request body is no JSON object', { field: 'body' });
  const unknown = Object.keys(value).find((field) => !known.includes(field));
  if (unknown !== undefined)
    throw BatonError.of('InvalidCommand', `there is no field \`${unknown}\``, { field: unknown });
  return value as Readonly<Record<string, unknown>>;
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  if (response.headersSent || response.destroyed) return;
  const body = Buffer.from(JSON.stringify(value), 'utf8');
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': body.length,
    'cache-control': 'no-store',
    ...(status === 503 ? { 'retry-after': '1' } : {}),
    // What is left of a body that nobody reads must not be taken for the next request.
    ...(status === 413 ? { connection: 'close' } : {}),
  });
  response.end(body);
}

/**
 * Anything but a `BatonError` is `Internal`, and its text stays here: it may hold what a caller must not see.
 *
 * @param status default: that of the error's code
 */
export function sendError(response: ServerResponse, error: unknown, status?: number): void {
  const known = errorIn(error) ?? BatonError.of('Internal', 'the request failed');
  const { code, message, details } = known;
  sendJson(response, status ?? statusOfCode(code), { error: { code, message, details } });
}

/** By its fields: errors of another copy of this package are no instances of this one's class. */
function errorIn(error: unknown): BatonError | null {
  return (error as Partial<BatonError> | null | undefined)?.name === 'BatonError' ? toError(error) : null;
}

/**
 * The error in an answer that {@link sendError} wrote, wherever it comes from: a proxy may have put its own in the place of it.
 *
 * @param answer the body, parsed
 * @returns null for anything else
 */
export const errorOfAnswer = (answer: unknown): BatonError | null =>
  toError((answer as { readonly error?: unknown } | null | undefined)?.error);

function toError(value: unknown): BatonError | null {
  const { code, message, details } = (value ?? {}) as Partial<
    Record<'code' | 'message' | 'details', unknown>
  >;
  if (!isErrorCode(code) || typeof message !== 'string') return null;
  return new BatonError(
    code,
    message,
    typeof details === 'object' && details !== null ? (details as BatonError['details']) : {},
  );
}
