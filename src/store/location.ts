/** Reads a store's address: which engine, and where. */
import path from 'node:path';
import { BatonError } from '../domain/errors.js';

const FORMS =
  '`sqlite:./file.db` (from the working directory), `sqlite:/absolute/file.db` or `sqlite::memory:`';

/**
 * @param url what `--store`, `BATON_STORE` or the option `store` says
 * @returns absolute path of the file, or `:memory:`
 * @throws BatonError `InvalidCommand` naming the field and the accepted forms
 */
export function sqliteFile(url: string): string {
  const refuse = (why: string): BatonError =>
    // The address is not repeated whole: one for another engine may carry a password.
    BatonError.of('InvalidCommand', `store: ${why}; accepted are ${FORMS}`, { field: 'store' });
  if (typeof url !== 'string' || url === '') throw refuse('no address is given');
  if (/^postgres(ql)?:/i.test(url))
    throw refuse('Postgres is not supported by this version yet, it comes later');
  if (!url.startsWith('sqlite:')) throw refuse('the address names no engine that is known');
  const file = url.slice('sqlite:'.length);
  if (file === ':memory:') return file;
  if (file === '' || file.includes('\0')) throw refuse('the address names no file');
  if (file.startsWith(':')) throw refuse(`"${file}" is not a file`);
  if (file.startsWith('//')) throw refuse('the path must not begin with two slashes');
  if (file.endsWith('/')) throw refuse('the address names a directory');
  return path.resolve(file);
}
