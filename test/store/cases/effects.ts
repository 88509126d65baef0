/**
 * Effects: one intent a key, written under the live lease only; outcomes that follow each other as the table says; a completion
 * that waits for all of them; an operator's word where nobody is at it.
 */
import { beforeEach, expect, it } from 'vitest';
import { openAmong } from '../../../src/domain/effect.js';
import type { EffectRecord, Fence, Store } from '../../../src/store/port.js';
import { attachment, claimInput, fenceOf, RUN, settleInput } from '../inputs.js';

const digest = 'd'.repeat(64);
const failure = { code: 'Away', message: 'the owner is away' };

export function effectCases(store: () => Store): void {
  let fence: Fence;
  const claimed = async (): Promise<Fence> => {
    const next = fenceOf(await store().attempts.claim(claimInput()));
    await store().attempts.attach({ fence: next, attachment: attachment(), at: 2_000 });
    return next;
  };
  const begin = (by: Fence, name = 'pay', at = 3_000) =>
    store().effects.begin({
      fence: by,
      name,
      instance: null,
      key: `e-${name}`,
      requestDigest: digest,
      at,
    });
  const record = (by: Fence, outcome: EffectRecord, name = 'pay') =>
    store().effects.record({ fence: by, key: `e-${name}`, record: outcome, at: 4_000 });
  const resolve = (
    outcome: { state: 'committed'; receipt: number } | { state: 'absent' },
    commandId = 'c1',
    name = 'pay',
  ) =>
    store().effects.resolve({
      ...RUN,
      slot: 'research',
      name,
      instance: null,
      outcome,
      actor: 'ada',
      reason: 'asked the bank',
      commandId,
      at: 5_000,
    });
  const complete = (by: Fence) =>
    store().attempts.stage({ fence: by, kind: 'completion', result: null, failure: null });
  const lost = (by: Fence) => store().attempts.settle(settleInput(by));

  beforeEach(async () => {
    fence = await claimed();
  });

  it('records an intent once, and gives a successor the row with its first attempt', async () => {
    const { row, begun } = await begin(fence);
    expect(begun).toBe(true);
    expect(row).toEqual({
      ...RUN,
      slot: 'research',
      name: 'pay',
      instance: null,
      key: 'e-pay',
      requestDigest: digest,
      state: 'intent',
      receipt: null,
      handle: null,
      failure: null,
      attempt: fence.attempt,
      epoch: fence.epoch,
      resolvedBy: null,
      intentAt: 3_000,
      updatedAt: 3_000,
    });
    expect(await begin(fence, 'pay', 3_500)).toEqual({ row, begun: false });
    const settled = await lost(fence);
    expect(settled.effects).toEqual({
      count: 1,
      listed: [{ name: 'pay', instance: null, state: 'intent' }],
    });
    expect(await lost(fence)).toEqual(settled);
    const second = await claimed();
    expect(await begin(second, 'pay', 9_000)).toEqual({ row, begun: false });
    expect(await record(second, { state: 'intent' })).toMatchObject({
      attempt: second.attempt,
      epoch: second.epoch,
      state: 'intent',
    });
    expect(await store().effects.list(RUN.tenant, RUN.run, 'report')).toEqual([]);
    expect(await store().effects.list('other', RUN.run)).toEqual([]);
  });

  it('writes nothing for a lease that is over, of another epoch or another slot', async () => {
    await begin(fence);
    const wrong = { ...fence, epoch: fence.epoch + 1 };
    const elsewhere = { ...fence, slot: 'report' };
    for (const other of [wrong, elsewhere]) {
      await expect(begin(other)).rejects.toMatchObject({ code: 'StaleLease' });
      await expect(record(other, { state: 'committed', receipt: 1 })).rejects.toMatchObject({
        code: 'StaleLease',
      });
    }
    await lost(fence);
    await expect(begin(fence)).rejects.toMatchObject({ code: 'StaleLease' });
    await expect(begin(fence, 'new')).rejects.toMatchObject({ code: 'StaleLease' });
    await expect(record(fence, { state: 'committed', receipt: 1 })).rejects.toMatchObject({
      code: 'StaleLease',
    });
    expect(await store().effects.list(RUN.tenant, RUN.run)).toMatchObject([{ state: 'intent' }]);
  });

  it('keeps the first end, a receipt of null too', async () => {
    await begin(fence);
    expect(await record(fence, { state: 'committed', receipt: null })).toMatchObject({
      state: 'committed',
      receipt: null,
    });
    for (const late of [
      { state: 'rejected', failure },
      { state: 'unresolved', failure },
      { state: 'intent' },
      { state: 'committed', receipt: 2 },
    ] as const) {
      expect(await record(fence, late)).toMatchObject({ state: 'committed', receipt: null, failure: null });
    }
  });

  it('keeps the handle of what was accepted through not knowing', async () => {
    await begin(fence);
    await record(fence, { state: 'accepted', handle: { job: 7 } });
    expect(await record(fence, { state: 'unresolved', failure })).toMatchObject({
      state: 'unresolved',
      handle: { job: 7 },
      failure,
    });
  });

  it.each(['intent', 'accepted', 'unresolved'] as const)(
    'stages no completion while an effect is %s, and the attempt stays live; a failure ends it and carries the effect on',
    async (state) => {
      await begin(fence);
      if (state === 'accepted') await record(fence, { state, handle: 1 });
      if (state === 'unresolved') await record(fence, { state, failure });
      await expect(complete(fence)).rejects.toMatchObject({
        code: 'EffectUnresolved',
        details: { effects: [`pay: ${state}`] },
      });
      expect(await store().attempts.get(RUN.tenant, RUN.run, fence.attempt)).toMatchObject({
        leaseStatus: 'live',
        staged: null,
      });
      const staged = await store().attempts.stage({ fence, kind: 'failure', result: null, failure });
      const settled = await store().attempts.settle(
        settleInput(fence, { end: 'failure', staged: staged.id }),
      );
      expect(settled).toMatchObject({
        end: 'failure',
        effects: { count: 1, listed: [{ name: 'pay', state }] },
      });
    },
  );

  it('stages a completion once all is known, and begins nothing after it', async () => {
    await begin(fence);
    await begin(fence, 'mail');
    await record(fence, { state: 'committed', receipt: 'r' });
    await expect(complete(fence)).rejects.toMatchObject({ details: { effects: ['mail: intent'] } });
    await record(fence, { state: 'rejected', failure }, 'mail');
    const { id } = await complete(fence);
    await expect(begin(fence, 'late')).rejects.toMatchObject({ code: 'StaleLease' });
    const settled = await store().attempts.settle(settleInput(fence, { end: 'success', staged: id }));
    expect(settled).toMatchObject({ end: 'success', effects: { count: 0, listed: [] } });
  });

  it('takes an operator’s word only where no worker is at it; the first word stands', async () => {
    await begin(fence);
    await expect(resolve({ state: 'absent' })).rejects.toMatchObject({ code: 'EffectNotUnresolved' });
    await expect(resolve({ state: 'absent' }, 'c1', 'other')).rejects.toMatchObject({
      code: 'EffectNotFound',
    });
    await lost(fence);
    const row = await resolve({ state: 'committed', receipt: 42 });
    expect(row).toMatchObject({
      state: 'committed',
      receipt: 42,
      resolvedBy: { outcome: 'committed', actor: 'ada', reason: 'asked the bank', at: 5_000 },
    });
    expect(await resolve({ state: 'committed', receipt: 42 })).toEqual(row);
    await expect(resolve({ state: 'absent' }, 'c2')).rejects.toMatchObject({ code: 'EffectNotUnresolved' });
    expect(await store().effects.list(RUN.tenant, RUN.run)).toEqual([row]);
  });

  it('lets what is unresolved be settled under a live lease, and what is absent be sent again', async () => {
    await begin(fence);
    await record(fence, { state: 'unresolved', failure });
    expect(await resolve({ state: 'absent' })).toMatchObject({ state: 'absent', failure: null });
    // The worker’s own “not known” comes late.
    expect(await record(fence, { state: 'unresolved', failure })).toMatchObject({ state: 'absent' });
    await expect(complete(fence)).resolves.toMatchObject({ kind: 'completion' });
    await lost(fence);
    const second = await claimed();
    expect(await record(second, { state: 'intent' })).toMatchObject({
      state: 'intent',
      epoch: second.epoch,
      resolvedBy: { outcome: 'absent', actor: 'ada' },
    });
    // Not taken for what the operator said.
    expect(await record(second, { state: 'committed', receipt: 1 })).toMatchObject({
      state: 'committed',
      resolvedBy: { outcome: 'absent', actor: 'ada' },
    });
  });

  it('takes the owner’s word over an operator’s “absent”', async () => {
    await begin(fence);
    await record(fence, { state: 'unresolved', failure });
    await resolve({ state: 'absent' });
    expect(await record(fence, { state: 'committed', receipt: 9 })).toMatchObject({
      state: 'committed',
      receipt: 9,
      resolvedBy: { outcome: 'absent' },
    });
  });

  it('lists at most 50 open effects in a settle', async () => {
    for (let index = 0; index < 53; index += 1) await begin(fence, `n${index}`);
    const { effects } = await lost(fence);
    expect(effects.count).toBe(53);
    expect(await store().effects.open(RUN.tenant, RUN.run, 'research')).toEqual(effects);
    expect(openAmong(await store().effects.list(RUN.tenant, RUN.run, 'research'))).toEqual(effects);
    expect(effects.listed).toHaveLength(50);
    expect(effects.listed[0]).toMatchObject({ name: 'n0' });
  });
}
