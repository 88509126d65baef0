/** Claims: epochs, numbers, idempotency, tombstones. */
import { expect, it } from 'vitest';
import type { Store } from '../../../src/store/port.js';
import { attachment, claimInput, fenceOf, RUN, settleInput } from '../inputs.js';

const refused = (code: string) => expect.objectContaining({ name: 'BatonError', code });

export function claimCases(store: () => Store): void {
  const attempts = () => store().attempts;

  it('writes provisional rows that give no authority, with all that was said', async () => {
    const reassign = {
      reason: ' host lost\n',
      actor: 'ada',
      at: 5,
      workerClass: 'senior',
      fromSpec: 'fast',
      toSpec: 'senior',
      predecessor: 'a-0',
    };
    const input = claimInput({
      reassign,
      ownerActor: 'ada',
      commandId: 'c1',
      maxDurationMs: 5,
      lastEpoch: 4,
      lastNumber: 2,
    });
    const ref = await attempts().claim(input);
    expect(ref).toMatchObject({
      epoch: 5,
      number: 3,
      worker: 'w1',
      startedAt: 1_000,
      hostQueue: input.hostQueue,
    });
    expect(ref.attempt).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
    const row = await attempts().get(RUN.tenant, RUN.run, ref.attempt);
    expect(row).toMatchObject({
      reassign,
      ownerActor: 'ada',
      commandId: 'c1',
      workerStatus: 'claimed',
      leaseStatus: 'provisional',
      claimedAt: 1_000,
      startedAt: null,
      endedAt: null,
      attachment: null,
      staged: null,
      deadline: null,
      maxDurationMs: 5,
    });
    await expect(attempts().beat({ fence: fenceOf(ref), deadline: 1 })).rejects.toEqual(
      refused('StaleLease'),
    );
  });

  it('answers a repeat, and a later try of the same worker, with the same attempt', async () => {
    const input = claimInput();
    const ref = await attempts().claim(input);
    expect(await attempts().claim({ ...input, at: 2_000 })).toEqual(ref);
    expect(await attempts().claim({ ...input, try: 3 })).toEqual(ref);
    await expect(attempts().claim({ ...input, try: 2 })).rejects.toEqual(refused('StaleLease'));
    await attempts().attach({ fence: fenceOf(ref), attachment: attachment(), at: 1 });
    expect(await attempts().claim({ ...input, try: 3 })).toEqual(ref);
  });

  it('lets a later try on another host overwrite, under a new epoch, and refuses the earlier one from then on', async () => {
    const input = claimInput();
    const first = await attempts().claim(input);
    const second = await attempts().claim({ ...input, try: 2, worker: 'w2', hostQueue: 'baton/host/h2' });
    expect(second).toMatchObject({ epoch: first.epoch + 1, number: first.number, worker: 'w2' });
    expect(second.attempt).not.toBe(first.attempt);
    await expect(attempts().claim(input)).rejects.toEqual(refused('StaleLease'));
    await expect(
      attempts().attach({ fence: fenceOf(first), attachment: attachment(), at: 1 }),
    ).rejects.toEqual(refused('StaleLease'));
    expect((await attempts().list(RUN.tenant, RUN.run)).map((row) => row.attempt)).toEqual([second.attempt]);
  });

  it('never gives an epoch out again, though the rows that had it are void; their numbers are free', async () => {
    const first = await attempts().claim(claimInput({ claimId: 'x' }));
    await attempts().voidClaim({ ...RUN, slot: 'research', claimId: 'x' });
    expect(await attempts().newest(RUN.tenant, RUN.run, 'research')).toBeNull();
    const second = await attempts().claim(claimInput());
    expect([second.epoch, second.number]).toEqual([first.epoch + 1, first.number]);
    expect(await attempts().newest(RUN.tenant, RUN.run, 'research')).toMatchObject({
      attempt: second.attempt,
    });
    expect(await attempts().newest('globex', RUN.run, 'research')).toBeNull();
    expect(await attempts().get(RUN.tenant, RUN.run, first.attempt)).toMatchObject({
      leaseStatus: 'void',
      epoch: first.epoch,
    });
  });

  it('refuses a claim under a command id whose attempt is over, as a workflow reset sends it again', async () => {
    const first = await attempts().claim(claimInput({ claimId: 'old:1', commandId: 'c1' }));
    const again = claimInput({ claimId: 'new:1', commandId: 'c1' });
    // One that never attached was no attempt: its repeat is a claim like any other.
    const second = await attempts().claim(again);
    expect(second.epoch).toBe(first.epoch + 1);
    await attempts().attach({ fence: fenceOf(second), attachment: attachment(), at: 1 });
    await attempts().settle(settleInput(fenceOf(second)));
    const late = claimInput({ claimId: 'new:2', commandId: 'c1' });
    await expect(attempts().claim(late)).rejects.toEqual(refused('StaleLease'));
    expect(await attempts().claim({ ...late, commandId: 'c2' })).toMatchObject({ number: 2 });
  });

  it('goes above the store and above the run, whichever knows more', async () => {
    const first = await attempts().claim(claimInput({ lastEpoch: 7, lastNumber: 3 }));
    await attempts().attach({ fence: fenceOf(first), attachment: attachment(), at: 1 });
    await attempts().settle(settleInput(fenceOf(first)));
    expect(await attempts().claim(claimInput({ lastEpoch: 2, lastNumber: 1 }))).toMatchObject({
      epoch: 9,
      number: 5,
    });
    expect(await attempts().newest(RUN.tenant, RUN.run, 'research')).toMatchObject({ epoch: 9, number: 5 });
  });

  it('refuses a voided claim id, with and without rows, again and again', async () => {
    await attempts().voidClaim({ ...RUN, slot: 'research', claimId: 'early' });
    await attempts().voidClaim({ ...RUN, slot: 'research', claimId: 'early' });
    await expect(attempts().claim(claimInput({ claimId: 'early' }))).rejects.toEqual(refused('StaleLease'));
    expect(await attempts().list(RUN.tenant, RUN.run)).toEqual([]);
    const input = claimInput();
    const ref = await attempts().claim(input);
    await attempts().voidClaim({ ...RUN, slot: 'research', claimId: input.claimId });
    await expect(attempts().claim(input)).rejects.toEqual(refused('StaleLease'));
    await expect(attempts().claim({ ...input, try: 2, worker: 'w2' })).rejects.toEqual(refused('StaleLease'));
    await expect(attempts().attach({ fence: fenceOf(ref), attachment: attachment(), at: 1 })).rejects.toEqual(
      refused('StaleLease'),
    );
  });

  it('voids another offer’s provisional row and that offer with it', async () => {
    const old = claimInput();
    await attempts().claim(old);
    const ref = await attempts().claim(claimInput({ worker: 'w2' }));
    await expect(attempts().claim(old)).rejects.toEqual(refused('StaleLease'));
    expect((await attempts().list(RUN.tenant, RUN.run)).map((row) => row.attempt)).toEqual([ref.attempt]);
  });

  it('refuses a slot with a live lease, and changes nothing; other slots, runs and tenants are free', async () => {
    const input = claimInput();
    const ref = await attempts().claim(input);
    await attempts().attach({ fence: fenceOf(ref), attachment: attachment(), at: 1 });
    await expect(attempts().claim(claimInput())).rejects.toEqual(refused('AlreadyLeased'));
    await expect(attempts().claim({ ...input, try: 2, worker: 'w2' })).rejects.toEqual(
      refused('AlreadyLeased'),
    );
    expect(await attempts().list(RUN.tenant, RUN.run)).toHaveLength(1);
    for (const other of [{ slot: 'report' }, { run: 'r2' }, { tenant: 'Acme' }]) {
      expect(
        await attempts().claim(claimInput({ ...other, claimId: input.claimId + JSON.stringify(other) })),
      ).toMatchObject({ epoch: 1 });
    }
    expect(await attempts().get('ACME', RUN.run, ref.attempt)).toBeNull();
  });

  it('lets one of many claims at once through to a live lease', async () => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, async (_, index) => {
        const ref = await attempts().claim(claimInput({ worker: `w${index}` }));
        return attempts().attach({ fence: fenceOf(ref), attachment: attachment(), at: 1 });
      }),
    );
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1);
    expect((await attempts().list(RUN.tenant, RUN.run)).map((row) => row.leaseStatus)).toEqual(['live']);
  });
}
