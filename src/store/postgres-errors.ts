/**
 * Tells a Postgres that does not answer (`StoreUnavailable`) from a mistake in our own SQL, which must not be retried.
 * Codes are SQLSTATE: https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
import { BatonError } from '../domain/errors.js';
import { unavailable } from './engine-errors.js';

/** Classes of mistakes in the program: feature, data, integrity, transaction state, raised by a rule, syntax. */
const PROGRAM_CLASSES = ['0A', '21', '22', '23', '25', '26', '34', '42', 'P0'];

/** In those classes, and yet not the program's fault. */
const NOT_THE_PROGRAM: Readonly<Record<string, string>> = {
  // The schema was checked at open: a table that is gone means that somebody replaced it under us.
  '42P01': 'a table of the store is gone',
  '42501': 'the user of the store may not do this',
  // A standby after a fail-over, and a session that was idle in its transaction for too long.
  '25006': 'the database is read-only',
  '25P03': 'the transaction took too long',
};

const SAID: Readonly<Record<string, string>> = {
  '55P03': 'another process holds what this waits for',
  '57014': 'the statement took too long',
  '40P01': 'two transactions waited for each other',
  '40001': 'another transaction was faster',
};

/**
 * @param error what the driver threw at a connection or a statement
 * @param location of the store, for the message
 * @returns the error to throw: `StoreUnavailable`, or the same error when it is a mistake of the program
 */
export function postgresError(error: unknown, location: string): unknown {
  if (error instanceof BatonError || !(error instanceof Error)) return error;
  const { code } = error as { code?: unknown };
  const sqlState = typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : null;
  if (sqlState === null) {
    // Anything else that the driver throws is about the connection: refused, reset, timed out. A TypeError is ours.
    if (error instanceof TypeError || error instanceof RangeError) return error;
    const what = error.message || (typeof code === 'string' ? code : error.name);
    return unavailable(`the database does not answer: ${what}`, error, {
      store: location,
      ...(typeof code === 'string' ? { engineCode: code } : {}),
    });
  }
  const other = NOT_THE_PROGRAM[sqlState];
  if (other === undefined && PROGRAM_CLASSES.includes(sqlState.slice(0, 2))) return error;
  const said = other ?? SAID[sqlState] ?? 'the store failed';
  return unavailable(`${said}: ${error.message}`, error, { store: location, engineCode: sqlState });
}
