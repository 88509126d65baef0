/** How the command line fails: one error document, one exit code by the table of codes. */
import type { CommanderError } from 'commander';
import { BatonError, ERROR_CODES, isErrorCode } from '../domain/errors.js';

/** Commander's ways to end that are no error: help and version were asked for. */
const ASKED_FOR = new Set(['commander.help', 'commander.helpDisplayed', 'commander.version']);

export const isAskedFor = (error: unknown): boolean => isCommanderError(error) && ASKED_FOR.has(error.code);

export const isCommanderError = (error: unknown): error is CommanderError =>
  error instanceof Error &&
  typeof (error as { code?: unknown }).code === 'string' &&
  (error as CommanderError).code.startsWith('commander.');

/** Anything thrown as a BatonError. Errors of another copy of the package are told by their code. */
export function asBatonError(error: unknown): BatonError {
  if (error instanceof BatonError) return error;
  if (isCommanderError(error)) {
    const said = error.message
      .replace(/^error: /, '')
      .replace(/\s*\n\s*(?=\(Did you mean)/, ' ')
      .replace(/\s*\n.*$/s, '')
      .replace(/\.$/, '');
    return new BatonError(
      'InvalidCommand',
      `${said}. See \`${(error as { usage?: string }).usage ?? 'baton'} --help\`.`,
      { field: fieldIn(said) },
      { cause: error },
    );
  }
  if (error instanceof Error) {
    const { code, details } = error as { code?: unknown; details?: unknown };
    if (isErrorCode(code))
      return new BatonError(code, error.message, isRecord(details) ? details : {}, { cause: error });
    return new BatonError('Internal', error.message, {}, { cause: error });
  }
  return new BatonError('Internal', String(error));
}

export const exitCodeOf = (error: BatonError): number => ERROR_CODES[error.code].exit;

export const errorDocument = ({ code, message, details }: BatonError): object => ({
  error: { code, message, details },
});

const fieldIn = (text: string): string | null => /'([^']+)'/.exec(text)?.[1] ?? null;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
