/** Databases of tests in the suite's Postgres: each test has its own, taken away after it. */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { SharedPostgres } from './global-setup.js';
import { administer } from './postgres.js';
import { ask } from './server.js';

const shared = (await ask('/postgres')) as SharedPostgres;

/** Why there is no Postgres on this machine, or null: for `skipIf`, so that a skipped test says why. */
export const noPostgres: string | null = 'missing' in shared ? shared.missing : null;

export interface Database {
  readonly url: string;
  /** Cuts whoever is still connected. */
  drop(): Promise<void>;
}

/** @param options what `create database` takes after the name: `template x`, `encoding …` */
export async function freshDatabase(options = ''): Promise<Database> {
  if ('missing' in shared) throw new Error(shared.missing);
  const name = `baton_${randomBytes(6).toString('hex')}`;
  await administer(shared.url, `create database ${name} ${options}`);
  return {
    url: databaseUrl(shared.url, name),
    drop: () => administer(shared.url, `drop database if exists ${name} with (force)`),
  };
}

const databaseUrl = (url: string, name: string): string => {
  const own = new URL(url);
  own.pathname = `/${name}`;
  return own.href;
};

/** Reads a database beside the store. */
export async function rowsOf<Row>(url: string, query: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(query)).rows as Row[];
  } finally {
    await client.end();
  }
}
