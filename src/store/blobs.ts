/**
 * Bytes by sha256. The row makes bytes addressable and is written last: up to 64 KiB it has the bytes itself, beyond
 * that the object store has them, whole before the row existed. Each put is dated, also of bytes that are there: what is about to
 * be referred to is not collected. Large bytes are announced before they come to their place, and a collection that took them
 * away in between takes the announcement too: so no row ever stands for bytes that are gone.
 */
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { BatonError } from '../domain/errors.js';
import type { BlobStore, Chunks, Stored } from './blob-port.js';
import { sha256 } from './canonical.js';
import { unavailable } from './engine-errors.js';
import { exclusively } from './exclusive.js';
import { storeName } from './meta.js';
import type { Db } from './schema.js';
import { collect, damaged, verified } from './verified.js';

/** Largest bytes kept in the database itself. */
export const INLINE_BYTES = 64 * 1024;

export interface Blobs {
  put(content: Uint8Array | Chunks): Promise<Stored>;
  read(digest: string): Promise<Uint8Array>;
  stream(digest: string): Promise<Readable>;
  /** Size of the bytes that are there now, or null. */
  size(digest: string): Promise<number | null>;
}

/** @param large null: all bytes are kept in the database, whatever their size */
export function blobs(db: Db, large: BlobStore | null): Blobs {
  const find = (digest: string): Promise<{ size: number; bytes: Uint8Array | null } | undefined> =>
    db.selectFrom('blobs').select(['size', 'bytes']).where('digest', '=', digest).executeTakeFirst();

  const missing = (digest: string): BatonError =>
    BatonError.of('ArtifactMissing', 'the store has no bytes of that digest', { digest });

  const write = (
    to: Db,
    digest: string,
    row: { size: number; bytes: Buffer | null; put_at: number },
  ): Promise<unknown> =>
    to
      .insertInto('blobs')
      .values({ digest, ...row })
      .onConflict((conflict) => conflict.column('digest').doUpdateSet(row))
      .execute();

  /** Small bytes, in one statement. A row that is there as it should be is only dated; a damaged one is repaired. */
  const record = async (digest: string, bytes: Uint8Array): Promise<Stored> => {
    const size = bytes.byteLength;
    const putAt = Date.now();
    const known = await find(digest);
    if (known?.size === size && sameBytes(known.bytes, bytes)) {
      const dated = db.updateTable('blobs').set({ put_at: putAt }).where('digest', '=', digest);
      // None when it was collected since it was looked at.
      if ((await dated.executeTakeFirst()).numUpdatedRows > 0n) return { digest, size };
    }
    await write(db, digest, { size, bytes: Buffer.from(bytes), put_at: putAt });
    return { digest, size };
  };

  let registered: Promise<unknown> | undefined;
  /** Once, before the first large bytes: a bucket's collection has to know of every store that puts there. */
  const register = async (places: BlobStore['places']): Promise<void> => {
    registered ??= storeName(db).then((name) =>
      Promise.all(places.map(async ({ users }) => users?.register(name))),
    );
    await registered.catch((error: unknown) => {
      registered = undefined;
      throw error;
    });
  };

  const putLarge = async (to: BlobStore, content: Chunks): Promise<Stored> => {
    await register(to.places);
    const put = randomBytes(9).toString('hex');
    const stored = await to.put(content, ({ digest }) =>
      exclusively(db, ['bytes', digest], async (trx) => {
        await trx.insertInto('blob_puts').values({ digest, put, at: Date.now() }).execute();
      }),
    );
    const { digest, size } = stored;
    await exclusively(db, ['bytes', digest], async (trx) => {
      const announced = trx.deleteFrom('blob_puts').where('digest', '=', digest).where('put', '=', put);
      if ((await announced.executeTakeFirst()).numDeletedRows === 0n)
        throw unavailable('the bytes were collected while they were put; put them again', undefined, {
          digest,
        });
      await write(trx, digest, { size, bytes: null, put_at: Date.now() });
    });
    return stored;
  };

  /** Checked at the end of the stream. The size is not asked for first: a shortened file has another digest. */
  const stream = async (digest: string): Promise<Readable> => {
    const row = await find(digest);
    if (row === undefined) throw missing(digest);
    const bytes = row.bytes === null ? ((await large?.get(digest)) ?? null) : Readable.from([row.bytes]);
    if (bytes === null) throw missing(digest);
    return verified(digest, bytes);
  };

  return {
    async put(content) {
      const chunks = content instanceof Uint8Array ? [content] : content;
      const { head, rest } = await upTo(INLINE_BYTES, chunks, large === null);
      return rest === null ? record(sha256(head), head) : putLarge(large as BlobStore, rest);
    },

    async read(digest) {
      const row = await find(digest);
      if (row === undefined) throw missing(digest);
      if (row.bytes === null) return collect(await stream(digest));
      const actual = sha256(row.bytes);
      if (actual !== digest) throw damaged(digest, actual, row.bytes.byteLength);
      return row.bytes;
    },

    stream,

    async size(digest) {
      const row = await db
        .selectFrom('blobs')
        .select(({ fn, eb }) => [
          'size',
          fn<number | null>('length', ['bytes']).as('length'),
          eb('bytes', 'is', null).as('outside'),
        ])
        .where('digest', '=', digest)
        .executeTakeFirst();
      if (row === undefined) return null;
      return row.outside ? ((await large?.has(digest)) ?? null) : row.length;
    },
  };
}

const sameBytes = (left: Uint8Array | null, right: Uint8Array): boolean =>
  left !== null && Buffer.compare(left, right) === 0;

/**
 * Reads until the limit is passed.
 *
 * @param all read everything, whatever its size
 * @returns `rest` null: `head` is all there is; else `rest` gives everything from the first byte
 */
async function upTo(
  limit: number,
  content: Chunks,
  all: boolean,
): Promise<{ head: Uint8Array; rest: null } | { head: null; rest: AsyncIterable<Uint8Array> }> {
  const iterator =
    Symbol.asyncIterator in content ? content[Symbol.asyncIterator]() : content[Symbol.iterator]();
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
    pieces.push(next.value);
    size += next.value.byteLength;
    if (all || size <= limit) continue;
    return { head: null, rest: continued(pieces, iterator) };
  }
  return { head: Buffer.concat(pieces), rest: null };
}

async function* continued(
  pieces: Uint8Array[],
  iterator: AsyncIterator<Uint8Array> | Iterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* pieces.splice(0);
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) yield next.value;
  } finally {
    // The taker stopped early: a source that is a file or a socket must not stay open.
    await iterator.return?.();
  }
}
