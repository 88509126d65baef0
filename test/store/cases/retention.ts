/** Closed runs and unused bytes go, nothing else does, and what a dry run tells is what goes. */
import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { publish } from '../../../src/definitions/publish.js';
import { sha256 } from '../../../src/store/canonical.js';
import type { RetentionStore } from '../../../src/store/retention-port.js';
import type { Store } from '../../../src/store/port.js';
import { all } from '../../definitions/fixtures.js';
import { claimInput } from '../inputs.js';
import { readAll, wholeRun } from '../whole-run.js';

const TENANT = 'acme';
const DAY = 86_400_000;
/** All that the tests put is older than that. */
const later = (): number => Date.now() + 2 * DAY;

export function retentionCases(store: () => Store): void {
  const collect = (run: string, more: Partial<Parameters<RetentionStore['collect']>[0]> = {}) =>
    store().retention.collect({ tenant: TENANT, run, before: 20_000, by: 'ada', at: 30_000, ...more });
  const sweep = (more: Partial<Parameters<RetentionStore['sweep']>[0]> = {}) =>
    store().retention.sweep({ before: later(), at: Date.now(), dryRun: false, ...more });
  const has = (digest: string): Promise<boolean> =>
    store()
      .artifacts.readBytes(digest)
      .then(
        () => true,
        () => false,
      );

  it('removes a closed run with all its rows, as counted before, and no other', async () => {
    await wholeRun(store(), { run: 'old', slots: ['a', 'b'] });
    await wholeRun(store(), { run: 'kept' });
    await wholeRun(store(), { run: 'old', tenant: 'other' });
    const others = async () => [
      await store().runs.get(TENANT, 'kept'),
      await store().attempts.list(TENANT, 'kept'),
      await store().artifacts.list(TENANT, 'kept'),
      await store().effects.list(TENANT, 'kept'),
      await store().audit.list({ tenant: TENANT, run: 'kept', limit: 10 }),
      await store().attempts.list('other', 'old'),
      await store().runs.get('other', 'old'),
    ];
    const before = await others();
    const rows = { attempts: 4, leases: 4, effects: 1, artifacts: 2, commands: 1, audit: 1, voidClaims: 2 };
    expect(await store().retention.count(TENANT, 'old')).toEqual(rows);
    expect(await collect('old')).toEqual({ kept: null, rows });
    expect(Object.values(await store().retention.count(TENANT, 'old'))).toEqual(Array(7).fill(0));
    expect(await store().runs.get(TENANT, 'old')).toBeNull();
    expect((await store().runs.list(TENANT)).map(({ run }) => run)).toEqual(['kept']);
    expect(await store().commands.recall(TENANT, 'old', 'c1')).toBeNull();
    expect(await others()).toEqual(before);
    expect(await collect('old')).toMatchObject({ kept: 'unknown' });
  });

  it('keeps a run that is open, young, held, or has an effect that nobody has settled', async () => {
    await wholeRun(store(), { run: 'open', endedAt: null });
    await wholeRun(store(), { run: 'young', endedAt: 20_000 });
    await wholeRun(store(), { run: 'held', held: true });
    for (const effect of ['intent', 'accepted', 'unresolved'] as const)
      await wholeRun(store(), { run: effect, effect });
    const runs = { open: 'open', young: 'young', held: 'held', nobody: 'unknown' } as const;
    const effects = { intent: 'effects', accepted: 'effects', unresolved: 'effects' } as const;
    for (const [run, kept] of Object.entries({ ...runs, ...effects })) {
      const counted = await store().retention.count(TENANT, run);
      expect(await collect(run), run).toMatchObject({ kept });
      expect(await store().retention.count(TENANT, run), run).toEqual(counted);
      expect((await store().runs.get(TENANT, run)) !== null, run).toBe(run !== 'nobody');
    }
  });

  it('lists what may be old enough, with what stands in the way, page by page', async () => {
    await wholeRun(store(), { run: 'b-open', endedAt: null });
    await wholeRun(store(), { run: 'a-effect', effect: 'intent' });
    await wholeRun(store(), { run: 'c-held', held: true });
    await wholeRun(store(), { run: 'd-young', endedAt: 20_000 });
    await wholeRun(store(), { run: 'e', tenant: 'other' });
    const query = { tenant: TENANT, before: 20_000, limit: 2 };
    const first = await store().retention.runs({ ...query, after: null });
    expect(first).toMatchObject([
      { run: 'a-effect', status: 'succeeded', openEffects: 1, heldLeases: 0, collecting: false },
      { run: 'b-open', status: 'running', endedAt: null, createdAt: 1_000, openEffects: 0 },
    ]);
    const next = await store().retention.runs({ ...query, after: 'b-open' });
    expect(next).toMatchObject([{ run: 'c-held', heldLeases: 1 }]);
  });

  it('lets no run have the id again, and no claim, command or offer of it leave a row', async () => {
    await wholeRun(store(), { run: 'old' });
    await collect('old');
    for (const digest of ['d', 'another', '']) {
      const row = { tenant: TENANT, run: 'old', digest, pins: {} as never, input: null, createdAt: 5 };
      await expect(store().runs.create(row)).rejects.toMatchObject({ code: 'RunConflict' });
    }
    const claim = claimInput({ tenant: TENANT, run: 'old', slot: 'a' });
    await expect(store().attempts.claim(claim)).rejects.toMatchObject({ code: 'RunNotFound' });
    await store().attempts.voidClaim({ tenant: TENANT, run: 'old', slot: 'a', claimId: 'x' });
    const command = { tenant: TENANT, run: 'old', commandId: 'c9', name: 'save', digest: 'd', at: 1 };
    expect(await store().commands.remember({ ...command, answer: 'first' })).toBe('first');
    expect(Object.values(await store().retention.count(TENANT, 'old'))).toEqual(Array(7).fill(0));
    expect(await store().retention.isCollected(TENANT, 'old')).toBe(true);
    expect(await store().retention.isCollected('other', 'old')).toBe(false);
  });

  it.each([1, 2, 3, 500])('removes the same in batches of %i', async (batch) => {
    const slots = ['a', 'b', 'c'];
    await wholeRun(store(), { run: 'old', slots, contents: [randomBytes(5), randomBytes(5)] });
    const rows = await store().retention.count(TENANT, 'old');
    expect(await collect('old', { batch })).toEqual({ kept: null, rows });
    expect(Object.values(await store().retention.count(TENANT, 'old'))).toEqual(Array(7).fill(0));
  });

  it('takes bytes once nobody refers to them any more, and a dry run tells which', async () => {
    const [shared, own, large, sharedLarge] = [10, 11, 100_000, 100_001].map((size) => randomBytes(size));
    const bytes = [shared, own, large, sharedLarge] as Buffer[];
    await wholeRun(store(), { run: 'old', contents: bytes, effect: null });
    await wholeRun(store(), { run: 'kept', contents: [shared, sharedLarge] as Buffer[], effect: null });
    expect((await sweep()).bytes).toEqual([]);
    const without = new Set([`${TENANT}/old`]);
    const dry = await sweep({ dryRun: true, without });
    for (const one of bytes) expect(await has(sha256(one))).toBe(true);
    await collect('old');
    const swept = await sweep();
    expect(swept).toEqual(dry);
    // The one artifact, the large one, and the result; where they are is the engine's.
    const result = Buffer.byteLength('"old a"');
    expect(sum(swept.bytes.map(({ objects }) => objects))).toBe(3);
    expect(sum(swept.bytes.map(({ bytes: size }) => size))).toBe(11 + 100_000 + result);
    expect(await Promise.all(bytes.map((one) => has(sha256(one))))).toEqual([true, false, false, true]);
    expect(await readAll(store(), TENANT, 'kept')).toBe(2);
    expect((await sweep()).bytes).toEqual([]);
    // What is put again is there again.
    for (const one of [own, large] as Buffer[]) {
      await store().artifacts.putBytes(one);
      expect(await has(sha256(one))).toBe(true);
    }
  });

  it('counts bytes once that several collections find at once', async () => {
    const contents = Array.from({ length: 12 }, (_, n) => Buffer.alloc(n % 2 === 0 ? 70_000 : 30, `${n}.`));
    for (const bytes of contents) await store().artifacts.putBytes(bytes);
    const swept = await Promise.all([sweep(), sweep(), sweep()]);
    expect(sum(swept.flatMap(({ bytes }) => bytes.map(({ objects }) => objects)))).toBe(12);
    for (const bytes of contents) expect(await has(sha256(bytes))).toBe(false);
  });

  it('keeps bytes that were put since, again too, and those of revisions', async () => {
    const [small, large] = [randomBytes(20), randomBytes(100_000)] as [Buffer, Buffer];
    for (const bytes of [small, large]) await store().artifacts.putBytes(bytes);
    await publish(store(), { tenant: TENANT, actor: 'ada', at: 1, documents: all() });
    const between = Date.now() + 1;
    while (Date.now() <= between);
    for (const bytes of [small, large]) await store().artifacts.putBytes(bytes);
    expect((await sweep({ before: between })).bytes).toEqual([]);
    expect(await Promise.all([small, large].map((bytes) => has(sha256(bytes))))).toEqual([true, true]);
    const { bytes } = await sweep();
    expect(sum(bytes.map(({ objects }) => objects))).toBe(2);
    expect(await has(sha256('Be brief.'))).toBe(true);
  });

  it('never lets a save refer to bytes that it takes at that moment', async () => {
    const slot = { tenant: TENANT, run: 'busy', slot: 'a', node: 'a' };
    const { attempt, epoch } = await store().attempts.claim(claimInput(slot));
    const fence = { tenant: TENANT, run: 'busy', slot: 'a', attempt, epoch };
    const attached = { workflowRunId: 'w', activityId: '1', taskToken: Uint8Array.of(1) };
    await store().attempts.attach({ fence, attachment: attached, at: 1 });
    let [saved, refused] = [0, 0];
    let over = false;
    const sweeping = (async () => {
      while (!over) await sweep();
    })();
    const save = async (bytes: Buffer): Promise<void> => {
      const meta = { kind: 'source', name: 'x', mediaType: 'text/plain', step: null, at: 1 } as const;
      try {
        const stored = await store().artifacts.putBytes(bytes);
        await store().artifacts.save({ fence, ...meta, ...stored });
        saved += 1;
      } catch (error) {
        // Collected between the two, as bytes of this age may be: the caller is told.
        expect(['ArtifactMissing', 'StoreUnavailable']).toContain((error as { code?: string }).code);
        refused += 1;
      }
    };
    // Each twice: a put of what is there, and is about to be taken, is the case.
    const contents = Array.from({ length: 30 }, (_, n) => Buffer.alloc(n % 3 === 0 ? 70_000 : 30, `${n}.`));
    try {
      for (const bytes of contents) await Promise.all([save(bytes), save(bytes)]);
    } finally {
      over = true;
      await sweeping;
    }
    expect(saved + refused).toBe(60);
    expect(saved).toBeGreaterThan(0);
    await sweep();
    expect(await readAll(store(), TENANT, 'busy')).toBe(saved);
  });
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
