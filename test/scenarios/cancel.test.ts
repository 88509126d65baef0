/** S20: a cancel of a run or of a slot under live leases reaches whoever holds them. */
import { expect, test } from 'vitest';
import { startBaton } from '../support/baton.js';
import { spec } from '../support/definitions.js';
import { expectInvariants, expectRefused } from '../support/invariants.js';
import { operate, watched } from '../support/operator.js';
import { launchNodes, untilSettled } from '../support/steps.js';
import { waitFor } from '../support/wait.js';

const CANCELLED = {
  worker: { status: 'cancelled' },
  lease: { status: 'revoked' },
  failure: { code: 'Cancelled' },
} as const;
const nodes = {
  hosted: { launch: [spec({ dispatch: 'queue', ttl: '3s', retry: { mode: 'auto' } })] },
  direct: { launch: [spec({ ttl: '60s', retry: { mode: 'auto' } })] },
  other: { launch: [spec({ ttl: '60s' })] },
} as const;

async function underLeases() {
  const baton = await startBaton();
  const { agent, runs, seen } = watched();
  const run = await launchNodes(baton, nodes);
  await baton.startHost([agent]);
  await waitFor(() => runs.length === 1);
  const { lease } = await run.slot('direct').claim({ workerClass: 'coder', worker: 'w1' });
  await run.slot('direct').save(lease.token, { kind: 'source', name: 'before', bytes: Buffer.from('1') });
  const [first] = runs;
  if (!first) throw new Error('an agent is at work');
  await first.ctx.save({ kind: 'source', name: 'before', content: '1' });
  await expectInvariants(baton, run.run);
  return { baton, run, agent: first, runs, seen, token: lease.token };
}
type Setting = Awaited<ReturnType<typeof underLeases>>;

/** Whoever held a lease of a cancelled slot is told, and nothing of his counts any more. */
async function expectTold({ run, agent, token }: Setting): Promise<void> {
  await waitFor(() => agent.told, { what: 'the agent’s signal' });
  expect(agent.told).toMatchObject({ code: 'StaleLease' });
  const { ctx } = agent;
  await expect(ctx.save({ kind: 'source', name: 'late', content: '2' })).rejects.toMatchObject({
    code: 'StaleLease',
  });
  await expect(ctx.checkpoint('late', 2)).rejects.toMatchObject({ code: 'StaleLease' });
  await expect(ctx.step('late', () => 2)).rejects.toMatchObject({ code: 'StaleLease' });
  const slot = run.slot('direct');
  for (const act of [
    () => slot.heartbeat(token),
    () => slot.save(token, { kind: 'source', name: 'late', bytes: Buffer.from('2') }),
    () => slot.complete(token, { result: 2 }),
    () => slot.fail(token, { code: 'X', message: 'late' }),
    () => slot.release(token, { reason: 'late' }),
  ])
    await expect(act()).rejects.toMatchObject({ code: 'StaleLease' });
}

async function expectRecords({ run, runs, seen }: Setting): Promise<void> {
  for (const slot of ['hosted', 'direct']) {
    await untilSettled(run, slot);
    expect(await run.attempts(slot)).toMatchObject([CANCELLED]);
    expect(await run.slot(slot).show()).toMatchObject({
      state: 'cancelled',
      gate: null,
      activeWorker: null,
      counts: { claims: 1, failures: 0, losses: 0, releases: 0 },
    });
    // What was saved before stays addressable; nothing came after.
    expect((await run.artifacts(slot)).map(({ name }) => name)).toEqual(['before']);
  }
  expect(runs).toHaveLength(1);
  expect(seen.atWork).toBe(1);
}

test.each(['command', 'Temporal’s command line'])('S20 cancel of a run by %s', async (by) => {
  const setting = await underLeases();
  const { baton, run } = setting;
  if (by === 'command') {
    const commandId = 'cancel-1';
    const answer = await run.cancel({ reason: 'not needed', commandId });
    expect(answer).toMatchObject({ commandId, slot: null, state: 'cancelled' });
    expect(await run.cancel({ reason: 'not needed', commandId })).toEqual(answer);
  } else await operate(baton, run.run, ['workflow', 'cancel']);
  await expectTold(setting);
  await expect(run.result()).rejects.toMatchObject({ code: 'RunFailed', details: { status: 'cancelled' } });
  await expectRecords(setting);
  const shown = await run.show();
  expect(shown.status).toBe('cancelled');
  expect(await run.slot('other').show()).toMatchObject({ state: 'cancelled', counts: { claims: 0 } });
  expect((await baton.store.runs.get(baton.tenant, run.run))?.status).toBe('cancelled');
  for (const slot of ['hosted', 'direct', 'other']) {
    const handle = run.slot(slot);
    for (const act of [
      () => handle.claim({ workerClass: 'coder', worker: 'w2' }),
      () => handle.reassign({ workerClass: 'coder', reason: 'again' }),
      () => handle.hold({ reason: 'x' }),
      () => handle.releaseHold({ reason: 'x' }),
      () => handle.revoke({ reason: 'x' }),
      () => handle.cancel({ reason: 'x' }),
      () => run.cancel({ reason: 'x' }),
    ])
      await expectRefused(baton, run.run, 'RunClosed', act);
  }
  await expectInvariants(baton, run.run);
});

test('S20 cancel of slots, one after the other: their holders are told, the rest of the run goes on', async () => {
  const setting = await underLeases();
  const { baton, run } = setting;
  for (const slot of ['hosted', 'direct']) {
    await run.slot(slot).cancel({ reason: 'not needed' });
    await expectInvariants(baton, run.run);
  }
  await expectTold(setting);
  await expectRecords(setting);
  for (const slot of ['hosted', 'direct']) {
    const handle = run.slot(slot);
    await expectRefused(baton, run.run, 'SlotNotClaimable', () =>
      handle.claim({ workerClass: 'coder', worker: 'w2' }),
    );
    await expectRefused(baton, run.run, 'SlotNotInRetryWait', () =>
      handle.reassign({ workerClass: 'coder', reason: 'again' }),
    );
    await expectRefused(baton, run.run, 'SlotNotClaimable', () => handle.cancel({ reason: 'again' }));
    await expectRefused(baton, run.run, 'StaleLease', () => handle.revoke({ reason: 'again' }));
  }
  expect((await run.show()).status).toBe('running');
  const { lease } = await run.slot('other').claim({ workerClass: 'coder', worker: 'w3' });
  expect((await run.slot('other').complete(lease.token, { result: 'kept' })).state).toBe('succeeded');
  await waitFor(async () => (await run.show()).status !== 'running', { what: 'the run to end' });
  await expectInvariants(baton, run.run);
});

test('S20 a cancel that races completions: each attempt ends once, and the run’s end agrees with its slots', async () => {
  const baton = await startBaton();
  for (let round = 0; round < 4; round += 1) {
    const run = await launchNodes(baton, { direct: nodes.direct, other: nodes.other });
    const { lease } = await run.slot('direct').claim({ workerClass: 'coder', worker: 'w1' });
    const told = (work: Promise<unknown>) =>
      work.then(
        () => 'done',
        (error: unknown) => (error as { code: string }).code,
      );
    const [completed, cancelled] = await Promise.all([
      told(run.slot('direct').complete(lease.token, { result: 1 })),
      told(run.cancel({ reason: 'race' })),
    ]);
    expect(['done', 'StaleLease']).toContain(completed);
    expect(['done', 'LeaseNotTerminal']).toContain(cancelled);
    if (cancelled !== 'done')
      await waitFor(() => run.cancel({ reason: 'race' }).catch(() => null), { what: 'the cancel' });
    await expect(run.result()).rejects.toMatchObject({ code: 'RunFailed' });
    const [attempt] = await run.attempts('direct');
    expect(attempt?.worker.status).toBe(completed === 'done' ? 'succeeded' : 'cancelled');
    expect(await run.slot('direct').show()).toMatchObject(
      completed === 'done' ? { state: 'succeeded', result: 1 } : { state: 'cancelled', result: null },
    );
    await expectInvariants(baton, run.run);
  }
});
