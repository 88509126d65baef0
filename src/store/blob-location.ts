/** Reads where large bytes are kept (`BATON_BLOBS`, option `blobs`) and opens it. */
import { BatonError } from '../domain/errors.js';
import type { BlobStore } from './blob-port.js';

export const BLOBS_VARIABLE = 'BATON_BLOBS';
const FORMS =
  '`files` (SQLite), `database` (Postgres) or `s3://bucket/prefix`, with `?endpoint=URL` and `?pathStyle=true|false` as needed';

export interface S3Place {
  readonly bucket: string;
  /** Before each key; empty, or without slashes at its ends. */
  readonly prefix: string;
  /** Null: as the SDK's own settings say (`AWS_ENDPOINT_URL_S3`, …). */
  readonly endpoint: string | null;
  /** Null: path style exactly where an endpoint is set, as most servers other than AWS want it. */
  readonly pathStyle: boolean | null;
}

/** What there is without an object store. */
interface Beside {
  readonly name: 'sqlite' | 'postgres';
  /** Null for a SQLite in memory, which has no files: all bytes stay in their rows. */
  readonly large: BlobStore | null;
}

/**
 * @param address absent or empty: as the engine does without one
 * @returns null: all bytes stay in their rows
 * @throws BatonError `InvalidCommand` for an address of another form, or when the S3 client is not installed
 */
export async function blobStoreAt(
  address: string | undefined,
  { name, large }: Beside,
): Promise<BlobStore | null> {
  const own = name === 'sqlite' ? 'files' : 'database';
  if (address === undefined || address === '' || address === own) return large;
  if (address === 'files' || address === 'database')
    throw BatonError.of(
      'InvalidCommand',
      `blobs: \`${address}\` is not for this engine, whose own place is \`${own}\``,
      { field: 'blobs' },
    );
  const place = s3Place(address);
  // Loaded only when asked for: whoever keeps files need not have the client installed.
  const { blobS3 } = await import('./blob-s3.js');
  const bucket = await blobS3(place);
  return large === null ? bucket : withEarlier(bucket, large);
}

/** What was saved before the bucket was set stays readable; everything new goes to the bucket. */
function withEarlier(bucket: BlobStore, earlier: BlobStore): BlobStore {
  return {
    location: bucket.location,
    places: [...bucket.places, ...earlier.places],
    put: (content, announce) => bucket.put(content, announce),
    get: async (digest) => (await bucket.get(digest)) ?? earlier.get(digest),
    has: async (digest) => (await bucket.has(digest)) ?? earlier.has(digest),
    close: () => bucket.close(),
  };
}

/** @throws BatonError `InvalidCommand` naming the field and the accepted forms */
export function s3Place(address: string): S3Place {
  const refuse = (why: string): BatonError =>
    BatonError.of('InvalidCommand', `blobs: ${why}; accepted are ${FORMS}`, { field: 'blobs' });
  if (!/^s3:\/\//i.test(address)) throw refuse('the address names no object store that is known');
  let url: URL;
  try {
    url = new URL(address);
  } catch {
    throw refuse('the address is not well formed');
  }
  // Never in an address: it is printed by `doctor` and stands in process lists.
  if (url.username !== '' || url.password !== '')
    throw refuse('credentials come from the environment, not from the address');
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(url.hostname)) throw refuse('the address names no bucket');
  for (const name of url.searchParams.keys())
    if (name !== 'endpoint' && name !== 'pathStyle') throw refuse(`there is no option \`${name}\``);
  const endpoint = url.searchParams.get('endpoint');
  if (endpoint !== null && !/^https?:\/\/[^/]/.test(endpoint))
    throw refuse('`endpoint` must be an http(s) address');
  const style = url.searchParams.get('pathStyle');
  if (style !== null && style !== 'true' && style !== 'false')
    throw refuse('`pathStyle` must be true or false');
  return {
    bucket: url.hostname,
    prefix: decodeURIComponent(url.pathname).replace(/^\/+|\/+$/g, ''),
    endpoint,
    pathStyle: style === null ? null : style === 'true',
  };
}
