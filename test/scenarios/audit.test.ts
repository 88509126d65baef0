/** The audit: each command with its verdict, whoever gave it; nothing of what it carried; and never in the way of a command. */
import { expect, test, vi } from 'vitest';
import { BatonClient, type BatonClientOptions } from '../../src/client/client.js';
import type { AuditView } from '../../src/client/audit.js';
import { OF_A_RUN } from '../support/asks.js';
import { startBaton, type Baton } from '../support/baton.js';
import { FAULTS, faultyStore } from '../support/faulty-store.js';
import { expectRefused } from '../support/invariants.js';
import { launchDirect } from '../support/steps.js';

const clientOf = (baton: Baton, options: Partial<BatonClientOptions> = {}): BatonClient => {
  const { tenant, store, taskQueue } = baton;
  return new BatonClient(baton.temporal, { tenant, actor: 'eve', store, taskQueue, ...options });
};
/** Oldest first, what tells entries apart. */
const story = (entries: readonly AuditView[]) =>
  entries.map(({ actor, command, slot, verdict, code }) => [actor, command, slot, verdict, code]).reverse();

test('accepted and refused commands are kept with actor, time, id and code; a repeat is one entry', async () => {
  const baton = await startBaton();
  const from = Date.now();
  const run = await launchDirect(baton, { ttl: '60s' });
  const eve = baton.as('eve').run(run.run);
  const reason = 'a secret reason';
  await eve.slot('a').hold({ reason, commandId: 'h-1' });
  await eve.slot('a').hold({ reason, commandId: 'h-1' });
  await expectRefused(baton, run.run, 'CommandConflict', () =>
    eve.slot('a').hold({ reason: 'another', commandId: 'h-1' }),
  );
  await run.slot('a').releaseHold({ reason });
  await expectRefused(baton, run.run, 'SlotNotInRetryWait', () =>
    eve.slot('a').reassign({ workerClass: 'coder', reason, commandId: 'r-1' }),
  );
  await expectRefused(baton, run.run, 'StaleLease', () => eve.slot('a').revoke({ reason }));
  const { lease, commandId } = await run.slot('a').claim({ workerClass: 'coder', worker: 'w1' });
  await run.slot('a').heartbeat(lease.token, { progress: 'a secret progress' });
  await run.slot('a').heartbeat(lease.token, { commandId: 'b-1' });
  await run.slot('a').save(lease.token, { kind: 'source', name: 'x', bytes: Buffer.from('a secret file') });
  await run.slot('a').complete(lease.token, { result: 'a secret result' });
  await expectRefused(baton, run.run, 'StaleLease', () => run.slot('a').heartbeat(lease.token));
  // Malformed: what is no id is not kept either.
  await run
    .slot('a secret slot')
    .hold({ reason })
    .catch(() => undefined);

  const entries = await run.audit();
  expect(story(entries)).toEqual([
    ['ada', 'launch', null, 'accepted', null],
    ['eve', 'hold', 'a', 'accepted', null],
    ['eve', 'hold', 'a', 'refused', 'CommandConflict'],
    ['ada', 'releaseHold', 'a', 'accepted', null],
    ['eve', 'reassign', 'a', 'refused', 'SlotNotInRetryWait'],
    ['eve', 'revoke', 'a', 'refused', 'StaleLease'],
    ['ada', 'claim', 'a', 'accepted', null],
    ['ada', 'heartbeat', 'a', 'accepted', null],
    ['ada', 'save', 'a', 'accepted', null],
    ['ada', 'complete', 'a', 'accepted', null],
    ['ada', 'heartbeat', 'a', 'refused', 'StaleLease'],
    ['ada', 'hold', null, 'refused', 'InvalidCommand'],
  ]);
  const of = (command: string) => entries.filter((entry) => entry.command === command).reverse();
  expect(of('claim')[0]).toMatchObject({ commandId, run: run.run, reason: null });
  expect(of('hold')[0]).toMatchObject({ commandId: 'h-1' });
  expect(of('reassign')[0]).toMatchObject({ commandId: 'r-1', reason: expect.stringContaining('open') });
  for (const { at } of entries) expect(Date.parse(at)).toBeGreaterThanOrEqual(from - 1);
  const all = JSON.stringify(await baton.as().audit({ limit: 1_000 }));
  for (const secret of ['secret', lease.token]) expect(all, secret).not.toContain(secret);
  // What is of no run.
  expect(story(await baton.as().audit()).slice(0, 1)).toEqual([['ada', 'publish', null, 'accepted', null]]);
});

test('what the policy refuses is kept, reads too; reads that are answered are not', async () => {
  const baton = await startBaton({ control: false });
  const run = await launchDirect(baton, { ttl: '60s' });
  const eve = clientOf(baton, { authorize: ({ name }) => name === 'show' || { refused: 'not you' } });
  await run.attempts();
  await expect(eve.run(run.run).attempts('a')).rejects.toMatchObject({ code: 'NotAuthorized' });
  await expect(eve.run('nowhere').slot('a').hold({ reason: 'x' })).rejects.toMatchObject({
    code: 'NotAuthorized',
  });
  const refused = await baton.as().audit({ verdict: 'refused' });
  expect(story(refused)).toEqual([
    ['eve', 'attempts', 'a', 'refused', 'NotAuthorized'],
    ['eve', 'hold', 'a', 'refused', 'NotAuthorized'],
  ]);
  expect(refused[0]).toMatchObject({ run: 'nowhere', reason: expect.stringContaining('not you') });
});

test('a command without an answer is unknown, and accepted once it has one', async () => {
  const baton = await startBaton({ control: false });
  const run = await launchDirect(baton, { ttl: '60s' });
  const hold = { reason: 'x', commandId: 'h-1' };
  const hasty = clientOf(baton, { timeoutMs: 700 }).run(run.run);
  await expect(hasty.slot('a').hold(hold)).rejects.toMatchObject({ code: 'OutcomeUnknown' });
  await baton.startControl();
  await baton.as('eve').run(run.run).slot('a').hold(hold);
  expect(story(await run.audit({ actor: 'eve' }))).toEqual([
    ['eve', 'hold', 'a', 'unknown', 'OutcomeUnknown'],
    ['eve', 'hold', 'a', 'accepted', null],
  ]);
  for (const { commandId } of await run.audit({ actor: 'eve' })) expect(commandId).toBe('h-1');
});

test('a foreign tenant sees nothing of it, and leaves nothing in it', async () => {
  const baton = await startBaton({ control: false });
  const run = await launchDirect(baton, { ttl: '60s' });
  const before = await baton.as().audit();
  const foreign = baton.as('eve', { tenant: `${baton.tenant}x`, timeoutMs: 2_000 });
  for (const [, , ask] of OF_A_RUN) await ask(foreign, run.run, 'a.b').catch(() => undefined);
  expect(await baton.as().audit()).toEqual(before);
  const theirs = await foreign.audit({ limit: 1_000 });
  expect(theirs.map(({ code }) => code).filter((code) => code !== 'RunNotFound')).toEqual([]);
  expect(theirs).not.toHaveLength(0);
  await expect(foreign.run(run.run).audit()).rejects.toMatchObject({ code: 'RunNotFound' });
});

test('asked for wrongly it says which field; a page ends where the next begins', async () => {
  const baton = await startBaton({ control: false });
  const run = await launchDirect(baton, { ttl: '60s' });
  const client = baton.as();
  for (const [field, request] of [
    ['limit', { limit: 0 }],
    ['limit', { limit: 1_001 }],
    ['before', { before: -1 }],
    ['since', { since: new Date('x') }],
    ['actor', { actor: 'a b' }],
    ['verdict', { verdict: 'maybe' as never }],
    ['run', { run: run.run } as object],
  ] as const)
    await expect(client.audit(request), field).rejects.toMatchObject({
      code: 'InvalidCommand',
      details: { field },
    });
  const [newest, next] = await client.audit({ limit: 2 });
  expect(await client.audit({ limit: 1, before: newest?.entry ?? 0 })).toEqual([next]);
  expect(await client.audit({ since: new Date(Date.now() + 60_000) })).toEqual([]);
});

test.each(FAULTS)('an entry whose write %s does not stop the command, and is warned of', async (how) => {
  const baton = await startBaton();
  const run = await launchDirect(baton, { ttl: '60s' });
  const faulty = faultyStore(baton.store);
  const client = clientOf(baton, { store: faulty.store });
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  try {
    faulty.arm({ name: 'audit.record', nth: 1, how });
    const from = performance.now();
    const slot = client.run(run.run).slot('a');
    expect((await slot.hold({ reason: 'x' })).state).toBe('on-hold');
    expect(performance.now() - from).toBeLessThan(5_000);
    expect(faulty.struck).toBe(true);
    expect(warn).toHaveBeenCalledExactlyOnceWith(
      expect.stringContaining('no audit entry could be written for hold'),
      { code: 'BATON_AUDIT' },
    );
    // A refusal stays what it was.
    faulty.arm({ name: 'audit.record', nth: 1, how });
    await expect(slot.revoke({ reason: 'x' })).rejects.toMatchObject({ code: 'StaleLease' });
    expect(warn).toHaveBeenCalledTimes(2);
  } finally {
    warn.mockRestore();
  }
});
