/**
 * Large bytes as objects of an S3 bucket: `<prefix>/ab/<digest>`. S3 shows an object only once all of it is there (the last
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
import type { BlobStore } from './blob-port.js';
import { unavailable } from './engine-errors.js';
import { spool } from './spool.js';

/** Parts of an upload in memory at once: with S3's least part of 5 MiB, 10 MiB for one artifact, whatever its size. */
const PARTS_AT_ONCE = 2;

/**
 * @returns the bucket; nothing is asked of it yet. Region, credentials, profiles and retries are the SDK's own: its
 *   environment variables and files count (`AWS_REGION`, `AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL_S3`, …).
 * @throws BatonError `InvalidCommand` when the client is not installed
 */
export async function blobS3({ bucket, prefix, endpoint, pathStyle }: S3Place): Promise<BlobStore> {
  const { S3Client, GetObjectCommand, HeadObjectCommand, Upload } = await loadSdk();
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
  const keyOf = (digest: string): string =>
    `${prefix === '' ? '' : `${prefix}/`}${digest.slice(0, 2)}/${digest}`;
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

  return {
    location,
    async put(content) {
      // The key is the digest, so all of it must have been seen before the upload can begin.
      const { file, digest, size } = await spool(path.join(tmpdir(), 'baton-uploads'), content);
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
    has: (digest) =>
      ask(digest, async () => {
        const head = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: keyOf(digest) }));
        return head.ContentLength ?? 0;
      }),
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
