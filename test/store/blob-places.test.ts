/** What a collection asks of the places of large bytes: lists without others’ objects, removals that fail, buckets that are shared. */
import { createServer, request, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { blobFiles } from '../../src/store/blob-files.js';
import { blobStoreAt, s3Place } from '../../src/store/blob-location.js';
import type { BlobPlace, BlobStore, Listed } from '../../src/store/blob-port.js';
import { sha256 } from '../../src/store/canonical.js';
import { openStore, type StoreOptions } from '../../src/store/open.js';
import type { Store } from '../../src/store/port.js';
import { BUCKET, startS3, type S3Server } from '../support/s3.js';
import { readAll, wholeRun } from './whole-run.js';

const DAY = 86_400_000;
const large = (name: string): Buffer => Buffer.alloc(70_000, name);

let s3: S3Server;
let directory: string;
let client: S3Client;
beforeAll(async () => {
  s3 = await startS3();
  client = new S3Client({ endpoint: s3.endpoint, forcePathStyle: true });
});
afterAll(async () => {
  client.destroy();
  await s3.close();
});
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'baton-places-'));
});
afterEach(() => rm(directory, { recursive: true }));

const put = (key: string, body = 'x') =>
  client.send(new PutObjectCommand({ Bucket: BUCKET, Key: key, Body: body }));
const listed = async (place: BlobPlace): Promise<Listed[]> => {
  const found: Listed[] = [];
  for await (const one of place.list()) found.push(one);
  return found;
};
const only = ({ places }: BlobStore): BlobPlace => places[0] as BlobPlace;
const bucketAt = async (address: string): Promise<BlobStore> => {
  const opened = (await blobStoreAt(address, { name: 'sqlite', large: null })) as BlobStore;
  onTestFinished(() => opened.close());
  return opened;
};

/** A server of one test. @returns its address, for the option `endpoint` */
async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return encodeURIComponent(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

/** Objects that look like ours, and are not. */
const OTHERS = ['notes.txt', `ab/${'A'.repeat(64)}`, `cd/ab${'0'.repeat(62)}`, `ab/ab${'0'.repeat(61)}`];

describe.each(['files', 'S3'])('a place: %s', (kind) => {
  it('lists what was put with its size and time, leaves the rest out, and removes what is there or not', async () => {
    const address = s3.blobs();
    const root = path.join(directory, 'x.blobs');
    const blobs = kind === 'files' ? blobFiles(root) : await bucketAt(address);
    const place = only(blobs);
    expect(await listed(place)).toEqual([]);
    const began = Date.now() - 2_000; // a bucket tells whole seconds
    const stored = [await blobs.put([large('a')]), await blobs.put([Buffer.from('small')])];
    for (const name of OTHERS)
      if (kind === 'S3') await put(`${s3Place(address).prefix}/${name}`);
      else {
        await mkdir(path.dirname(path.join(root, name)), { recursive: true });
        await writeFile(path.join(root, name), 'x');
      }
    // The prefix of another one begins like ours.
    if (kind === 'S3') await put(`${s3Place(address).prefix}0/ab/ab${'0'.repeat(62)}`);
    const found = await listed(place);
    expect(found.map(({ digest }) => digest).sort()).toEqual(stored.map(({ digest }) => digest).sort());
    for (const { digest, size, at } of found) {
      expect(size).toBe(await place.has(digest));
      expect(at).toBeGreaterThan(began);
      expect(at).toBeLessThan(Date.now() + 2_000);
    }
    const [gone, kept] = stored.map(({ digest }) => digest) as [string, string];
    for (let turn = 0; turn < 2; turn += 1) await place.remove(gone, undefined as never);
    expect([await place.has(gone), await place.has(kept)]).toEqual([null, 5]);
    expect(await listed(place)).toHaveLength(1);
  });
});

describe('S3', () => {
  const open = async (name: string, options: StoreOptions): Promise<Store> => {
    const store = await openStore(`sqlite:${directory}/${name}.db`, options);
    onTestFinished(() => store.close());
    return store;
  };
  const sweep = (store: Store, dryRun = false) =>
    store.retention.sweep({ before: Date.now() + DAY, at: Date.now(), dryRun });
  const isThere = (store: Store, bytes: Uint8Array): Promise<boolean> =>
    store.artifacts.readBytes(sha256(bytes)).then(
      () => true,
      () => false,
    );

  it('is listed to the end, page by page', async () => {
    const digests = ['a', 'b', 'c'].map((name) => sha256(name));
    const asked: (string | null)[] = [];
    // By hand: the local server fails where a list has more than one page.
    const endpoint = await serve((incoming, answer) => {
      const token = new URL(incoming.url ?? '', 'http://x').searchParams.get('continuation-token');
      asked.push(token);
      const nth = Number(token ?? 0);
      const digest = digests[nth] ?? '';
      const next = nth < 2 ? `<NextContinuationToken>${nth + 1}</NextContinuationToken>` : '';
      answer.writeHead(200, { 'content-type': 'application/xml' });
      answer.end(`<ListBucketResult><IsTruncated>${nth < 2}</IsTruncated>${next}<Contents>
        <Key>p/${digest.slice(0, 2)}/${digest}</Key><LastModified>2026-01-31T12:00:00Z</LastModified><Size>${nth}</Size>
        </Contents></ListBucketResult>`);
    });
    const blobs = await bucketAt(`s3://${BUCKET}/p?endpoint=${endpoint}`);
    const at = Date.parse('2026-01-31T12:00:00Z');
    expect(await listed(only(blobs))).toEqual(digests.map((digest, size) => ({ digest, size, at })));
    expect(asked).toEqual([null, '1', '2']);
  });

  it('is left alone when another store puts there too, and small bytes go all the same', async () => {
    const blobs = s3.blobs();
    const [one, other] = [await open('one', { blobs }), await open('other', { blobs })];
    const small = Buffer.from('small');
    for (const bytes of [large('one'), small]) await one.artifacts.putBytes(bytes);
    await wholeRun(other, { run: 'r', contents: [large('other')] });
    const dry = await sweep(one, true);
    expect(dry.skipped).toMatchObject([
      { why: expect.stringMatching(/^1 other store.*a prefix of its own/) },
    ]);
    expect(await sweep(one)).toEqual(dry);
    expect([await isThere(one, large('one')), await isThere(one, small)]).toEqual([true, false]);
    expect(await readAll(other, 'acme', 'r')).toBe(1);
  });

  it('loses nothing when it refuses a removal, and the next collection takes what is left', async () => {
    let refuses = true;
    const through = await serve((incoming, answer) => {
      if (refuses && incoming.method === 'DELETE') {
        incoming.resume();
        answer.writeHead(403, { 'content-type': 'application/xml' });
        answer.end('<Error><Code>AccessDenied</Code><Message>no</Message></Error>');
        return;
      }
      const { port } = new URL(s3.endpoint);
      const { method, headers, url } = incoming;
      const on = request({ host: '127.0.0.1', port, method, headers, path: url }, (got) => {
        answer.writeHead(got.statusCode ?? 500, got.headers);
        got.pipe(answer);
      });
      incoming.pipe(on);
    });
    const { prefix } = s3Place(s3.blobs());
    const store = await open('x', { blobs: `s3://${BUCKET}/${prefix}?endpoint=${through}` });
    const [unused, kept] = [large('unused'), large('kept')];
    await store.artifacts.putBytes(unused);
    await wholeRun(store, { run: 'kept', contents: [kept] });
    await expect(sweep(store)).rejects.toMatchObject({ code: 'StoreUnavailable' });
    expect([await isThere(store, unused), await readAll(store, 'acme', 'kept')]).toEqual([true, 1]);
    refuses = false;
    const { bytes } = await sweep(store);
    expect(bytes).toEqual([{ place: `s3://${BUCKET}/${prefix}`, objects: 1, bytes: unused.byteLength }]);
    expect([await isThere(store, unused), await readAll(store, 'acme', 'kept')]).toEqual([false, 1]);
  });

  it('is collected together with the files of before it was set, and with what killed uploads have left there', async () => {
    const early = await openStore(`sqlite:${directory}/x.db`, { blobs: 'files' });
    await early.artifacts.putBytes(large('file'));
    await early.close();
    const blobs = s3.blobs();
    const store = await open('x', { blobs });
    await store.artifacts.putBytes(large('object'));
    // Its row was never written.
    const { digest } = await (await bucketAt(blobs)).put([large('killed')]);
    const dry = await sweep(store, true);
    expect(dry.bytes.map(({ place, objects }) => [place, objects]).sort()).toEqual([
      [`${directory}/x.db.blobs`, 1],
      [`s3://${BUCKET}/${s3Place(blobs).prefix}`, 2],
    ]);
    expect(await sweep(store)).toEqual(dry);
    expect(await only(await bucketAt(blobs)).has(digest)).toBeNull();
    for (const name of ['file', 'object']) expect(await isThere(store, large(name))).toBe(false);
    expect((await sweep(store)).bytes).toEqual([]);
  });
});
