/** Attach, stage, beat: fenced by attempt and epoch, only under a live lease. */
import { expect, it } from 'vitest';
import { sha256 } from '../../../src/store/canonical.js';
import type { Fence, Store } from '../../../src/store/port.js';
import { attachment, claimInput, fenceOf, RUN, settleInput } from '../inputs.js';

const refused = (code: string) => expect.objectContaining({ name: 'BatonError', code });

export function leaseCases(store: () => Store): void {
  const attempts = () => store().attempts;
  const live = async (): Promise<Fence> => {
    const fence = fenceOf(await attempts().claim(claimInput()));
    await attempts().attach({ fence, attachment: attachment(), at: 2_000 });
    return fence;
  };
  const row = (fence: Fence) => attempts().get(fence.tenant, fence.run, fence.attempt);

  it('attaches: worker running, lease live, the token byte for byte', async () => {
    const fence = await live();
    expect(await row(fence)).toMatchObject({
      workerStatus: 'running',
      leaseStatus: 'live',
      startedAt: 2_000,
      attachment: attachment(),
    });
  });

  it('moves to a new activity and keeps the first start', async () => {
    const fence = await live();
    const moved = await attempts().attach({ fence, attachment: attachment('99'), at: 5_000 });
    expect(moved).toMatchObject({ startedAt: 2_000, attachment: { activityId: '99' }, leaseStatus: 'live' });
  });

  it('refuses every fenced write whose fence differs in one thing, and changes nothing', async () => {
    const fence = await live();
    const { digest, size } = await store().artifacts.putBytes(Buffer.from('x'));
    const before = await row(fence);
    const wrong: Fence[] = [
      { ...fence, tenant: 'ACME' },
      { ...fence, run: 'r2' },
      { ...fence, slot: 'report' },
      { ...fence, attempt: 'a-none' },
      { ...fence, epoch: fence.epoch + 1 },
      { ...fence, epoch: fence.epoch - 1 },
    ];
    const artifact = {
      kind: 'source',
      name: 'n',
      digest,
      size,
      mediaType: 'text/plain',
      step: null,
      at: 1,
    } as const;
    for (const other of wrong) {
      const writes = [
        () => attempts().attach({ fence: other, attachment: attachment(), at: 1 }),
        () => attempts().beat({ fence: other, deadline: 1 }),
        () => attempts().stage({ fence: other, kind: 'completion', result: null, failure: null }),
        () => store().artifacts.save({ fence: other, ...artifact }),
      ];
      for (const write of writes) await expect(write()).rejects.toEqual(refused('StaleLease'));
    }
    expect(await row(fence)).toEqual(before);
    expect(await store().artifacts.list(RUN.tenant, RUN.run)).toEqual([]);
  });

  it('refuses every fenced write after the end', async () => {
    const fence = await live();
    const { digest, size } = await store().artifacts.putBytes(Buffer.from('x'));
    await attempts().settle(settleInput(fence));
    const before = await row(fence);
    const artifact = {
      kind: 'source',
      name: 'n',
      digest,
      size,
      mediaType: 'text/plain',
      step: null,
      at: 1,
    } as const;
    await expect(attempts().attach({ fence, attachment: attachment(), at: 1 })).rejects.toEqual(
      refused('StaleLease'),
    );
    await expect(attempts().beat({ fence, deadline: 1 })).rejects.toEqual(refused('StaleLease'));
    await expect(store().artifacts.save({ fence, ...artifact })).rejects.toEqual(refused('StaleLease'));
    await expect(attempts().stage({ fence, kind: 'failure', result: null, failure: null })).rejects.toEqual(
      refused('StaleLease'),
    );
    expect(await row(fence)).toEqual(before);
  });

  it('records what a beat moved the deadline to', async () => {
    const fence = await live();
    await attempts().beat({ fence, deadline: 77_000 });
    expect(await row(fence)).toMatchObject({ deadline: 77_000 });
  });

  it('stages once: the same again gives the same id, another content is a conflict', async () => {
    const fence = await live();
    const { digest } = await store().artifacts.putBytes(Buffer.from('"done"'));
    const completion = { fence, kind: 'completion', result: digest, failure: null } as const;
    const all = await Promise.all([
      attempts().stage(completion),
      attempts().stage(completion),
      attempts().stage(completion),
    ]);
    expect(new Set(all.map((staged) => staged.id)).size).toBe(1);
    expect((await row(fence))?.staged).toEqual(all[0]);
    const failure = { code: 'Broken', message: 'no' };
    await expect(attempts().stage({ ...completion, result: null })).rejects.toEqual(
      refused('CompletionConflict'),
    );
    await expect(attempts().stage({ fence, kind: 'failure', result: null, failure })).rejects.toEqual(
      refused('CompletionConflict'),
    );
    expect((await row(fence))?.staged).toEqual(all[0]);
  });

  it('refuses a completion whose bytes are not there; the attempt stays live and can be repaired', async () => {
    const fence = await live();
    const bytes = Buffer.from('"late"');
    const result = sha256(bytes);
    const complete = () => attempts().stage({ fence, kind: 'completion', result, failure: null });
    await expect(complete()).rejects.toEqual(refused('ArtifactMissing'));
    expect(await row(fence)).toMatchObject({ leaseStatus: 'live', staged: null });
    await store().artifacts.putBytes(bytes);
    expect(await complete()).toMatchObject({ kind: 'completion', result });
  });
}
