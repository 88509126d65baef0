/**
 * What an agent saves from streams and files, what it says of it (tags, media type, what it was made from), and what it reads
 * back. Nothing is saved by halves, and no stream of an agent ends its host.
 */
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AgentContext, ArtifactInput } from '../../src/agent/types.js';
import { sha256 } from '../../src/store/canonical.js';
import { openStore } from '../../src/store/open.js';
import type { Store } from '../../src/store/port.js';
import { collect } from '../../src/store/verified.js';
import { waitFor } from '../support/wait.js';
import { attemptLab, type AttemptLab } from './attempt-lab.js';

let directory: string;
let store: Store;
let lab: AttemptLab;
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'baton-saves-'));
  store = await openStore(`sqlite:${directory}/x.db`);
  lab = attemptLab(store);
});
afterEach(async () => {
  await store.close();
  await rm(directory, { recursive: true });
});

const rows = () => store.artifacts.list('t', 'r');
const source = { kind: 'source', name: 'n' } as const;

describe('saving streams and files', () => {
  it.each([0, 5, 65_537, 1_000_000])('of %i bytes, and reading them as a stream', async (size) => {
    const { context } = await lab.attempt('1');
    const bytes = Buffer.alloc(size, 'öbytes');
    const file = path.join(directory, 'in');
    await writeFile(file, bytes);
    const ofStream = await context.save({ ...source, content: createReadStream(file) });
    const ofFile = await context.save({ ...source, file, mediaType: 'text/csv' });
    expect([ofStream.digest, ofFile.digest, ofFile.size]).toEqual([sha256(bytes), sha256(bytes), size]);
    expect([ofStream.mediaType, ofFile.mediaType]).toEqual(['application/octet-stream', 'text/csv']);
    const read = await collect(await context.readStream(ofFile));
    expect(Buffer.compare(read, bytes)).toBe(0);
  });

  it('takes a stream of text as UTF-8, and refuses one of objects', async () => {
    const { context } = await lab.attempt('1');
    const { digest } = await context.save({ ...source, content: Readable.from(['ä', 'ö']) });
    expect(digest).toBe(sha256('äö'));
    const objects = context.save({ ...source, content: Readable.from([{ a: 1 }]) });
    await expect(objects).rejects.toMatchObject({ code: 'InvalidCommand' });
    expect(await rows()).toHaveLength(1);
  });

  it('throws what a stream or file throws, and saves nothing', async () => {
    const { context } = await lab.attempt('1');
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield Buffer.alloc(100_000);
      await turn();
      throw new Error('the source broke');
    }
    const broken = context.save({ ...source, content: Readable.from(failing()) });
    await expect(broken).rejects.toThrow('the source broke');
    const missing = context.save({ ...source, file: path.join(directory, 'nowhere') });
    await expect(missing).rejects.toMatchObject({ code: 'ENOENT' });
    expect(await rows()).toEqual([]);
  });

  it('a stream that fails before anybody reads it ends the save, not the process', async () => {
    const { context } = await lab.attempt('1');
    const uncaught = vi.fn();
    process.on('uncaughtException', uncaught);
    try {
      let letGo: (() => void) | undefined;
      const list = store.artifacts.list.bind(store.artifacts);
      const content = createReadStream(path.join(directory, 'nowhere'));
      // The save is held up before its first read until the stream has failed.
      vi.spyOn(store.artifacts, 'list').mockImplementation(async (...args) => {
        await new Promise<void>((resolve) => (letGo = resolve));
        return list(...args);
      });
      const saving = context.save({ ...source, content }).catch((error: unknown) => error);
      await waitFor(() => letGo !== undefined && content.destroyed);
      await turn();
      letGo?.();
      expect(await saving).toMatchObject({ code: 'ENOENT' });
      expect(uncaught).not.toHaveBeenCalled();
    } finally {
      process.off('uncaughtException', uncaught);
      vi.restoreAllMocks();
    }
  });

  it('closes a stream that it refuses', async () => {
    const { context } = await lab.attempt('1');
    const content = Readable.from(['x']);
    await expect(context.save({ ...source, content, tags: [''] })).rejects.toMatchObject({
      code: 'InvalidCommand',
    });
    expect(content.destroyed).toBe(true);
  });

  it('stops reading a stream when the lease is over, and saves nothing', async () => {
    const { ref, context } = await lab.attempt('1');
    let pieces = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (; pieces < 10_000; pieces += 1) {
        if (pieces === 3) {
          await lab.expire(ref);
          await expect(context.checkpoint('c', 1)).rejects.toMatchObject({ code: 'StaleLease' });
        }
        yield Buffer.alloc(65_536);
      }
    }
    const saving = context.save({ ...source, content: Readable.from(endless()) });
    await expect(saving).rejects.toMatchObject({ code: 'StaleLease' });
    expect(pieces).toBeLessThan(100);
    expect(await rows()).toEqual([]);
  });

  it.each([
    ['both', { content: 'x', file: 'y' }],
    ['neither', {}],
    ['a function', { content: () => 1 }],
  ])('refuses %s of content and file, by rejecting', async (_what, given) => {
    const { context } = await lab.attempt('1');
    const saving = context.save({ ...source, ...given } as unknown as ArtifactInput);
    await expect(saving).rejects.toMatchObject({ code: 'InvalidCommand' });
  });
});

describe('what is said of an artifact', () => {
  it('is kept: tags once each, media type, epoch, agent revision, sources in their order', async () => {
    const first = await lab.attempt('1', '7');
    const a = await first.context.save({ ...source, content: 'a' });
    await lab.expire(first.ref);
    const { context } = await lab.attempt('2', '8');
    const b = await context.save({ ...source, name: 'b', content: 'b' });
    await context.save({
      kind: 'decision',
      name: 'd',
      content: 'because',
      mediaType: 'text/markdown',
      tags: ['x', 'y', 'x'],
      derivedFrom: [b, a],
    });
    expect(await rows()).toMatchObject([
      { name: 'n', number: 1, epoch: 1, agentRevision: 'a@7', tags: [], derivedFrom: [] },
      { name: 'b', number: 2, epoch: 2, agentRevision: 'a@8' },
      {
        name: 'd',
        mediaType: 'text/markdown',
        tags: ['x', 'y'],
        derivedFrom: [
          { attempt: b.attempt, digest: b.digest },
          { attempt: a.attempt, digest: a.digest },
        ],
      },
    ]);
  });

  it('must be of this run: a reference to nothing saves nothing', async () => {
    const { context } = await lab.attempt('1');
    const a = await context.save({ ...source, content: 'a' });
    for (const wrong of [
      { attempt: a.attempt, digest: sha256('never saved') },
      { attempt: 'another', digest: a.digest },
    ]) {
      const saving = context.save({ ...source, name: 'late', content: 'b', derivedFrom: [wrong] });
      await expect(saving).rejects.toMatchObject({ code: 'ArtifactMissing', details: wrong });
    }
    expect(await rows()).toHaveLength(1);
  });

  it.each<[string, object, string]>([
    ['a kind', { kind: 'thought' }, 'InvalidCommand'],
    ['tags that are no list', { tags: 'x' }, 'InvalidCommand'],
    ['a blank tag', { tags: [' '] }, 'InvalidCommand'],
    ['33 tags', { tags: Array.from({ length: 33 }, (_, index) => `${index}`) }, 'TooLarge'],
    ['a media type', { mediaType: '' }, 'InvalidCommand'],
    ['sources', { derivedFrom: [{ digest: 'd' }] }, 'InvalidCommand'],
    ['a source', { derivedFrom: [null] }, 'InvalidCommand'],
    [
      '257 sources',
      { derivedFrom: Array.from({ length: 257 }, () => ({ attempt: 'a', digest: 'd' })) },
      'TooLarge',
    ],
  ])('is refused: %s', async (_what, wrong, code) => {
    const { context } = await lab.attempt('1');
    const saving = context.save({ ...source, content: 'x', ...wrong });
    await expect(saving).rejects.toMatchObject({ code });
    expect(await rows()).toEqual([]);
  });
});

describe('a checkpoint that builds on a predecessor’s', () => {
  const saved = async (context: AgentContext, name: string, value: number, derivedFrom?: []) =>
    (await context.checkpoint(name, value, derivedFrom === undefined ? {} : { derivedFrom })).derivedFrom;

  it('is not recorded as derived from what nobody read, nor from its own', async () => {
    const first = await lab.attempt('1');
    await first.context.checkpoint('at', 1);
    await first.context.lastCheckpoint('at');
    expect(await saved(first.context, 'at', 2)).toEqual([]);
    await lab.expire(first.ref);
    const { context } = await lab.attempt('2');
    expect(await saved(context, 'at', 10)).toEqual([]);
  });

  it('says whose it is, and names it until the agent says otherwise', async () => {
    const first = await lab.attempt('1', '7');
    const c1 = await first.context.checkpoint('at', 1, { tags: ['page'] });
    await first.context.checkpoint('other', 5);
    await lab.expire(first.ref);
    const { context } = await lab.attempt('2', '8');
    const basis = { attempt: c1.attempt, digest: c1.digest };
    expect(await context.lastCheckpoint('at')).toEqual({
      value: 1,
      ...basis,
      number: 1,
      own: false,
      agentRevision: 'a@7',
      savedAt: c1.savedAt,
    });
    expect(await saved(context, 'other', 6)).toEqual([]);
    expect(await saved(context, 'at', 2)).toEqual([basis]);
    expect(await context.lastCheckpoint('at')).toMatchObject({ value: 2, number: 2, own: true });
    expect(await saved(context, 'at', 3)).toEqual([basis]);
    expect(await saved(context, 'at', 4, [])).toEqual([]);
  });
});

describe('reading', () => {
  it('gives streams of this run’s artifacts only', async () => {
    const { context } = await lab.attempt('1');
    const foreign = await store.artifacts.putBytes(Buffer.from('of another run'));
    for (const read of [() => context.readStream(foreign), () => context.read(foreign)])
      await expect(read()).rejects.toMatchObject({ code: 'ArtifactMissing' });
  });

  it.each([
    ['changed', (bytes: Buffer) => bytes.fill('x', 50, 60)],
    ['shortened', (bytes: Buffer) => bytes.subarray(0, 99_999)],
    ['lengthened', (bytes: Buffer) => Buffer.concat([bytes, Buffer.from('!')])],
  ])(
    'a file that was %s is refused, never taken for whole, and mended by saving again',
    async (_how, damage) => {
      const { context } = await lab.attempt('1');
      const content = Buffer.alloc(100_000, 'right');
      const row = await context.save({ ...source, content });
      const file = path.join(`${directory}/x.db.blobs`, row.digest.slice(0, 2), row.digest);
      await writeFile(file, damage(Buffer.from(content)));
      const refusal = { code: 'ArtifactMismatch', details: { digest: row.digest } };
      await expect(context.read(row)).rejects.toMatchObject(refusal);
      await expect(context.readStream(row).then(collect)).rejects.toMatchObject(refusal);
      await rm(file);
      await expect(context.readStream(row)).rejects.toMatchObject({ code: 'ArtifactMissing' });
      await context.save({ ...source, content });
      expect(Buffer.compare(await context.read(row), content)).toBe(0);
    },
  );
});
