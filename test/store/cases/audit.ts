/** The audit: what is written is read back, newest first, of one tenant, page by page; what was accepted once is one entry. */
import { expect, it } from 'vitest';
import type { AuditEntry, AuditQuery, Store } from '../../../src/store/port.js';

const entry = (change: Partial<AuditEntry> = {}): AuditEntry => ({
  tenant: 'acme',
  run: 'r1',
  slot: 'a',
  actor: 'ada',
  command: 'reassign',
  commandId: null,
  verdict: 'refused',
  code: 'SlotNotInRetryWait',
  reason: 'the slot is active',
  at: 1_000,
  ...change,
});
const ACCEPTED = { verdict: 'accepted', code: null, reason: null } as const;

export function auditCases(store: () => Store): void {
  const write = async (...changes: readonly Partial<AuditEntry>[]): Promise<void> => {
    for (const change of changes) await store().audit.record(entry(change));
  };
  const read = (query: Partial<AuditQuery> = {}) =>
    store().audit.list({ tenant: 'acme', limit: 100, ...query });
  const commands = async (query: Partial<AuditQuery> = {}) =>
    (await read(query)).map(({ command }) => command);

  it('gives back what was written, newest first, with rising numbers', async () => {
    await write({}, { command: 'launch', run: null, slot: null, commandId: 'c1', ...ACCEPTED, at: 5 });
    const rows = await read();
    expect(rows.map(({ entry: _number, ...row }) => row)).toEqual([
      entry({ command: 'launch', run: null, slot: null, commandId: 'c1', ...ACCEPTED, at: 5 }),
      entry(),
    ]);
    expect(rows[0]?.entry).toBeGreaterThan(rows[1]?.entry ?? Number.NaN);
  });

  it('has one tenant’s entries only, told apart to the letter', async () => {
    await write({ tenant: 'acme' }, { tenant: 'Acme' }, { tenant: 'acme2' });
    for (const tenant of ['acme', 'Acme', 'acme2'])
      expect((await read({ tenant })).map((row) => row.tenant)).toEqual([tenant]);
    expect(await read({ tenant: 'nobody' })).toEqual([]);
  });

  it('finds by run, actor, verdict and time, all together', async () => {
    await write(
      { command: 'hold', ...ACCEPTED, commandId: 'c', at: 10 },
      { command: 'revoke', actor: 'eve', at: 20 },
      { command: 'claim', run: 'r2', at: 30 },
      { command: 'save', verdict: 'unknown', code: 'OutcomeUnknown', reason: null, at: 40 },
    );
    expect(await commands({ run: 'r1' })).toEqual(['save', 'revoke', 'hold']);
    expect(await commands({ actor: 'eve' })).toEqual(['revoke']);
    expect(await commands({ verdict: 'refused' })).toEqual(['claim', 'revoke']);
    expect(await commands({ verdict: 'unknown' })).toEqual(['save']);
    expect(await commands({ since: 20 })).toEqual(['save', 'claim', 'revoke']);
    expect(await commands({ run: 'r1', verdict: 'refused', since: 20, actor: 'ada' })).toEqual([]);
  });

  it('goes page by page to the end, without loss or double', async () => {
    await write(...Array.from({ length: 7 }, (_, n) => ({ command: `c${n}` })));
    const seen: string[] = [];
    for (let before: number | undefined; ;) {
      const page = await read({ limit: 3, before });
      seen.push(...page.map(({ command }) => command));
      before = page.at(-1)?.entry;
      if (before === undefined) break;
    }
    expect(seen).toEqual(['c6', 'c5', 'c4', 'c3', 'c2', 'c1', 'c0']);
  });

  it('keeps an accepted command once, however often it is repeated, and every refusal', async () => {
    const accepted = { commandId: 'c', ...ACCEPTED };
    await Promise.all([write(accepted), write({ ...accepted, at: 2 }), write({ ...accepted, at: 3 })]);
    expect(await read()).toHaveLength(1);
    await write(
      { ...accepted, run: 'r2' },
      { ...accepted, command: 'hold' },
      { ...accepted, tenant: 'other' },
    );
    expect(await read()).toHaveLength(3);
    await write({ commandId: 'c' }, { commandId: 'c' });
    expect(await read({ verdict: 'refused' })).toHaveLength(2);
    // Without an id nobody can repeat it.
    await write({ ...accepted, commandId: null, run: 'r9' }, { ...accepted, commandId: null, run: 'r9' });
    expect(await read({ run: 'r9' })).toHaveLength(2);
  });

  it('takes no entry whose code and verdict do not fit', async () => {
    await expect(store().audit.record(entry({ code: null }))).rejects.toThrow();
    await expect(store().audit.record(entry({ ...ACCEPTED, code: 'RunClosed' }))).rejects.toThrow();
    expect(await read()).toEqual([]);
  });
}
