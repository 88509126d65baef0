/** The same bytes written and read by three sides: Baton's artifacts, a plain file, and a row of a bare SQLite database. */
import { createReadStream, createWriteStream } from 'node:fs';
import { open, readFile, rename } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Readable } from 'node:stream';
import Database from 'better-sqlite3';
import type { Attempts } from '../attempt.js';
import type { Side } from './memory.js';

export interface Written {
  /** Reads all of it again, and throws unless it was all of it. */
  read(): Promise<void>;
}

export interface Writer {
  /** Durable when it resolves: synced, as far as the side can. @param file holds the bytes; the same for all sides */
  write(file: string, size: number): Promise<Written>;
  close(): void;
}

const count = async (bytes: Readable, size: number): Promise<void> => {
  let read = 0;
  for await (const piece of bytes) read += (piece as Uint8Array).byteLength;
  if (read !== size) throw new Error(`${read} of ${size} bytes came back`);
};

const OPEN: Readonly<Record<Side, (attempts: Attempts) => Promise<Writer>>> = {
  async baton(attempts) {
    const context = await attempts.next();
    return {
      async write(file, size) {
        const saved = await context.save({ kind: 'source', name: 'bench', file });
        return { read: async () => count(await context.readStream(saved), size) };
      },
      close: () => undefined,
    };
  },

  async fs({ folder }) {
    let files = 0;
    return {
      async write(file, size) {
        const target = path.join(folder, `plain-${(files += 1)}`);
        await pipeline(createReadStream(file), createWriteStream(`${target}.part`, { flush: true }));
        await rename(`${target}.part`, target);
        const directory = await open(folder);
        await directory.sync().finally(() => directory.close());
        return { read: () => count(createReadStream(target), size) };
      },
      close: () => undefined,
    };
  },

  async sqlite({ folder }) {
    const database = new Database(path.join(folder, 'bare.db'));
    database.pragma('journal_mode = WAL');
    database.pragma('synchronous = FULL');
    database.exec('CREATE TABLE IF NOT EXISTS blobs (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL)');
    const insert = database.prepare<[Buffer]>('INSERT INTO blobs (bytes) VALUES (?)');
    const select = database.prepare<[number | bigint], { bytes: Buffer }>(
      'SELECT bytes FROM blobs WHERE id = ?',
    );
    return {
      async write(file, size) {
        const { lastInsertRowid } = insert.run(await readFile(file));
        const read = async (): Promise<void> => {
          const length = select.get(lastInsertRowid)?.bytes.byteLength;
          if (length !== size) throw new Error(`${length} of ${size} bytes came back`);
        };
        return { read };
      },
      close: () => void database.close(),
    };
  },
};

export const openSide = (side: Side, attempts: Attempts): Promise<Writer> => OPEN[side](attempts);
