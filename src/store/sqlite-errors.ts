/** Tells a SQLite that does not answer (`StoreUnavailable`) from a mistake in our own SQL, which must not be retried. */
import Database from 'better-sqlite3';
import { BatonError } from '../domain/errors.js';
import { unavailable } from './engine-errors.js';

/** Codes of mistakes in the program; repeating the statement can never help. */
const PROGRAM_ERRORS = [
  'SQLITE_ERROR',
  'SQLITE_CONSTRAINT',
  'SQLITE_MISUSE',
  'SQLITE_RANGE',
  'SQLITE_MISMATCH',
  'SQLITE_TOOBIG',
];

export const isBusy = (error: unknown): boolean =>
  error instanceof Database.SqliteError && /^SQLITE_(BUSY|LOCKED)/.test(error.code);

/**
 * @param error what the engine threw
 * @param location file of the store, for the message
 * @returns the error to throw: `StoreUnavailable`, or the same error when it is a mistake of the program
 */
export function sqliteError(error: unknown, location: string): unknown {
  if (error instanceof BatonError) return error;
  if (error instanceof Database.SqliteError) {
    // The schema was checked at open: a table that is gone means that somebody replaced the file under us.
    const replaced = /^no such table/.test(error.message);
    if (!replaced && PROGRAM_ERRORS.some((code) => error.code === code || error.code.startsWith(`${code}_`)))
      return error;
    const busy = isBusy(error)
      ? 'another process holds the store locked'
      : `the store failed: ${error.message}`;
    return unavailable(busy, error, { store: location, engineCode: error.code });
  }
  return error;
}
