/** Reads a store's address: which engine, and where. What it says of an address never has the password in it. */
import path from 'node:path';
import { BatonError } from '../domain/errors.js';

const FORMS =
  '`sqlite:./file.db` (from the working directory), `sqlite:/absolute/file.db`, `sqlite::memory:` or `postgresql://user@host:5432/database`';

export interface PostgresPlace {
  readonly engine: 'postgres';
  /** For the driver, without this package's own options. A secret. */
  readonly url: string;
  /** For people. */
  readonly location: string;
  /** Most connections that one open store has; default 10. */
  readonly poolSize: number;
  /** How long a statement may take; default 15 s. */
  readonly statementTimeoutMs: number;
  /** How long a connection may take, a free one of the pool too; default 5 s. */
  readonly connectTimeoutMs: number;
}

export type StorePlace =
  { readonly engine: 'sqlite'; /** Absolute, or `:memory:`. */ readonly file: string } | PostgresPlace;

/** This package's own options of a Postgres address: default, least and most. The driver's pass. */
const OPTIONS = {
  poolSize: [10, 1, 1_000],
  statementTimeoutMs: [15_000, 100, 3_600_000],
  connectTimeoutMs: [5_000, 100, 600_000],
} as const;

/** The address is not repeated whole: it may carry a password. */
const refuse = (why: string): BatonError =>
  BatonError.of('InvalidCommand', `store: ${why}; accepted are ${FORMS}`, { field: 'store' });

const isPostgres = (url: string): boolean => /^postgres(ql)?:/i.test(url);

/**
 * @param url what `--store`, `BATON_STORE` or the option `store` says
 * @throws BatonError `InvalidCommand` naming the field and the accepted forms
 */
export function storePlace(url: string): StorePlace {
  if (typeof url !== 'string' || url === '') throw refuse('no address is given');
  if (isPostgres(url)) return postgresPlace(url);
  if (!url.startsWith('sqlite:')) throw refuse('the address names no engine that is known');
  const file = url.slice('sqlite:'.length);
  if (file === ':memory:') return { engine: 'sqlite', file };
  if (file === '' || file.includes('\0')) throw refuse('the address names no file');
  if (file.startsWith(':')) throw refuse(`"${file}" is not a file`);
  if (file.startsWith('//')) throw refuse('the path must not begin with two slashes');
  if (file.endsWith('/')) throw refuse('the address names a directory');
  return { engine: 'sqlite', file: path.resolve(file) };
}

/** @returns the address as it may be shown: help texts, logs */
export function shownAddress(url: string): string {
  if (!isPostgres(url)) return url;
  try {
    return postgresPlace(url).location;
  } catch {
    return 'postgresql://…';
  }
}

function postgresPlace(text: string): PostgresPlace {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    // Without the parser's error, which repeats the address.
    throw refuse('the Postgres address is not well formed (special characters of a password are %-encoded)');
  }
  const names = [...url.searchParams.keys()];
  // A password with a raw `#`, `?` or `/` reads as something else: part of it would be shown as host and port.
  if (url.hash !== '' || names.some((name) => !/^[a-z_]+$/i.test(name)) || /^\/.*[/@]/.test(url.pathname))
    throw refuse('special characters of a Postgres user, password or database are to be %-encoded');
  const options = Object.fromEntries(
    Object.entries(OPTIONS).map(([name, [fallback, least, most]]) => {
      const given = url.searchParams.get(name);
      url.searchParams.delete(name);
      const value = given === null ? fallback : Number(given);
      if (!Number.isInteger(value) || value < least || value > most)
        throw refuse(`\`${name}\` must be an integer from ${least} to ${most}`);
      return [name, value];
    }),
  ) as Record<keyof typeof OPTIONS, number>;
  const host = url.host === '' ? (url.searchParams.get('host') ?? '') : url.host;
  const user = url.username === '' ? '' : `${url.username}@`;
  return {
    engine: 'postgres',
    url: url.href,
    location: `postgresql://${user}${host}${url.pathname === '/' ? '' : url.pathname}`,
    ...options,
  };
}
