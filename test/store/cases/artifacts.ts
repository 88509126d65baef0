/** Bytes by digest and the rows that point to them. */
import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { sha256 } from '../../../src/store/canonical.js';
import type { Fence, Store } from '../../../src/store/port.js';
import { collect } from '../../../src/store/verified.js';
import { attachment, claimInput, fenceOf, RUN, settleInput } from '../inputs.js';

export function artifactCases(store: () => Store): void {
  const live = async (): Promise<Fence> => {
    const fence = fenceOf(await store().attempts.claim(claimInput()));
    await store().attempts.attach({ fence, attachment: attachment(), at: 2_000 });
    return fence;
  };
  const meta = {
    kind: 'decision',
    name: 'left-pad',
    mediaType: 'text/plain',
    step: 'notes',
    at: 3_000,
  } as const;

  it.each([0, 1, 65_536, 65_537, 3_000_000])(
    'gives back %i bytes exactly, put twice and at once',
    async (size) => {
      const bytes = Buffer.alloc(size, 'baton\0');
      const digest = sha256(bytes);
      const puts = [store().artifacts.putBytes(bytes), store().artifacts.putBytes(Uint8Array.from(bytes))];
      expect(await Promise.all(puts)).toEqual([
        { digest, size },
        { digest, size },
      ]);
      expect(Buffer.compare(await store().artifacts.readBytes(digest), bytes)).toBe(0);
    },
  );

  it.each([0, 1, 65_536, 65_537, 3_000_000])('streams %i bytes in and out', async (size) => {
    const bytes = randomBytes(size);
    async function* pieces(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < size; at += 40_000) yield bytes.subarray(at, at + 40_000);
    }
    expect(await store().artifacts.putStream(pieces())).toEqual({ digest: sha256(bytes), size });
    const read = await collect(await store().artifacts.readStream(sha256(bytes)));
    expect(Buffer.compare(read, bytes)).toBe(0);
    expect(await store().artifacts.putBytes(bytes)).toEqual({ digest: sha256(bytes), size });
  });

  it('keeps nothing of a stream that fails', async () => {
    const bytes = randomBytes(100_000);
    async function* pieces(): AsyncGenerator<Uint8Array> {
      yield bytes;
      await Promise.reject(new Error('the source failed'));
    }
    await expect(store().artifacts.putStream(pieces())).rejects.toThrow('the source failed');
    await expect(store().artifacts.readStream(sha256(bytes))).rejects.toMatchObject({
      code: 'ArtifactMissing',
    });
  });

  it('says when bytes are missing, whatever the digest looks like', async () => {
    for (const digest of [sha256('nobody'), '', '../../etc/passwd', 'A'.repeat(64)]) {
      await expect(store().artifacts.readBytes(digest)).rejects.toMatchObject({ code: 'ArtifactMissing' });
      await expect(store().artifacts.readStream(digest)).rejects.toMatchObject({ code: 'ArtifactMissing' });
    }
  });

  it('saves under the live lease, adds rows for a repeated name, lists in order and after the loss', async () => {
    const fence = await live();
    const first = await store().artifacts.putBytes(Buffer.from('one'));
    const second = await store().artifacts.putBytes(Buffer.from('two'));
    const saved = await store().artifacts.save({ fence, ...meta, ...first });
    expect(saved).toEqual({
      ...RUN,
      slot: 'research',
      attempt: fence.attempt,
      number: 1,
      kind: 'decision',
      name: 'left-pad',
      ...first,
      mediaType: 'text/plain',
      step: 'notes',
      savedAt: 3_000,
      epoch: fence.epoch,
      stepRevision: null,
      tags: [],
      agentRevision: null,
      derivedFrom: [],
    });
    const provenance = {
      stepRevision: '2',
      tags: ['draft', 'ü'],
      agentRevision: 'writer@4',
      derivedFrom: [{ attempt: fence.attempt, digest: first.digest }],
    };
    const next = { fence, ...meta, step: null, ...second, ...provenance, derivedFrom: [saved] };
    expect(await store().artifacts.save(next)).toMatchObject(provenance);
    await store().attempts.settle(settleInput(fence));
    const listed = await store().artifacts.list(RUN.tenant, RUN.run, 'research');
    expect(listed.map((row) => [row.digest, row.step])).toEqual([
      [first.digest, 'notes'],
      [second.digest, null],
    ]);
    expect(listed[1]).toMatchObject(provenance);
    expect(await store().artifacts.list(RUN.tenant, RUN.run, 'report')).toEqual([]);
    expect(await store().artifacts.list('other', RUN.run)).toEqual([]);
  });

  it('refuses missing bytes and another size; the lease stays live', async () => {
    const fence = await live();
    const { digest, size } = await store().artifacts.putBytes(Buffer.from('one'));
    const save = (change: { digest?: string; size?: number }) =>
      store().artifacts.save({ fence, ...meta, digest, size, ...change });
    await expect(save({ digest: sha256('none') })).rejects.toMatchObject({ code: 'ArtifactMissing' });
    await expect(save({ size: 4 })).rejects.toMatchObject({ code: 'ArtifactMismatch' });
    expect(await store().artifacts.list(RUN.tenant, RUN.run)).toEqual([]);
    await expect(save({})).resolves.toMatchObject({ digest });
  });
}
