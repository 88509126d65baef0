/** Words an engine or a medium that does not answer as `StoreUnavailable`; which errors mean that is each engine's own file. */
import { BatonError } from '../domain/errors.js';

/** @returns a `StoreUnavailable` whose message has the engine's own words; `cause` is the engine's error. */
export function unavailable(what: string, cause?: unknown, facts: Record<string, unknown> = {}): BatonError {
  const { message } = BatonError.of('StoreUnavailable', what, facts);
  return new BatonError('StoreUnavailable', message, facts, cause === undefined ? undefined : { cause });
}

/** For the file system under the blobs. `ENOENT` is for the caller to judge first. */
export function fileError(error: unknown, path: string): unknown {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  return typeof code === 'string'
    ? unavailable(`the store's files failed: ${(error as Error).message}`, error, { path })
    : error;
}
