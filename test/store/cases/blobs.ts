/** What every object store behind the port must do. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { BlobStore } from '../../../src/store/blob-port.js';
import { sha256 } from '../../../src/store/canonical.js';
import { collect } from '../../../src/store/verified.js';

export interface BlobCase {
  readonly store: BlobStore;
  /** Digests of all objects that can be addressed, and leftovers that are not under a digest. */
  listed(): Promise<readonly string[]>;
}

export function blobCases(opened: () => BlobCase): void {
  const store = (): BlobStore => opened().store;

  it.each([0, 1, 65_537, 12_000_000])('gives back %i bytes exactly', async (size) => {
    const bytes = randomBytes(size);
    const pieces = [bytes.subarray(0, size >> 1), bytes.subarray(size >> 1)];
    const digest = sha256(bytes);
    expect(await store().put(pieces)).toEqual({ digest, size });
    expect(await store().has(digest)).toBe(size);
    const read = await store().get(digest);
    expect(read !== null && Buffer.compare(await collect(read), bytes)).toBe(0);
  });

  it('takes the same bytes twice and at once', async () => {
    const bytes = randomBytes(100_000);
    const puts = await Promise.all([store().put([bytes]), store().put([bytes]), store().put([bytes])]);
    expect(new Set(puts.map(({ digest }) => digest))).toEqual(new Set([sha256(bytes)]));
    expect(await opened().listed()).toEqual([sha256(bytes)]);
  });

  it('has nothing of a source that fails in the middle, and throws what it threw', async () => {
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield randomBytes(6_000_000);
      await sleep(1);
      throw new Error('the source failed');
    }
    await expect(store().put(failing())).rejects.toThrow('the source failed');
    expect(await opened().listed()).toEqual([]);
  });

  it('knows nothing of other digests, whatever they look like', async () => {
    for (const digest of [sha256('nobody'), '', '../../etc/passwd', 'A'.repeat(64), 'ab/../x']) {
      expect(await store().get(digest)).toBeNull();
      expect(await store().has(digest)).toBeNull();
    }
  });

  it('does not read ahead of its reader without end', async () => {
    const bytes = randomBytes(8_000_000);
    const { digest } = await store().put([bytes]);
    const read = await store().get(digest);
    const first = (await read?.[Symbol.asyncIterator]().next())?.value as Uint8Array;
    expect(first.byteLength).toBeLessThan(2_000_000);
    read?.destroy();
  });
}
