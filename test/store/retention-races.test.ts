/** Collections beside saves, and collections that are killed: whatever is kept stays whole, and the next collection finishes. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { DefaultQueryExecutor } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { sha256 } from '../../src/store/canonical.js';
import { openStore } from '../../src/store/open.js';
import type { Fence, Store } from '../../src/store/port.js';
import { startNode, stopAll } from '../support/processes.js';
import { startS3, type S3Server } from '../support/s3.js';
import { compileChild } from './compiled.js';
import { ENGINES, SHARED, type TestEngine } from './engines.js';
import { attachment, claimInput } from './inputs.js';
import { readAll, saveBytes, wholeRun } from './whole-run.js';

const TENANT = 'acme';
const DAY = 86_400_000;
/** Shared by all runs; every third is too large for a row. */
const POOL = Array.from({ length: 9 }, (_, n) => Buffer.alloc(n % 3 === 0 ? 66_000 : 50, `content ${n} `));

const content = (index: number): Buffer => POOL[index] as Buffer;

let s3: S3Server;
let child: Awaited<ReturnType<typeof compileChild>>;
beforeAll(async () => {
  s3 = await startS3();
  child = await compileChild();
});
afterAll(async () => {
  await s3.close();
  await child.remove();
});

interface Made {
  readonly run: string;
  readonly contents: readonly Uint8Array[];
  readonly endedAt: number | null;
  readonly effect: 'committed' | 'unresolved' | null;
}

const BEFORE = 10_000;
const isOld = ({ endedAt, effect }: Made): boolean =>
  endedAt !== null && endedAt < BEFORE && effect !== 'unresolved';

const collectAll = async (store: Store, made: readonly Made[]): Promise<void> => {
  for (const { run } of made)
    await store.retention.collect({ tenant: TENANT, run, before: BEFORE, by: 'ada', at: 1, batch: 3 });
  await store.retention.sweep({ before: Date.now() + DAY, at: Date.now(), dryRun: false });
};

async function liveSlot(store: Store): Promise<Fence> {
  const slot = { tenant: TENANT, run: 'busy', slot: 's', node: 's' };
  const row = { tenant: TENANT, run: 'busy', digest: 'd', pins: {} as never, input: null, createdAt: 1 };
  await store.runs.create(row);
  const { attempt, epoch } = await store.attempts.claim(claimInput(slot));
  const fence = { tenant: TENANT, run: 'busy', slot: 's', attempt, epoch };
  await store.attempts.attach({ fence, attachment: attachment(), at: 1 });
  return fence;
}

/** A save that was told that its bytes went meanwhile is repeated, as agents' steps are. */
async function saveUntilDone(store: Store, fence: Fence, bytes: Uint8Array): Promise<void> {
  for (;;) {
    const done = await saveBytes(store, fence, bytes).catch((error: unknown) => {
      if (['ArtifactMissing', 'StoreUnavailable'].includes((error as { code: string }).code)) return null;
      throw error;
    });
    if (done !== null) return;
  }
}

const runs = fc.array(
  fc.record({
    contents: fc.array(fc.nat(POOL.length - 1), { maxLength: 4 }),
    endedAt: fc.constantFrom(null, 5_000, 9_999, 10_000, 20_000),
    effect: fc.constantFrom('committed', 'unresolved', null),
  }),
  { minLength: 1, maxLength: 6 },
);
const saves = fc.array(fc.nat(POOL.length - 1), { minLength: 1, maxLength: 8 });

describe.each(ENGINES)('random runs and ages: $name', ({ name, missing, place }) => {
  it.skipIf(missing !== null)(
    'exactly what is old goes, and every kept run reads all of its artifacts, while others save and collect the same',
    { timeout: 120_000 },
    async () => {
      const property = fc.asyncProperty(runs, saves, async (drawn, indices) => {
        const { url, remove } = await place();
        const store = await openStore(url);
        // As two processes: with connections of their own.
        const another = name === 'sqlite in memory' ? store : await openStore(url);
        try {
          const busy = indices.map(content);
          const made = drawn.map((one, index): Made => ({
            ...one,
            contents: one.contents.map(content),
            run: `r${index}`,
          }));
          for (const one of made) await wholeRun(store, one);
          const fence = await liveSlot(store);
          await Promise.all([
            collectAll(store, made),
            Promise.all(busy.map((bytes) => saveUntilDone(store, fence, bytes))),
            collectAll(another, made),
          ]);
          const kept = made.filter((one) => !isOld(one));
          const left = (await store.runs.list(TENANT)).map(({ run }) => run).sort();
          expect(left).toEqual([...kept.map(({ run }) => run), 'busy'].sort());
          for (const one of kept) expect(await readAll(store, TENANT, one.run)).toBe(one.contents.length);
          expect(await readAll(store, TENANT, 'busy')).toBe(busy.length);
          await collectAll(store, made);
          const used = new Set([...kept.flatMap(({ contents }) => contents), ...busy]);
          for (const bytes of POOL) {
            const what = bytes.subarray(0, 9).toString();
            expect(await isThere(store, bytes), what).toBe(used.has(bytes));
          }
        } finally {
          await another.close();
          await store.close();
          await remove();
        }
      });
      await fc.assert(property, { numRuns: name === 'sqlite in memory' ? 12 : 5 });
    },
  );
});

describe.each(ENGINES)('bytes that go in the middle of a save: $name', ({ missing, place }) => {
  it.skipIf(missing !== null).each([50, 70_000])('are missed by its write: %i', async (size) => {
    const { url, remove } = await place();
    const store = await openStore(url);
    onTestFinished(async () => {
      await store.close();
      await remove();
    });
    const fence = await liveSlot(store);
    const bytes = Buffer.alloc(size, 'x');
    const meta = { kind: 'source', name: 'x', mediaType: 'text/plain', step: null, at: 3_000 } as const;
    const stored = await store.artifacts.putBytes(bytes);
    const execute = DefaultQueryExecutor.prototype.executeQuery;
    let due = true;
    // The save has looked at them, and has not begun to write.
    const looked = vi
      .spyOn(DefaultQueryExecutor.prototype, 'executeQuery')
      .mockImplementation(async function (this: DefaultQueryExecutor, query) {
        const found = await execute.call(this, query);
        if (due && /^select "size", length/.test(query.sql)) {
          due = false;
          await collectAll(store, []);
        }
        return found;
      });
    try {
      await expect(store.artifacts.save({ fence, ...meta, ...stored })).rejects.toMatchObject({
        code: 'ArtifactMissing',
      });
    } finally {
      looked.mockRestore();
    }
    expect(due).toBe(false);
    expect(await store.artifacts.list(TENANT, 'busy')).toEqual([]);
    await saveBytes(store, fence, bytes);
    expect(await readAll(store, TENANT, 'busy')).toBe(1);
  });
});

async function isThere(store: Store, bytes: Uint8Array): Promise<boolean> {
  return store.artifacts.readBytes(sha256(bytes)).then(
    () => true,
    (error: unknown) => {
      // Never half of them, or others.
      expect(error).toMatchObject({ code: 'ArtifactMissing' });
      return false;
    },
  );
}

interface Killed extends TestEngine {
  blobs(): string | undefined;
}
const withS3: Killed = {
  name: 'sqlite with S3',
  missing: null,
  async place() {
    const directory = await mkdtemp(path.join(tmpdir(), 'baton-gc-'));
    return { url: `sqlite:${directory}/x.db`, remove: () => rm(directory, { recursive: true }) };
  },
  blobs: () => s3.blobs(),
};

describe.each([...SHARED.map((engine): Killed => ({ ...engine, blobs: () => undefined })), withS3])(
  'killed and concurrent collections: $name',
  ({ missing, place, blobs }) => {
    const old = {
      run: 'old',
      contents: [content(0), Buffer.alloc(66_000, 'large'), Buffer.alloc(40, 'small')],
    };
    const kept = { run: 'kept', contents: [content(0), content(3)], endedAt: null };
    let url: string;
    let remove: () => Promise<void>;
    let store: Store;
    let env: Record<string, string>;
    beforeEach(async () => {
      if (missing !== null) return;
      ({ url, remove } = await place());
      const where = blobs();
      env = where === undefined ? {} : { BATON_BLOBS: where };
      store = await openStore(url, { blobs: where });
      for (const one of [old, kept]) await wholeRun(store, one);
    });
    afterEach(async () => {
      if (missing !== null) return;
      await stopAll();
      await store.close();
      await remove();
    });

    /** @returns what it removed, or null when it was killed in place of its nth write */
    async function collector(nth?: number): Promise<{ rows: number; objects: number } | null> {
      const args = ['collect', url, TENANT, ...(nth === undefined ? [] : [String(nth)])];
      const process = await startNode(child.file, args, { env });
      const { code, signal } = await process.exited;
      if (signal === 'SIGKILL') return null;
      expect(code, process.tail()).toBe(0);
      return JSON.parse(await process.ready('json', 1_000)) as { rows: number; objects: number };
    }
    const rowsOf = async (run: string): Promise<number> =>
      Object.values(await store.retention.count(TENANT, run)).reduce((sum, count) => sum + count, 0);

    it.skipIf(missing !== null)(
      'killed between any two writes, what is kept stays whole, and the next one goes on to the end',
      { timeout: 60_000 },
      async () => {
        const whole = await rowsOf(old.run);
        const states = new Set<string>();
        const fence = await liveSlot(store);
        let back: Buffer | undefined;
        let kills = 0;
        // One write further each time, from where the one before has left it; from the first one again when it is the bytes' turn.
        for (let nth = 1; (await collector(nth)) === null; nth += 1) {
          kills += 1;
          if (!states.has('emptied') && (await isDone(old.run))) {
            states.add('emptied');
            nth = 0;
          }
          const begun = await store.retention.runs({
            tenant: TENANT,
            before: 20_000,
            after: null,
            limit: 10,
          });
          for (const { run } of begun.filter(({ collecting }) => collecting)) {
            const rows = await rowsOf(run);
            states.add(rows === whole ? 'marked' : rows > 0 ? 'begun' : 'to be emptied');
            expect(await store.runs.get(TENANT, run)).toBeNull();
          }
          expect(await readAll(store, TENANT, 'kept')).toBe(2);
          if (back) expect(await isThere(store, back)).toBe(true);
          for (const bytes of old.contents) {
            if (await isThere(store, bytes)) continue;
            states.add('bytes gone');
            // Somebody saves them anew, in the middle of their collection.
            if (back === undefined && bytes.byteLength > 65_536)
              await saveBytes(store, fence, (back = bytes));
          }
        }
        expect([...states].sort()).toEqual(['begun', 'bytes gone', 'emptied', 'marked', 'to be emptied']);
        expect(kills).toBeGreaterThan(5);
        expect([await rowsOf(old.run), await isDone(old.run)]).toEqual([0, true]);
        expect(await readAll(store, TENANT, 'kept')).toBe(2);
        expect(await readAll(store, TENANT, 'busy')).toBe(1);
        for (const bytes of old.contents)
          expect(await isThere(store, bytes)).toBe(bytes === back || kept.contents.includes(bytes));
        expect(await collector()).toEqual({ rows: 0, objects: 0 });
      },
    );

    /** Emptied, so that it is not gone on with. */
    const isDone = async (run: string): Promise<boolean> => {
      const left = await store.retention.runs({ tenant: TENANT, before: 20_000, after: null, limit: 10 });
      return (await store.retention.isCollected(TENANT, run)) && !left.some((one) => one.run === run);
    };

    it.skipIf(missing !== null)('several at once remove everything once', async () => {
      const whole = await rowsOf(old.run);
      const before = Date.now() + DAY;
      const without = new Set([`${TENANT}/${old.run}`]);
      const dry = await store.retention.sweep({ before, at: Date.now(), dryRun: true, without });
      const done = await Promise.all([collector(), collector(), collector()]);
      const sum = (part: 'rows' | 'objects') => done.reduce((total, one) => total + (one?.[part] ?? 0), 0);
      const objects = dry.bytes.reduce((total, one) => total + one.objects, 0);
      expect([sum('rows'), sum('objects')]).toEqual([whole, objects]);
      expect(await isDone(old.run)).toBe(true);
      expect(await readAll(store, TENANT, 'kept')).toBe(2);
    });
  },
);
