/**
 * The databases that an effect owner may keep its effects in: its own, so that effect and record are one transaction. Drivers
 * are given by the owner and known here by their shape alone; this package brings none of them along.
 */
import { CompiledQuery, type Kysely, type Transaction } from 'kysely';
import { BatonError } from '../../domain/errors.js';
import { runAsync, runSync, type Ask, type Row, type Script } from './script.js';

export type Dialect = 'sqlite' | 'postgres';
/** Whether the owner's work inside the transaction must answer at once. */
export type Mode = 'sync' | 'async';

/** One database. Made by {@link sqliteEngine}, {@link postgresEngine} or {@link kyselyEngine}. */
export interface OwnerEngine<Trx, M extends Mode = Mode> {
  readonly dialect: Dialect;
  readonly mode: M;
  /** Runs the script in one transaction of its own, rolled back when it throws. */
  transaction<T>(script: (trx: Trx) => Script<T>): Promise<T>;
}

/** What is used of a better-sqlite3 database. */
export interface SqliteHandle {
  readonly inTransaction: boolean;
  exec(sql: string): unknown;
  prepare(sql: string): {
    readonly reader: boolean;
    all(...values: unknown[]): unknown[];
    run(...values: unknown[]): unknown;
  };
}

/**
 * SQLite by a better-sqlite3 handle. The transaction takes the write lock first (BEGIN IMMEDIATE), which serialises effects
 * of all processes; how long it waits for others is the handle's own `timeout`. It runs in one go, so that nothing else of
 * this process gets between: work that awaits is refused.
 */
export function sqliteEngine<D extends SqliteHandle>(database: D): OwnerEngine<D, 'sync'> {
  const answer = (ask: Ask): unknown => {
    if ('call' in ask) return atOnce(ask.call());
    const statement = database.prepare(ask.sql);
    if (statement.reader) return statement.all(...ask.parameters);
    statement.run(...ask.parameters);
    return [];
  };
  const isOpen = (): boolean => database.inTransaction;
  return {
    dialect: 'sqlite',
    mode: 'sync',
    // `async`, so that a refusal is a rejection here too.
    async transaction(script) {
      if (isOpen())
        throw new BatonError(
          'Internal',
          'the database handle has a transaction open; give the kit a handle of its own.',
        );
      database.exec('begin immediate');
      try {
        const result = runSync(script(database), answer);
        database.exec('commit');
        return result;
      } catch (error) {
        // A full disk has rolled back by itself.
        if (isOpen()) database.exec('rollback');
        throw error;
      }
    },
  };
}

function atOnce(value: unknown): unknown {
  if (typeof (value as PromiseLike<unknown> | null)?.then !== 'function') return value;
  // It may fail later, after the rollback; that is said here and once.
  Promise.resolve(value).catch(() => undefined);
  throw awaits();
}

/** Refusal of work that would outlive its transaction. */
export const awaits = (): BatonError =>
  BatonError.of(
    'InvalidCommand',
    'work in a better-sqlite3 transaction must not be async: it has to end with it',
  );

/** What is used of a connection that a `pg` pool lends out. */
export interface PostgresConnection {
  query(sql: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
  release(destroy?: Error | boolean): void;
  on(event: 'error', listener: (error: Error) => void): unknown;
  removeListener(event: 'error', listener: (error: Error) => void): unknown;
}

/** Postgres by a `pg` pool: one connection for each transaction, READ COMMITTED, serialised by the slot's fence row. */
export function postgresEngine<C extends PostgresConnection>(pool: {
  connect(): Promise<C>;
}): OwnerEngine<C, 'async'> {
  return {
    dialect: 'postgres',
    mode: 'async',
    async transaction(script) {
      const connection = await pool.connect();
      let broken: Error | undefined;
      // A connection that is cut while it is lent out says so by an event, which nobody else hears: it would end the process.
      const cut = (error: Error): void => void (broken = error);
      connection.on('error', cut);
      try {
        // Said outright: under a stricter default the fence's upsert would fail where it has to wait.
        await connection.query('begin isolation level read committed');
        const result = await runAsync(script(connection), async (ask) =>
          'call' in ask ? ask.call() : (await connection.query(numbered(ask.sql), [...ask.parameters])).rows,
        );
        await connection.query('commit');
        return result;
      } catch (error) {
        await connection
          .query('rollback')
          .catch(
            (failed: unknown) => (broken = failed instanceof Error ? failed : new Error(String(failed))),
          );
        throw error;
      } finally {
        connection.removeListener('error', cut);
        connection.release(broken);
      }
    },
  };
}

/**
 * SQLite or Postgres by a Kysely instance; the work gets Kysely's transaction. One instance for each SQLite file in a process:
 * a second one would wait for the first with the event loop standing still.
 */
export function kyselyEngine<Tables>(
  db: Kysely<Tables>,
  dialect: Dialect,
): OwnerEngine<Transaction<Tables>, 'async'> {
  const text = dialect === 'postgres' ? numbered : (sql: string): string => sql;
  return {
    dialect,
    mode: 'async',
    transaction: (script) => {
      const started =
        dialect === 'postgres' ? db.transaction().setIsolationLevel('read committed') : db.transaction();
      return started.execute((trx) =>
        runAsync(script(trx), async (ask) => {
          if ('call' in ask) return ask.call();
          const { rows } = await trx.executeQuery<Row>(CompiledQuery.raw(text(ask.sql), [...ask.parameters]));
          return rows;
        }),
      );
    },
  };
}

/** `?` as `$1`, `$2`…; the protocol's own statements hold no other `?`. */
function numbered(sql: string): string {
  let n = 0;
  return sql.replaceAll('?', () => `$${(n += 1)}`);
}
