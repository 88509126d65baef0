/** Postgres: for hosts on several machines. Pooled, READ COMMITTED; who writes what when is in exclusive.ts. */
import { Kysely, PostgresDialect, type Driver, type Dialect } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { blobParts } from './blob-parts.js';
import type { Engine } from './engine.js';
import { unavailable } from './engine-errors.js';
import type { PostgresPlace } from './location.js';
import { migratePostgres } from './migrate.js';
import { PooledDriver } from './postgres-driver.js';
import type { Db, Tables } from './schema.js';

/** How long a writer waits for others before the store counts as unavailable; as with SQLite. */
const LOCK_PATIENCE_MS = 5_000;
/** A migration may have to wait for that of another worker, and to rewrite a table. */
const MIGRATION_MS = 600_000;
/** How long after the server should have given up its client does, when nothing comes back at all. */
const SILENCE_MS = 5_000;

export async function postgresEngine(place: PostgresPlace): Promise<Engine> {
  // CommonJS: what it exports is the default.
  const { default: pg } = await import('pg');
  const { location } = place;
  const database = (settings: Pick<PostgresPlace, 'poolSize' | 'statementTimeoutMs'>): Db => {
    const pool = new pg.Pool({
      connectionString: place.url,
      max: settings.poolSize,
      connectionTimeoutMillis: place.connectTimeoutMs,
      query_timeout: settings.statementTimeoutMs + SILENCE_MS,
      keepAlive: true,
      // A script that forgets to close its store ends all the same, as with SQLite.
      allowExitOnIdle: true,
      fallback_application_name: 'temporal-baton',
      types: {
        getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
          oid === INT8 ? Number : (pg.types.getTypeParser as TypeParser)(oid, format)) as TypeParser,
      },
    });
    return new Kysely<Tables>({
      dialect: pooled(pool, location, (client) => prepare(client, location, settings.statementTimeoutMs)),
    });
  };
  const db = database(place);
  return {
    name: 'postgres',
    location,
    large: blobParts(db, location),
    async open(create) {
      try {
        await migratePostgres(db, location, create, () =>
          database({ poolSize: 1, statementTimeoutMs: MIGRATION_MS }),
        );
        return db;
      } catch (error) {
        await db.destroy();
        throw error;
      }
    },
  };
}

type TypeParser = (oid: number, format?: 'text' | 'binary') => (text: string) => unknown;

/** Type `int8`: times, sizes, epochs and counts, all of them far below 2^53. */
const INT8 = 20;

/**
 * Once for each connection. Said outright, whatever the database's defaults are: under a stricter isolation a writer that has
 * waited for its lock would read what was there before, and what a workflow acts on must survive a crash.
 */
async function prepare(client: PoolClient, location: string, statementTimeoutMs: number): Promise<void> {
  const { rows } = await client.query<{ encoding: string }>(
    `select current_setting('server_encoding') as encoding,
       set_config('client_encoding', 'UTF8', false), set_config('timezone', 'UTC', false),
       set_config('default_transaction_isolation', 'read committed', false),
       set_config('default_transaction_read_only', 'off', false),
       set_config('statement_timeout', $1, false), set_config('lock_timeout', $2, false),
       set_config('idle_in_transaction_session_timeout', $1, false),
       set_config('synchronous_commit',
         case current_setting('synchronous_commit') when 'off' then 'on' else current_setting('synchronous_commit') end,
         false)`,
    [String(statementTimeoutMs), String(LOCK_PATIENCE_MS)],
  );
  const encoding = rows[0]?.encoding;
  if (encoding !== 'UTF8')
    throw unavailable(
      `the database has encoding ${encoding}; make one with \`create database … encoding 'UTF8'\``,
      undefined,
      { store: location },
    );
}

function pooled(pool: Pool, location: string, prepared: (client: PoolClient) => Promise<void>): Dialect {
  const dialect = new PostgresDialect({ pool });
  return {
    createDriver: (): Driver => new PooledDriver(pool, location, prepared),
    createAdapter: () => dialect.createAdapter(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => dialect.createQueryCompiler(),
  };
}
