/**
 * Kysely driver over a `pg` pool. It differs from Kysely's own in three points: errors are told by one place, a connection that
 * was in trouble is not used again (a statement may still be running on it), and one that is cut while it is lent out is noticed
 * by its next statement, not by an event that would end the process.
 */
import { CompiledQuery, type DatabaseConnection, type Driver, type QueryResult } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { BatonError } from '../domain/errors.js';
import { unavailable } from './engine-errors.js';
import { postgresError } from './postgres-errors.js';

class Connection implements DatabaseConnection {
  #broken = false;

  constructor(
    private readonly client: PoolClient,
    private readonly location: string,
  ) {}

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    try {
      const { rows, rowCount, command } = await this.client.query<R & object>(sql, [...parameters]);
      // Postgres answers a commit after a failed statement with ROLLBACK, and no error.
      if (sql === 'commit' && command !== 'COMMIT')
        throw unavailable('the transaction was rolled back', undefined, { store: this.location });
      return { rows, ...(rowCount === null ? {} : { numAffectedRows: BigInt(rowCount) }) };
    } catch (error) {
      const told = postgresError(error, this.location);
      this.#broken ||= told instanceof BatonError;
      throw told;
    }
  }

  // The port has no streams; Kysely's interface asks for the method.
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('the store does not stream');
  }

  /** A broken one is closed, which rolls back whatever was open on it. */
  async rollback(): Promise<void> {
    if (!this.#broken) await this.executeQuery(CompiledQuery.raw('rollback'));
  }

  release(): void {
    this.client.release(this.#broken);
  }
}

export class PooledDriver implements Driver {
  readonly #prepared = new WeakSet<PoolClient>();

  constructor(
    private readonly pool: Pool,
    private readonly location: string,
    /** Once for each new connection, before its first use. */
    private readonly prepare: (client: PoolClient) => Promise<void>,
  ) {
    // An idle connection that ends is taken out by the pool; the next one is made when it is needed.
    pool.on('error', () => undefined);
    pool.on('connect', (client) => client.on('error', () => undefined));
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    let client: PoolClient | undefined;
    try {
      client = await this.pool.connect();
      if (!this.#prepared.has(client)) await this.prepare(client);
      this.#prepared.add(client);
      return new Connection(client, this.location);
    } catch (error) {
      client?.release(true);
      throw postgresError(error, this.location);
    }
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin'));
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('commit'));
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await (connection as Connection).rollback();
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    (connection as Connection).release();
  }

  async destroy(): Promise<void> {
    await this.pool.end();
  }
}
