/** The object-store port: files and S3 by one suite, and whole stores whose large bytes are in a bucket. */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { S3Client, ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { blobFiles } from '../../src/store/blob-files.js';
import { blobStoreAt, s3Place } from '../../src/store/blob-location.js';
import type { BlobStore } from '../../src/store/blob-port.js';
import { openStore } from '../../src/store/open.js';
import { collect } from '../../src/store/verified.js';
import { BUCKET, startS3, type S3Server } from '../support/s3.js';
import { blobCases, type BlobCase } from './cases/blobs.js';
import { storeConformance } from './conformance.js';

let s3: S3Server;
beforeAll(async () => {
  s3 = await startS3();
});
afterAll(() => s3.close());
let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'baton-blobs-'));
});
afterEach(() => rm(directory, { recursive: true }));

const bucket = async (address: string): Promise<BlobStore> =>
  (await blobStoreAt(address, { name: 'sqlite', large: null })) as BlobStore;
const client = () => new S3Client({ endpoint: s3.endpoint, forcePathStyle: true });
const keysUnder = async (prefix: string): Promise<string[]> => {
  const { Contents = [] } = await client().send(
    new ListObjectsV2Command({ Bucket: BUCKET, Prefix: `${prefix}/` }),
  );
  return Contents.map(({ Key }) => Key ?? '');
};

describe('files', () => {
  let opened: BlobCase;
  beforeEach(() => {
    const root = path.join(directory, 'x.blobs');
    const listed = async () => {
      const found = await readdir(root, { recursive: true, withFileTypes: true });
      return found.filter((entry) => entry.isFile()).map((entry) => entry.name);
    };
    opened = { store: blobFiles(root), listed };
  });
  blobCases(() => opened);
});

describe('S3', () => {
  let opened: BlobCase;
  beforeEach(async () => {
    const address = s3.blobs();
    const listed = async () => (await keysUnder(s3Place(address).prefix)).map((key) => path.basename(key));
    opened = { store: await bucket(address), listed };
  });
  afterEach(() => opened.store.close());
  blobCases(() => opened);

  it('says that it is unavailable when the bucket or the server is not there', async () => {
    const endpoint = encodeURIComponent(s3.endpoint);
    const wrong = await bucket(`s3://no-such-bucket?endpoint=${endpoint}`);
    for (const call of [() => wrong.get('a'.repeat(64)), () => wrong.put([Buffer.from('x')])])
      await expect(call()).rejects.toMatchObject({ code: 'StoreUnavailable' });
    await wrong.close();
    const gone = await bucket(`s3://${BUCKET}?endpoint=${encodeURIComponent('http://127.0.0.1:9')}`);
    await expect(gone.has('a'.repeat(64))).rejects.toMatchObject({ code: 'StoreUnavailable' });
    await gone.close();
  });

  it('keeps what was saved as files before readable, and notices damaged objects', async () => {
    const url = `sqlite:${directory}/x.db`;
    const early = await openStore(url, { blobs: 'files' });
    const old = await early.artifacts.putBytes(Buffer.alloc(70_000, 'old'));
    await early.close();
    const address = s3.blobs();
    const store = await openStore(url, { blobs: address });
    expect((await store.artifacts.readBytes(old.digest)).byteLength).toBe(70_000);
    const { digest } = await store.artifacts.putBytes(Buffer.alloc(80_000, 'new'));
    const [key] = await keysUnder(s3Place(address).prefix);
    expect(key).toMatch(new RegExp(`/${digest.slice(0, 2)}/${digest}$`));
    await client().send(
      new PutObjectCommand({ Bucket: BUCKET, Key: key, Body: Buffer.alloc(80_000, 'bad') }),
    );
    await expect(store.artifacts.readBytes(digest)).rejects.toMatchObject({ code: 'ArtifactMismatch' });
    await expect(collect(await store.artifacts.readStream(digest))).rejects.toMatchObject({
      code: 'ArtifactMismatch',
    });
    await store.artifacts.putBytes(Buffer.alloc(80_000, 'new'));
    expect((await store.artifacts.readBytes(digest)).byteLength).toBe(80_000);
    await store.close();
  });
});

storeConformance('sqlite with S3', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'baton-blobs-'));
  const store = await openStore(`sqlite:${folder}/x.db`, { blobs: s3.blobs() });
  return {
    store,
    async cleanup() {
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
});

describe('addresses of object stores', () => {
  it.each([
    ['ftp://x', /no object store/],
    ['s3://', /bucket|well formed/],
    ['s3://A_b', /bucket|well formed/],
    ['s3://key:secret@bucket', /credentials/],
    ['s3://bucket?region=x', /no option `region`/],
    ['s3://bucket?endpoint=ftp://x', /endpoint/],
    ['s3://bucket?pathStyle=yes', /pathStyle/],
  ])('refuses %s', async (address, message) => {
    const refused = await openStore('sqlite::memory:', { blobs: address }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'InvalidCommand', message: expect.stringMatching(message) });
    expect((refused as Error).message).not.toContain('secret');
  });

  it('reads bucket, prefix and options', () => {
    expect(s3Place('s3://b-1/a/b/?endpoint=http://h:1&pathStyle=false')).toEqual({
      bucket: 'b-1',
      prefix: 'a/b',
      endpoint: 'http://h:1',
      pathStyle: false,
    });
    expect(s3Place('s3://bucket')).toEqual({ bucket: 'bucket', prefix: '', endpoint: null, pathStyle: null });
  });

  it('refuses a store file that is not there when it must not be made', async () => {
    const missing = path.join(directory, 'typo.db');
    const open = () => openStore(`sqlite:${missing}`, { create: false });
    await expect(open()).rejects.toMatchObject({
      code: 'StoreUnavailable',
      message: expect.stringContaining(missing),
    });
    expect(await readdir(directory)).toEqual([]);
    await (await openStore(`sqlite:${missing}`)).close();
    await (await open()).close();
    await writeFile(missing, '');
  });
});
