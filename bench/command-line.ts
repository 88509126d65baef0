/** What the commands of the labs (benchmarks, fault matrix) share: a checked option, a checked output file, progress. */
import { access, constants } from 'node:fs/promises';
import path from 'node:path';
import { InvalidArgumentError, type Command } from 'commander';

/**
 * Before the minutes of work, not after them: ends the command unless the file's folder can be written to.
 *
 * @param option named in the error, if it was one option's file
 */
export async function checkWritable(
  file: string | undefined,
  command: Command,
  option?: string,
): Promise<void> {
  if (file === undefined) return;
  const folder = path.dirname(path.resolve(file));
  await access(folder, constants.W_OK).catch(() =>
    command.error(`error: ${option ? `${option}: ` : ''}there is no writable folder ${folder}`),
  );
}

/** On stderr: stdout is for the result. */
export function onProgress(message: string): void {
  process.stderr.write(`${message}\n`);
}

/** An option's whole number from 1. */
export function count(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new InvalidArgumentError('It must be a whole number from 1.');
  return value;
}
