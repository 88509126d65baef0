/**
 * Large bytes as objects of an S3 bucket: `<prefix>/ab/<digest>`, and `<prefix>/stores/<name>` for each store that puts here. S3 shows an object only once all of it is there (the last
 * part of a multipart upload included), so an upload that is killed leaves nothing under any digest. What it leaves of parts is
 * for the bucket's lifecycle rule `AbortIncompleteMultipartUpload`.
 */
import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { BatonError } from '../domain/errors.js';
import type { S3Place } from './blob-location.js';
import type { BlobPlace, BlobStore } from './blob-port.js';
import { unavailable } from './engine-errors.js';
import { spool } from './spool.js';

/** Parts of an upload in memory at once: with S3's least part of 5 MiB, 10 MiB for one artifact, whatever its size. */
const PARTS_AT_ONCE = 2;
/** Whoever puts the same bytes waits for a removal, which must never come about later than it is waited for. */
const REMOVE_MS = 5_000;

/**
 * @returns the bucket; nothing is asked of it yet. Region, credentials, profiles and retries are the SDK's own: its
 *   environment variables and files count (`AWS_REGION`, `AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL_S3`, …).
 * @throws BatonError `InvalidCommand` when the client is not installed
 */
export async function blobS3({ bucket, prefix, endpoint, pathStyle }: S3Place): Promise<BlobStore> {
  const {
    S3Client,
    DeleteObjectCommand,
    GetObjectCommand,
    HeadObjectCommand,
    ListObjectsV2Command,
    PutObjectCommand,
    Upload,
  } = await loadSdk();
  const elsewhere =
    endpoint ?? (process.env['AWS_ENDPOINT_URL_S3'] || process.env['AWS_ENDPOINT_URL'] || null);
  const client = new S3Client({
    ...(endpoint === null ? {} : { endpoint }),
    forcePathStyle: pathStyle ?? elsewhere !== null,
    // Our own digest is checked by every reader; servers other than AWS often know no trailing checksums.
    ...(elsewhere === null
      ? {}
      : { requestChecksumCalculation: 'WHEN_REQUIRED', responseChecksumValidation: 'WHEN_REQUIRED' }),
  });
  const location = `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}`;
  const under = prefix === '' ? '' : `${prefix}/`;
  const keyOf = (digest: string): string => `${under}${digest.slice(0, 2)}/${digest}`;
  /** Null for what is not there. */
  const ask = async <T>(digest: string, what: () => Promise<T>): Promise<T | null> => {
    if (!/^[0-9a-f]{64}$/.test(digest)) return null;
    try {
      return await what();
    } catch (error) {
      if (isAbsent(error)) return null;
      throw away(error, location);
    }
  };

  const uploads = path.join(tmpdir(), 'baton-uploads');
  const asked = async <T>(work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      throw away(error, location);
    });

  /** Keys below a prefix, page by page. */
  async function* keys(from: string) {
    for (let token: string | undefined; ;) {
      const page = await asked(
        client.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: from, ContinuationToken: token })),
      );
      yield* page.Contents ?? [];
      token = page.NextContinuationToken;
      if (token === undefined) return;
    }
  }

  const has = (digest: string): Promise<number | null> =>
    ask(digest, async () => {
      const head = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: keyOf(digest) }));
      return head.ContentLength ?? 0;
    });

  const place: BlobPlace = {
    location,
    uploads,
    has,
    async *list() {
      for await (const { Key: key = '', Size: size = 0, LastModified: at } of keys(under)) {
        const digest = key.slice(-64);
        if (/^[0-9a-f]{64}$/.test(digest) && key === keyOf(digest))
          yield { digest, size, at: at?.getTime() ?? Date.now() };
      }
    },
    async remove(digest) {
      const removal = new DeleteObjectCommand({ Bucket: bucket, Key: keyOf(digest) });
      await asked(client.send(removal, { abortSignal: AbortSignal.timeout(REMOVE_MS) }));
    },
    users: {
      async register(store) {
        await asked(
          client.send(new PutObjectCommand({ Bucket: bucket, Key: `${under}stores/${store}`, Body: store })),
        );
      },
      async stores() {
        const found: string[] = [];
        for await (const { Key: key = '' } of keys(`${under}stores/`))
          found.push(key.slice(`${under}stores/`.length));
        return found;
      },
    },
  };

  return {
    location,
    places: [place],
    async put(content, announce) {
      // The key is the digest, so all of it must have been seen before the upload can begin.
      const { file, digest, size } = await spool(uploads, content);
      await announce?.({ digest, size }).catch(async (error: unknown) => {
        await rm(file, { force: true }).catch(() => undefined);
        throw error;
      });
      const body = createReadStream(file);
      try {
        const params = { Bucket: bucket, Key: keyOf(digest), Body: body, ContentLength: size };
        await new Upload({ client, params, queueSize: PARTS_AT_ONCE }).done();
        return { digest, size };
      } catch (error) {
        throw away(error, location);
      } finally {
        body.destroy(); // an upload that fails at once leaves it open
        await rm(file, { force: true }).catch(() => undefined); // swept a day later
      }
    },
    get: (digest) =>
      ask(digest, async () => {
        const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: keyOf(digest) }));
        return Body as Readable;
      }),
    has,
    async close() {
      client.destroy();
    },
  };
}

async function loadSdk() {
  try {
    const [client, storage] = await Promise.all([
      import('@aws-sdk/client-s3'),
      import('@aws-sdk/lib-storage'),
    ]);
    return { ...client, Upload: storage.Upload };
  } catch (error) {
    throw BatonError.of(
      'InvalidCommand',
      'blobs: the S3 client is not installed; `npm install @aws-sdk/client-s3 @aws-sdk/lib-storage`',
      { field: 'blobs' },
      { cause: error },
    );
  }
}

/** A missing bucket is no missing object: it is a wrong setting, and must not read as lost bytes. */
const isAbsent = (error: unknown): boolean => {
  const { name } = error as { name?: string };
  return name === 'NoSuchKey' || name === 'NotFound';
};

const away = (error: unknown, location: string): BatonError =>
  unavailable(`the object store failed: ${(error as Error).name}: ${(error as Error).message}`, error, {
    blobs: location,
  });
