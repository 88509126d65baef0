/** Settle: the table of ends (design, section 2), once and for good. */
import { expect, it } from 'vitest';
import type { EndKind } from '../../../src/domain/types.js';
import type { Fence, Staged, Store } from '../../../src/store/port.js';
import { attachment, claimInput, fenceOf, RUN, settleInput } from '../inputs.js';

const ENDS: readonly (readonly [EndKind, string, string, string])[] = [
  ['expired', 'lost', 'expired', 'LeaseExpired'],
  ['max-duration', 'lost', 'expired', 'MaxDuration'],
  ['released', 'released', 'released', 'Released'],
  ['revoked', 'cancelled', 'revoked', 'Revoked'],
  ['cancelled', 'cancelled', 'revoked', 'Cancelled'],
  ['outside', 'failed', 'released', 'CompletedOutside'],
];
const FAILURE = { code: 'Broken', message: 'a “quoted” cause\n' };

export function settleCases(store: () => Store): void {
  const attempts = () => store().attempts;
  const live = async (): Promise<Fence> => {
    const fence = fenceOf(await attempts().claim(claimInput()));
    await attempts().attach({ fence, attachment: attachment(), at: 2_000 });
    return fence;
  };
  const row = (fence: Fence) => attempts().get(fence.tenant, fence.run, fence.attempt);
  const stage = (fence: Fence, kind: Staged['kind'], result: string | null = null) =>
    attempts().stage({ fence, kind, result, failure: kind === 'failure' ? FAILURE : null });

  it.each(ENDS)('%s: worker %s, lease %s, failure %s', async (end, workerStatus, leaseStatus, code) => {
    const fence = await live();
    const settled = await attempts().settle(settleInput(fence, { end, deadline: 8_000 }));
    expect(settled).toMatchObject({ end, workerStatus, leaseStatus, failure: { code }, result: null });
    expect(await row(fence)).toMatchObject({
      workerStatus,
      leaseStatus,
      failure: { code },
      endedAt: 9_000,
      deadline: 8_000,
    });
  });

  it('records nothing of a claim that never attached and left no row', async () => {
    const fence = { ...(await live()), attempt: 'a-invented' };
    expect(await attempts().settle(settleInput(fence, { end: 'never-attached' }))).toMatchObject({
      end: 'never-attached',
      leaseStatus: 'void',
    });
    expect(await row(fence)).toBeNull();
  });

  it('success needs the staged completion with that id', async () => {
    const fence = await live();
    const { digest } = await store().artifacts.putBytes(Buffer.from('{"n":1}'));
    const { id } = await stage(fence, 'completion', digest);
    const settled = await attempts().settle(settleInput(fence, { end: 'success', staged: id }));
    expect(settled).toEqual({
      end: 'success',
      workerStatus: 'succeeded',
      leaseStatus: 'released',
      failure: null,
      result: digest,
      effects: { count: 0, listed: [] },
    });
  });

  it('a failure and a release of the holder are taken from what was staged', async () => {
    const failed = await live();
    const { id } = await stage(failed, 'failure');
    const said = settleInput(failed, { end: 'failure', staged: id, failure: { code: 'Other', message: '' } });
    expect(await attempts().settle(said)).toMatchObject({
      end: 'failure',
      workerStatus: 'failed',
      failure: FAILURE,
    });
    const released = await live();
    const release = await stage(released, 'release');
    const settled = await attempts().settle(settleInput(released, { end: 'released', staged: release.id }));
    expect(settled).toMatchObject({
      end: 'released',
      workerStatus: 'released',
      leaseStatus: 'released',
      failure: { code: 'Released' },
    });
  });

  it.each<[EndKind, Staged['kind'] | null, 'right' | 'wrong' | null]>([
    ['success', null, null],
    ['success', null, 'wrong'],
    ['success', 'completion', 'wrong'],
    ['success', 'completion', null],
    ['success', 'failure', 'right'],
    ['failure', null, null],
    ['failure', 'failure', 'wrong'],
    ['failure', 'completion', 'right'],
    ['released', 'release', 'wrong'],
    ['released', 'completion', 'right'],
  ])('%s with %s staged and the %s id is an end from outside', async (end, kind, id) => {
    const fence = await live();
    const staged = kind === null ? null : await stage(fence, kind);
    const input = settleInput(fence, {
      end,
      staged: id === 'right' ? staged!.id : id === 'wrong' ? 's-none' : null,
    });
    expect(await attempts().settle(input)).toMatchObject({
      end: 'outside',
      workerStatus: 'failed',
      leaseStatus: 'released',
      failure: { code: 'CompletedOutside' },
      result: null,
    });
  });

  it('is written once: repeated with anything, it answers what is recorded', async () => {
    const fence = await live();
    const first = await attempts().settle(settleInput(fence, { failure: FAILURE }));
    expect(first.failure).toEqual(FAILURE);
    const before = await row(fence);
    for (const end of ['success', 'revoked', 'never-attached', 'expired'] as const) {
      expect(await attempts().settle(settleInput(fence, { end, endedAt: 1, deadline: 1 }))).toEqual(first);
    }
    expect(await row(fence)).toEqual(before);
  });

  it('of several at once, one is recorded and all answer it', async () => {
    const fence = await live();
    const all = await Promise.all(ENDS.map(([end]) => attempts().settle(settleInput(fence, { end }))));
    expect(new Set(all.map((settled) => JSON.stringify(settled))).size).toBe(1);
  });

  it('a row that never attached becomes void, and its offer with it', async () => {
    const input = claimInput();
    const fence = fenceOf(await attempts().claim(input));
    const settled = await attempts().settle(settleInput(fence, { end: 'cancelled' }));
    expect(settled).toMatchObject({ end: 'never-attached', leaseStatus: 'void' });
    expect(await attempts().settle(settleInput(fence, { end: 'expired' }))).toEqual(settled);
    await expect(attempts().attach({ fence, attachment: attachment(), at: 1 })).rejects.toMatchObject({
      code: 'StaleLease',
    });
    await expect(attempts().claim(input)).rejects.toMatchObject({ code: 'StaleLease' });
    expect(await attempts().list(RUN.tenant, RUN.run)).toEqual([]);
  });

  it('a row that did attach though the run was not told is a loss', async () => {
    const fence = await live();
    expect(await attempts().settle(settleInput(fence, { end: 'never-attached' }))).toMatchObject({
      end: 'expired',
      workerStatus: 'lost',
    });
  });

  it('keeps the deadline that beats told when the end brings none', async () => {
    const fence = await live();
    await attempts().beat({ fence, deadline: 70_000 });
    await attempts().settle(settleInput(fence));
    expect(await row(fence)).toMatchObject({ deadline: 70_000 });
  });

  it('refuses a fence of another epoch, and says so when the store has lost the attempt', async () => {
    const fence = await live();
    await expect(attempts().settle(settleInput({ ...fence, epoch: 9 }))).rejects.toMatchObject({
      code: 'StaleLease',
    });
    await expect(attempts().settle(settleInput({ ...fence, attempt: 'a-lost' }))).rejects.toMatchObject({
      code: 'StoreUnavailable',
    });
    expect(await row(fence)).toMatchObject({ leaseStatus: 'live' });
  });

  it('frees the slot for the next attempt, and keeps the earlier one', async () => {
    const fence = await live();
    await attempts().settle(settleInput(fence));
    const next = await attempts().claim(claimInput({ worker: 'w2' }));
    expect([next.number, next.epoch]).toEqual([2, 2]);
    expect((await attempts().list(RUN.tenant, RUN.run, 'research')).map((a) => a.leaseStatus)).toEqual([
      'expired',
      'provisional',
    ]);
    expect(await attempts().list(RUN.tenant, RUN.run, 'other')).toEqual([]);
  });
}
