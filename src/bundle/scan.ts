/** Reads what lies in a bundle's folder. It comes from anybody: what is no regular file is told and never followed. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { BatonError, whyOf } from '../domain/errors.js';
import type { Problems } from './problems.js';

/** Larger files are no records of ours, and must not fill the memory of who checks them. */
const MOST_READ = 400 * 1024 * 1024;

/** Sizes of all files by path, relative and with slashes. @throws BatonError `InvalidCommand` when it is no folder */
export async function filesIn(folder: string, problems: Problems): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  const waiting = [''];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    for (const entry of await entriesIn(folder, at)) {
      const file = at === '' ? entry.name : `${at}/${entry.name}`;
      if (entry.isDirectory()) waiting.push(file);
      else if (entry.isFile()) {
        const size = await orProblem(file, problems, sizeOf(path.join(folder, file)));
        if (size !== null) found.set(file, size);
      } else problems.add('extra', file, 'is neither a file nor a folder');
    }
  }
  return found;
}

const sizeOf = async (file: string): Promise<number> => (await stat(file)).size;

/** What is in the folder itself. @throws BatonError `InvalidCommand` when it is no folder */
export const namesIn = async (folder: string): Promise<readonly string[]> =>
  (await entriesIn(folder, '')).map(({ name }) => name);

async function entriesIn(folder: string, at: string) {
  try {
    return await readdir(path.join(folder, at), { withFileTypes: true });
  } catch (error) {
    const why = whyOf(error);
    const facts = { field: 'bundle', path: path.join(folder, at) };
    throw BatonError.of('InvalidCommand', `no folder that can be read (${why})`, facts, { cause: error });
  }
}

/** Null, and a problem, for a file that is too large to be what it should be or cannot be read. */
export async function bytesIn(
  folder: string,
  file: string,
  size: number,
  problems: Problems,
): Promise<Buffer | null> {
  if (size > MOST_READ) {
    problems.add('malformed', file, `is larger than such a file may be: ${size} bytes`);
    return null;
  }
  return orProblem(file, problems, readFile(path.join(folder, file)));
}

/** sha256 of a file of any size, or null and a problem. */
export function digestIn(folder: string, file: string, problems: Problems): Promise<string | null> {
  const hashed = async (): Promise<string> => {
    const hash = createHash('sha256');
    for await (const piece of createReadStream(path.join(folder, file))) hash.update(piece as Buffer);
    return hash.digest('hex');
  };
  return orProblem(file, problems, hashed());
}

async function orProblem<T>(file: string, problems: Problems, work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    problems.add('malformed', file, `cannot be read (${whyOf(error)})`);
    return null;
  }
}
