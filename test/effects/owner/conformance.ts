/**
 * What every engine of the effect-owner kit must do, whatever database is below it. Each engine's test file gives a way to open
 * an owner on a fresh database, and runs these.
 */
import { describe, expect, it } from 'vitest';
import { BatonError } from '../../../src/domain/errors.js';
import type { CheckOptions } from '../../../src/effects/check.js';
import type { EffectOwner, OwnerAnswer } from '../../../src/effects/owner/owner.js';
import type { Fence } from '../../../src/store/port.js';

/** One owner with one table of its own, `book (entry text)`, that its work writes in. */
export interface Subject {
  /** Its own handle on the database: another process would have one too. */
  readonly owner: EffectOwner<never, never>;
  /** Work that writes an entry and answers with a value; `reject` and `fail` make it throw after writing. */
  write(entry: string, then?: { answer?: unknown; throws?: Error }): never;
  /** What is in the table. */
  entries(): Promise<readonly string[]>;
}

/** A check whose answers the test gives: what is tested here is what an owner does after it said yes. */
export function authorityOf() {
  const asked: { token: string; purpose: CheckOptions['purpose'] }[] = [];
  const held: { wait: Promise<void> | null } = { wait: null };
  const check = async (token: string, { purpose }: CheckOptions = {}): Promise<Fence> => {
    asked.push({ token, purpose });
    const [slot = '', epoch = ''] = token.split('/');
    if (slot === 'none') throw BatonError.of('StaleLease', 'the lease is expired');
    if (held.wait) await held.wait;
    return { tenant: 't', run: 'r', slot, attempt: `a-${epoch}`, epoch: Number(epoch) };
  };
  return { check, asked, held };
}

const rejected = () =>
  BatonError.of('EffectRejected', 'no money', {
    failure: { code: 'NoMoney', message: 'the account is empty' },
  });
const code = (expected: string) => expect.objectContaining({ code: expected });

export function ownerConformance(
  engine: string,
  open: (
    authority: ReturnType<typeof authorityOf>,
  ) => Promise<{ subject: Subject; another(): Promise<Subject> }>,
): void {
  const start = async () => {
    const authority = authorityOf();
    const { subject, another } = await open(authority);
    await subject.owner.migrate();
    return { authority, subject, another, owner: subject.owner };
  };
  const commit = (subject: Subject, authority: string, key = 'k', request: never = { n: 1 } as never) =>
    subject.owner.commit({ authority, key, request }, subject.write(key, { answer: { id: key } }));

  describe(`effect owner on ${engine}`, () => {
    it('does an effect once, and answers a repeat from its record', async () => {
      const { subject, owner } = await start();
      const first = await commit(subject, 's/1');
      expect(first).toEqual({ state: 'committed', receipt: { id: 'k' }, repeated: false });
      expect(await commit(subject, 's/1')).toEqual({ ...first, repeated: true });
      expect(await owner.lookup({ authority: 's/2', key: 'k' })).toEqual({
        state: 'committed',
        receipt: { id: 'k' },
      });
      expect(await subject.entries()).toEqual(['k']);
    });

    it('may be migrated any number of times, also at once, and keeps what it has', async () => {
      const { subject, another } = await start();
      await commit(subject, 's/1');
      const other = await another();
      await Promise.all([subject.owner.migrate(), other.owner.migrate(), other.owner.migrate()]);
      expect(await commit(other, 's/1')).toMatchObject({ repeated: true });
    });

    it('refuses another request under the same key, whatever the order of its fields', async () => {
      const { subject } = await start();
      await commit(subject, 's/1', 'k', { a: 1, b: 2 } as never);
      expect(await commit(subject, 's/1', 'k', { b: 2, a: 1 } as never)).toMatchObject({ repeated: true });
      await expect(commit(subject, 's/1', 'k', { a: 1 } as never)).rejects.toThrow(code('EffectConflict'));
      expect(await subject.entries()).toEqual(['k']);
    });

    it('fences: what is below the newest epoch seen is refused, for each slot apart', async () => {
      const { subject, owner } = await start();
      await commit(subject, 's/2');
      await expect(commit(subject, 's/1', 'late')).rejects.toThrow(code('StaleLease'));
      await expect(owner.lookup({ authority: 's/1', key: 'k' })).rejects.toThrow(code('StaleLease'));
      await expect(
        owner.accept({ authority: 's/1', key: 'late', request: null }, subject.write('late')),
      ).rejects.toThrow(code('StaleLease'));
      await expect(owner.cancel({ authority: 's/1', key: 'k' }, subject.write('stop'))).rejects.toThrow(
        code('StaleLease'),
      );
      await commit(subject, 'other/1', 'other');
      await commit(subject, 's/3', 'more');
      expect(await subject.entries()).toEqual(['k', 'other', 'more']);
    });

    it('after a lookup said absent, nothing of an earlier attempt can land', async () => {
      const { authority, subject, owner } = await start();
      // The predecessor has its yes and stalls before the transaction.
      let wake: () => void = () => undefined;
      authority.held.wait = new Promise((resolve) => (wake = resolve));
      const stalled = commit(subject, 's/1');
      stalled.catch(() => undefined);
      authority.held.wait = null;
      expect(await owner.lookup({ authority: 's/2', key: 'k' })).toEqual({ state: 'absent' });
      wake();
      await expect(stalled).rejects.toThrow(code('StaleLease'));
      expect(await subject.entries()).toEqual([]);
      expect(await commit(subject, 's/2')).toMatchObject({ repeated: false });
    });

    it('a key belongs to its slot: another slot neither sees nor uses up an effect of the same key', async () => {
      const { subject, owner } = await start();
      await commit(subject, 's/1');
      expect(await owner.lookup({ authority: 'other/1', key: 'k' })).toEqual({ state: 'absent' });
      expect(await commit(subject, 'other/1')).toMatchObject({ repeated: false });
    });

    it('asks the authority check each time, and a no reaches nothing', async () => {
      const { authority, subject, owner } = await start();
      await expect(commit(subject, 'none')).rejects.toThrow(code('StaleLease'));
      await commit(subject, 's/1');
      await commit(subject, 's/1');
      await owner.lookup({ authority: 's/1', key: 'k' });
      await owner.cancel({ authority: 's/1', key: 'k' }, subject.write('stop'));
      await owner.withdraw({ authority: 's/1', key: 'k' }, subject.write('stop'));
      expect(authority.asked.map(({ purpose }) => purpose)).toEqual([
        ...['act', 'act', 'act', 'act', 'act'],
        'withdraw',
      ]);
      expect(await subject.entries()).toEqual(['k']);
    });

    it('work that throws leaves nothing: no record, no fence, none of its own writes', async () => {
      const { subject, owner } = await start();
      const broken = new Error('disk on fire');
      await expect(
        owner.commit({ authority: 's/5', key: 'k', request: 1 }, subject.write('half', { throws: broken })),
      ).rejects.toBe(broken);
      expect(await subject.entries()).toEqual([]);
      expect(await owner.lookup({ authority: 's/1', key: 'k' })).toEqual({ state: 'absent' });
    });

    it('a definite no is recorded, without what the work wrote before it', async () => {
      const { subject, owner } = await start();
      const failure = { code: 'NoMoney', message: 'the account is empty' };
      const call = { authority: 's/1', key: 'k', request: 1 };
      const refused = { state: 'rejected', failure };
      expect(await owner.commit(call, subject.write('half', { throws: rejected() }))).toEqual({
        ...refused,
        repeated: false,
      });
      expect(await owner.commit(call, subject.write('again'))).toEqual({ ...refused, repeated: true });
      expect(await owner.lookup({ authority: 's/2', key: 'k' })).toEqual(refused);
      expect(await subject.entries()).toEqual([]);
    });

    it('accepted now, finished later: a state of its own with the handle, ended once', async () => {
      const { subject, owner } = await start();
      const call = { authority: 's/1', key: 'job', request: 1 };
      const ref = { tenant: 't', run: 'r', slot: 's', key: 'job' };
      const accepted = await owner.accept(call, subject.write('start', { answer: { job: 7 } }));
      expect(accepted).toEqual({ state: 'accepted', handle: { job: 7 }, repeated: false });
      expect(await owner.accept(call, subject.write('start'))).toMatchObject({
        handle: { job: 7 },
        repeated: true,
      });
      expect(await owner.lookup({ authority: 's/2', key: 'job' })).toEqual({
        state: 'accepted',
        handle: { job: 7 },
      });
      const done = await owner.finish(ref, subject.write('end', { answer: { rows: 3 } }));
      expect(done).toEqual({ state: 'committed', receipt: { rows: 3 }, repeated: false });
      expect(await owner.finish(ref, subject.write('end'))).toEqual({ ...done, repeated: true });
      expect(await owner.lookup({ authority: 's/2', key: 'job' })).toEqual({
        state: 'committed',
        receipt: { rows: 3 },
      });
      expect(await subject.entries()).toEqual(['start', 'end']);
      await expect(owner.finish({ ...ref, key: 'none' }, subject.write('x'))).rejects.toThrow(
        code('InvalidCommand'),
      );
    });

    it('what was accepted may fail at its owner', async () => {
      const { subject, owner } = await start();
      await owner.accept({ authority: 's/1', key: 'job', request: 1 }, subject.write('start'));
      const ref = { tenant: 't', run: 'r', slot: 's', key: 'job' };
      expect(await owner.finish(ref, subject.write('half', { throws: rejected() }))).toMatchObject({
        state: 'rejected',
        failure: { code: 'NoMoney' },
      });
      expect(await subject.entries()).toEqual(['start']);
    });

    it.each(['cancel', 'withdraw'] as const)(
      '%s stops what runs, once; what has ended, or was committed, stays',
      async (how) => {
        const { subject, owner } = await start();
        const ref = { tenant: 't', run: 'r', slot: 's', key: 'job' };
        await owner.accept(
          { authority: 's/1', key: 'job', request: 1 },
          subject.write('start', { answer: 7 }),
        );
        const withdrawn = { state: 'rejected', failure: { code: 'Cancelled' } };
        const cancel = (key: string): Promise<OwnerAnswer> =>
          owner[how]({ authority: 's/1', key }, subject.write('stop'));
        expect(await cancel('job')).toMatchObject({ ...withdrawn, repeated: false });
        expect(await cancel('job')).toMatchObject({ ...withdrawn, repeated: true });
        expect(await owner.finish(ref, subject.write('end'))).toMatchObject({ ...withdrawn, repeated: true });
        expect(await subject.entries()).toEqual(['start', 'stop']);
        await commit(subject, 's/1', 'paid');
        expect(await cancel('paid')).toMatchObject({ state: 'committed', repeated: true });
        expect(await subject.entries()).toEqual(['start', 'stop', 'paid']);
      },
    );

    it('a withdrawal before the start keeps the start away, whatever its request', async () => {
      const { subject, owner } = await start();
      expect(await owner.cancel({ authority: 's/1', key: 'job' }, subject.write('stop'))).toMatchObject({
        state: 'rejected',
        failure: { code: 'Cancelled' },
      });
      expect(
        await owner.accept({ authority: 's/1', key: 'job', request: 1 }, subject.write('start')),
      ).toMatchObject({ state: 'rejected', repeated: true });
      expect(await subject.entries()).toEqual([]);
    });

    it('twenty at once with one key and two handles: the work is done once', async () => {
      const { subject, another } = await start();
      const subjects = [subject, await another()];
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, i) => commit(subjects[i % 2] ?? subject, 's/1')),
      );
      expect(answers.filter(({ repeated }) => !repeated)).toHaveLength(1);
      expect(await subject.entries()).toEqual(['k']);
    });

    it('epochs at once and out of order: after the highest has landed, no lower one does', async () => {
      const { subject, another, owner } = await start();
      const subjects = [subject, await another()];
      const epochs = [3, 9, 1, 7, 2, 8, 4, 6, 5, 10];
      const landed = await Promise.allSettled(
        epochs.map((epoch, i) => commit(subjects[i % 2] ?? subject, `s/${epoch}`, `k${epoch}`)),
      );
      for (const one of landed) if (one.status === 'rejected') expect(one.reason).toEqual(code('StaleLease'));
      // As they landed in the owner's own book, the epochs only grow.
      const order = (await subject.entries()).map((entry) => Number(entry.slice(1)));
      expect(order).toEqual([...order].sort((a, b) => a - b));
      expect(order.at(-1)).toBe(10);
      expect(order).toHaveLength(landed.filter(({ status }) => status === 'fulfilled').length);
      await expect(owner.lookup({ authority: 's/9', key: 'k9' })).rejects.toThrow(code('StaleLease'));
    });

    it.each([
      ['no key', '', { n: 1 }],
      ['a key with a space', 'a b', { n: 1 }],
      ['a key that is too long', 'k'.repeat(201), { n: 1 }],
      ['a request that is no JSON', 'k', 1n],
    ])('refuses %s', async (_what, key, request) => {
      const { subject } = await start();
      await expect(commit(subject, 's/1', key, request as never)).rejects.toThrow(code('InvalidCommand'));
      expect(await subject.entries()).toEqual([]);
    });

    it('refuses a receipt that is too large or no JSON, and takes the work back', async () => {
      const { subject, owner } = await start();
      const call = { authority: 's/1', key: 'k', request: 1 };
      await expect(owner.commit(call, subject.write('big', { answer: 'x'.repeat(70_000) }))).rejects.toThrow(
        code('TooLarge'),
      );
      await expect(owner.commit(call, subject.write('odd', { answer: 7n }))).rejects.toThrow(
        code('InvalidCommand'),
      );
      expect(await subject.entries()).toEqual([]);
    });
  });
}
