/**
 * Kysely dialect for SQLite shared by several processes of one machine, and several stores of one process.
 * Kysely's own driver is changed in three points: transactions are BEGIN IMMEDIATE (all of ours write, and a read
 * lock that is raised later fails under contention), a busy engine is waited for asynchronously (the engine's own
 * wait would stop the event loop, and with it the transaction of another store in this process that it waits for),
 * and statements are prepared once.
 */
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import {
  CompiledQuery,
  Kysely,
  SqliteDialect,
  SqliteDriver,
  type DatabaseConnection,
  type Driver,
  type QueryResult,
} from 'kysely';
import { BatonError } from '../domain/errors.js';
import { blobFiles } from './blob-files.js';
import type { Engine } from './engine.js';
import { unavailable } from './engine-errors.js';
import { checkMachine, machineId, MOVED_VARIABLE } from './meta.js';
import { migrateSqlite } from './migrate.js';
import type { Db, Tables } from './schema.js';
import { isBusy, sqliteError } from './sqlite-errors.js';

/** How long a statement waits for other writers before the store counts as unavailable. */
const BUSY_PATIENCE_MS = 5_000;
const MAX_STATEMENTS = 500;

class Connection implements DatabaseConnection {
  readonly #statements = new Map<string, Database.Statement>();

  constructor(
    private readonly database: Database.Database,
    private readonly location: string,
  ) {}

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    try {
      return await whileBusy(() => this.#run<R>(query));
    } catch (error) {
      throw sqliteError(error, this.location);
    }
  }

  // The port has no streams; Kysely's interface asks for the method.
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('the store does not stream');
  }

  /** Rolls back unless the engine did so by itself (as it does on a full disk). */
  async rollback(): Promise<void> {
    if (this.database.inTransaction) await this.executeQuery(CompiledQuery.raw('rollback'));
  }

  #run<R>({ sql, parameters }: CompiledQuery): QueryResult<R> {
    const statement = this.#prepare(sql);
    if (statement.reader) return { rows: statement.all(...parameters) as R[] };
    const { changes } = statement.run(...parameters);
    return { rows: [], numAffectedRows: BigInt(changes) };
  }

  #prepare(sql: string): Database.Statement {
    const known = this.#statements.get(sql);
    if (known) return known;
    const statement = this.database.prepare(sql);
    if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear();
    this.#statements.set(sql, statement);
    return statement;
  }
}

class ImmediateDriver extends SqliteDriver {
  readonly #connection: Connection;

  constructor(database: Database.Database, location: string) {
    super({ database });
    this.#connection = new Connection(database, location);
  }

  /** Waits for Kysely's lock of the one connection; ours stands in for Kysely's. */
  override async acquireConnection(): Promise<DatabaseConnection> {
    await super.acquireConnection();
    return this.#connection;
  }

  override async beginTransaction(): Promise<void> {
    await this.#connection.executeQuery(CompiledQuery.raw('begin immediate'));
  }

  override async rollbackTransaction(): Promise<void> {
    await this.#connection.rollback();
  }
}

class ImmediateDialect extends SqliteDialect {
  constructor(
    private readonly database: Database.Database,
    private readonly location: string,
  ) {
    super({ database });
  }

  override createDriver(): Driver {
    return new ImmediateDriver(this.database, this.location);
  }
}

/**
 * Repeats while other processes hold the lock.
 * @param patienceMs how long, by the monotonic clock
 */
async function whileBusy<T>(attempt: () => T, patienceMs = BUSY_PATIENCE_MS): Promise<T> {
  const giveUp = performance.now() + patienceMs;
  for (let pause = 1; ; pause = Math.min(pause * 2, 25)) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error) || performance.now() >= giveUp) throw error;
      await sleep(pause * (0.5 + Math.random()));
    }
  }
}

/** @param file absolute path, or `:memory:` */
export function sqliteEngine(file: string): Engine {
  const inMemory = file === ':memory:';
  return {
    name: 'sqlite',
    location: file,
    large: inMemory ? null : blobFiles(`${file}.blobs`),
    async open(create) {
      const db = await openSqlite(file, create);
      try {
        await migrateSqlite(db, file);
        if (!inMemory) await checkMachine(db, file, await machineId(), process.env[MOVED_VARIABLE] === '1');
        return db;
      } catch (error) {
        await db.destroy();
        throw error;
      }
    },
  };
}

/**
 * Opens the file.
 * @param file path, or `:memory:`
 * @param create false: a file that is not there is refused, so that a mistyped path does not read as an empty store
 * @throws BatonError `StoreUnavailable`
 */
export async function openSqlite(file: string, create: boolean): Promise<Db> {
  if (!create && file !== ':memory:' && !existsSync(file)) {
    throw unavailable(
      `there is no store file ${file}; correct --store or BATON_STORE (\`baton publish\`, \`launch\` and \`dev\` make a new one)`,
      undefined,
      { store: file },
    );
  }
  let database: Database.Database | undefined;
  try {
    const opened = new Database(file, { timeout: 0 });
    database = opened;
    // Another process that makes the file at this moment holds it exclusively while it switches to WAL.
    await whileBusy(() => opened.pragma('journal_mode = WAL'));
    // FULL: what was acknowledged survives a power cut, since a workflow acts on it (about half a millisecond a commit).
    opened.pragma('synchronous = FULL');
    opened.pragma('foreign_keys = ON');
  } catch (error) {
    database?.close();
    const known = sqliteError(error, file);
    // A missing directory, or an engine that was not built for this Node, is a plain error.
    throw known instanceof BatonError
      ? known
      : unavailable(`the store does not open: ${(error as Error).message}`, error, { store: file });
  }
  return new Kysely<Tables>({ dialect: new ImmediateDialect(database, file) });
}
