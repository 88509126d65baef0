/**
 * Bytes by sha256. The row makes bytes addressable and is written last: up to 64 KiB it has the bytes itself, beyond
 * that a file has them that was complete before the row existed.
 */
import { BatonError } from '../domain/errors.js';
import type { BlobFiles } from './blob-files.js';
import { sha256 } from './canonical.js';
import type { Db } from './schema.js';

/** Largest bytes kept in the database itself. */
export const INLINE_BYTES = 64 * 1024;

export interface Blobs {
  put(bytes: Uint8Array): Promise<{ digest: string; size: number }>;
  read(digest: string): Promise<Uint8Array>;
  /** Size of the bytes that are there now, or null. */
  size(digest: string): Promise<number | null>;
}

/** @param files null: all bytes are kept in the database, whatever their size */
export function blobs(db: Db, files: BlobFiles | null): Blobs {
  const find = (digest: string): Promise<{ size: number; bytes: Uint8Array | null } | undefined> =>
    db.selectFrom('blobs').select(['size', 'bytes']).where('digest', '=', digest).executeTakeFirst();

  return {
    async put(bytes) {
      const digest = sha256(bytes);
      const size = bytes.byteLength;
      const inFile = files !== null && size > INLINE_BYTES;
      if (inFile) await files.write(digest, bytes);
      const known = await find(digest);
      const whole = known !== undefined && known.size === size && (inFile || sameBytes(known.bytes, bytes));
      if (!whole) {
        const row = { size, bytes: inFile ? null : Buffer.from(bytes) };
        await db
          .insertInto('blobs')
          .values({ digest, ...row })
          .onConflict((conflict) => conflict.column('digest').doUpdateSet(row)) // repairs a damaged row
          .execute();
      }
      return { digest, size };
    },

    async read(digest) {
      const missing = (): BatonError =>
        BatonError.of('ArtifactMissing', 'the store has no bytes of that digest', { digest });
      const row = await find(digest);
      if (row === undefined) throw missing();
      const bytes = row.bytes ?? (await files?.read(digest)) ?? null;
      if (bytes === null) throw missing();
      const actual = sha256(bytes);
      if (actual !== digest) {
        throw BatonError.of('ArtifactMismatch', 'the stored bytes are damaged', {
          digest,
          actual,
          size: bytes.byteLength,
        });
      }
      return bytes;
    },

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
      return row.outside ? ((await files?.size(digest)) ?? null) : row.length;
    },
  };
}

const sameBytes = (left: Uint8Array | null, right: Uint8Array): boolean =>
  left !== null && Buffer.compare(left, right) === 0;
