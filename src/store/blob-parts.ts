/**
 * Large bytes as rows of the database, 1 MiB each. The digest is known only after the last byte, so they are first written
 * aside on this machine's disk, and then put in as one transaction: whole or not at all, and no transaction waits for a source.
 */
import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import type { BlobPlace, BlobStore } from './blob-port.js';
import { exclusively } from './exclusive.js';
import type { Db } from './schema.js';
import { spool } from './spool.js';

const PART_BYTES = 1024 * 1024;
/** Digests of one page of a list. */
const PAGE = 500;

/** @param location of the database, for people */
export function blobParts(db: Db, location: string): BlobStore {
  const has = async (digest: string): Promise<number | null> => {
    const { size } = await db
      .selectFrom('blob_parts')
      .select(({ fn }) => fn.sum<number | null>(fn<number>('length', ['bytes'])).as('size'))
      .where('digest', '=', digest)
      .executeTakeFirstOrThrow();
    return size;
  };

  /** One by one: parts never change, so no transaction has to hold them still, and only one is in memory. */
  async function* parts(digest: string): AsyncGenerator<Uint8Array> {
    for (let part = 0; ; part += 1) {
      const row = await db
        .selectFrom('blob_parts')
        .select('bytes')
        .where('digest', '=', digest)
        .where('part', '=', part)
        .executeTakeFirst();
      if (row === undefined) return;
      yield row.bytes;
    }
  }

  const uploads = path.join(tmpdir(), 'baton-uploads');

  const place: BlobPlace = {
    location,
    uploads,
    has,
    async *list() {
      for (let after = ''; ;) {
        const page = await db
          .selectFrom('blob_parts')
          .select('digest')
          .select(({ fn }) => fn.sum<number>(fn<number>('length', ['bytes'])).as('size'))
          .where('digest', '>', after)
          .groupBy('digest')
          .orderBy('digest')
          .limit(PAGE)
          .execute();
        // Rows have no time; those that are being put are announced.
        for (const { digest, size } of page) yield { digest, size, at: 0 };
        after = page.at(-1)?.digest ?? '';
        if (page.length < PAGE) return;
      }
    },
    async remove(digest, trx) {
      await trx.deleteFrom('blob_parts').where('digest', '=', digest).execute();
    },
  };

  return {
    location,
    places: [place],
    async put(content, announce) {
      const { file, digest, size } = await spool(uploads, content);
      try {
        await announce?.({ digest, size });
        await exclusively(db, ['bytes', digest], async (trx) => {
          await trx.deleteFrom('blob_parts').where('digest', '=', digest).execute();
          let part = 0;
          for await (const bytes of createReadStream(file, { highWaterMark: PART_BYTES }))
            await trx
              .insertInto('blob_parts')
              .values({ digest, part: part++, bytes: bytes as Buffer })
              .execute();
        });
        return { digest, size };
      } finally {
        await rm(file, { force: true }).catch(() => undefined); // swept a day later
      }
    },
    get: async (digest) => ((await has(digest)) === null ? null : Readable.from(parts(digest))),
    has,
    close: () => Promise.resolve(),
  };
}
