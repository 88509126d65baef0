import { expect, test } from 'vitest';
import { defineAgent } from '../../src/agent/types.js';
import { workflowIdOf } from '../../src/domain/wire.js';
import { startBaton } from '../support/baton.js';
import { spec } from '../support/definitions.js';
import { expectInvariants, expectRefused } from '../support/invariants.js';
import { launchDirect, launchNodes, untilSettled } from '../support/steps.js';
import { waitFor } from '../support/wait.js';

/** An agent that works until its signal fires, and remembers why. */
function patient() {
  const seen: { started: number; aborted: number } = { started: 0, aborted: 0 };
  const agent = defineAgent({
    workerClass: 'coder',
    run: (ctx) =>
      new Promise((_resolve, reject) => {
        seen.started += 1;
        ctx.signal.addEventListener('abort', () => {
          seen.aborted += 1;
          reject(new Error('aborted'));
        });
      }),
  });
  return { agent, seen };
}

test('revoke ends the attempt, tells the agent, and waits for a reassign whatever the retry mode', async () => {
  const baton = await startBaton();
  const { agent, seen } = patient();
  const run = await launchNodes(baton, {
    a: { launch: [spec({ dispatch: 'queue', ttl: '2s', retry: { mode: 'auto' } })] },
  });
  await baton.startHost([agent]);
  await waitFor(() => seen.started === 1);
  await expectRefused(baton, run.run, 'ReasonRequired', () => run.slot('a').revoke({ reason: ' ' }));
  expect(await run.slot('a').revoke({ reason: 'wrong branch' })).toMatchObject({
    state: 'retry-wait',
    gate: 'reassign',
  });
  await waitFor(() => seen.aborted === 1);
  await untilSettled(run);
  expect(await run.attempts('a')).toMatchObject([
    {
      worker: { status: 'cancelled' },
      lease: { status: 'revoked' },
      failure: { code: 'Revoked', message: 'wrong branch (by ada)' },
    },
  ]);
  await expectInvariants(baton, run.run);
  await run.slot('a').reassign({ workerClass: 'coder', reason: 'again' });
  await waitFor(() => seen.started === 2);
  expect(await run.slot('a').show()).toMatchObject({
    counts: { claims: 2, failures: 0, losses: 0, releases: 0 },
  });
});

test('hold takes the offer back, and release-hold puts it out again', async () => {
  const baton = await startBaton();
  const run = await launchNodes(baton, { a: { launch: [spec({ dispatch: 'queue' })] } });
  await run.slot('a').hold({ reason: 'not yet' });
  let started = 0;
  await baton.startHost([defineAgent({ workerClass: 'coder', run: async () => (started += 1) })]);
  await expectRefused(baton, run.run, 'SlotNotClaimable', () => run.slot('a').hold({ reason: 'again' }));
  expect((await run.slot('a').show()).waitsFor).toContain('not yet');
  expect(started).toBe(0);
  await run.slot('a').releaseHold({ reason: 'now' });
  expect(await run.result()).toEqual({ a: 1 });
  await expectInvariants(baton, run.run);
});

test.each(['command', 'Temporal'])(
  'cancel of a run by %s reaches the holder and cancels every slot',
  async (by) => {
    const baton = await startBaton();
    const { agent, seen } = patient();
    const run = await launchNodes(baton, {
      a: { launch: [spec({ dispatch: 'queue', ttl: '3s' })] },
      b: { dependsOn: ['a'] },
      c: { launch: [spec({ ttl: '10s' })] },
    });
    await baton.startHost([agent]);
    await waitFor(() => seen.started === 1);
    const held = await run.slot('c').claim({ workerClass: 'coder', worker: 'w1' });
    if (by === 'command') await run.cancel({ reason: 'not needed' });
    else await baton.temporal.workflow.getHandle(workflowIdOf(baton.tenant, run.run)).cancel();
    await expect(run.result()).rejects.toMatchObject({ code: 'RunFailed', details: { status: 'cancelled' } });
    await waitFor(() => seen.aborted === 1);
    const shown = await run.show();
    expect(shown).toMatchObject({
      status: 'cancelled',
      slots: [{ state: 'cancelled' }, { state: 'cancelled' }, { state: 'cancelled' }],
    });
    for (const attempt of await run.attempts()) {
      expect(attempt).toMatchObject({
        worker: { status: 'cancelled' },
        lease: { status: 'revoked' },
        failure: { code: 'Cancelled' },
      });
    }
    await expect(run.slot('c').complete(held.lease.token, { result: 1 })).rejects.toMatchObject({
      code: 'StaleLease',
    });
    await expect(run.slot('b').reassign({ workerClass: 'coder', reason: 'x' })).rejects.toMatchObject({
      code: 'RunClosed',
    });
    await expect(run.slot('b').claim({ workerClass: 'coder', worker: 'w' })).rejects.toMatchObject({
      code: 'RunClosed',
    });
    await expectInvariants(baton, run.run);
  },
);

test('a used-up budget fails the slot and its run with a readable cause; an optional one leaves its absence', async () => {
  const baton = await startBaton();
  const retry = { mode: 'auto', backoff: { initial: 1, max: 1 }, failures: 2, onExhausted: 'fail' };
  const failing = [spec({ dispatch: 'queue', retry })];
  const fine = [spec({ dispatch: 'queue', classes: ['other'] })];
  await baton.startHost([
    defineAgent({
      workerClass: 'coder',
      run: () => Promise.reject(Object.assign(new Error('no model'), { code: 'NoModel' })),
    }),
    defineAgent({ workerClass: 'other', run: async (ctx) => ctx.upstream }),
  ]);
  const optional = await launchNodes(baton, {
    a: { optional: true, launch: failing },
    b: { dependsOn: ['a'], launch: fine },
  });
  expect(await optional.result()).toEqual({ a: null, b: { a: null } });
  expect(await optional.slot('a').show()).toMatchObject({
    state: 'failed',
    counts: { claims: 2, failures: 2, losses: 0 },
  });

  const run = await launchNodes(baton, { a: { launch: failing }, b: { dependsOn: ['a'], launch: fine } });
  const error = await run.result().catch((thrown: unknown) => thrown as { code: string; message: string });
  expect(error).toMatchObject({ code: 'RunFailed' });
  const shown = await run.show();
  expect(shown.status).toBe('failed');
  expect(shown.slots).toMatchObject([
    {
      slot: 'a',
      state: 'failed',
      failure: { code: 'NoModel', message: 'no model; budget of 2 failures used up' },
    },
    { slot: 'b', state: 'cancelled' },
  ]);
  expect((await baton.store.runs.get(baton.tenant, run.run))?.status).toBe('failed');
  await expectInvariants(baton, run.run);
});

test('an attempt that takes longer than its maximum duration is lost', async () => {
  const baton = await startBaton();
  const run = await launchDirect(baton, { ttl: '30s', maxDuration: '1s' });
  const { lease } = await run.slot('a').claim({ workerClass: 'coder', worker: 'w1' });
  await untilSettled(run);
  expect(await run.attempts('a')).toMatchObject([
    { worker: { status: 'lost' }, lease: { status: 'expired' }, failure: { code: 'MaxDuration' } },
  ]);
  await expectRefused(baton, run.run, 'StaleLease', () => run.slot('a').heartbeat(lease.token));
  await expectInvariants(baton, run.run);
});

test('S8 of 25 claimants at once one gets the slot and 24 a typed refusal', async () => {
  const baton = await startBaton();
  const run = await launchDirect(baton, { ttl: '20s' });
  const claims = await Promise.allSettled(
    Array.from({ length: 25 }, (_, index) =>
      run.slot('a').claim({ workerClass: 'coder', worker: `w${index}` }),
    ),
  );
  const refused = claims.flatMap((claim) =>
    claim.status === 'rejected' ? [(claim.reason as { code?: string }).code] : [],
  );
  expect(refused).toEqual(Array.from({ length: 24 }, () => 'AlreadyLeased'));
  expect(await run.attempts('a')).toHaveLength(1);
  await expectInvariants(baton, run.run);
});
