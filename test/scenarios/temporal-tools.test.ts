/** S9: an operator pauses, unpauses or resets the activity of a lease with Temporal's own command line. */
import { expect, test } from 'vitest';
import { startBaton, type Baton } from '../support/baton.js';
import { spec } from '../support/definitions.js';
import { expectInvariants, expectRefused } from '../support/invariants.js';
import { leaseActivity, operate, pendingOf, watched } from '../support/operator.js';
import { launchNodes, untilSettled } from '../support/steps.js';
import { waitFor } from '../support/wait.js';

const REVOKED = {
  worker: { status: 'cancelled' },
  lease: { status: 'revoked' },
  failure: { code: 'Revoked' },
} as const;
const retry = { mode: 'auto', backoff: { initial: '100ms', max: '100ms' } };

const activity = (baton: Baton, run: string, verb: string, epoch = 1, id = leaseActivity('a', epoch)) =>
  operate(baton, run, ['activity', verb, '--activity-id', id]);

test.each<[string, [string, ...string[]]]>([
  ['pause', ['pause']],
  ['reset', ['reset']],
  ['pause, then reset', ['pause', 'reset']],
])(
  'S9 hosted, %s: the agent is told, its attempt is revoked, and the slot waits for a reassign; one agent at a time',
  async (_what, verbs) => {
    const baton = await startBaton();
    const { agent, runs, seen } = watched();
    const run = await launchNodes(baton, { a: { launch: [spec({ dispatch: 'queue', ttl: '3s', retry })] } });
    await baton.startHost([agent]);
    await waitFor(() => runs.length === 1);
    const [first, ...others] = verbs;
    await activity(baton, run.run, first);
    // A beat between the two has ended the activity already.
    for (const verb of others) await activity(baton, run.run, verb).catch(() => undefined);
    await waitFor(() => runs[0]?.told, { what: 'the agent to be told' });
    expect(runs[0]?.told).toMatchObject({ code: 'StaleLease' });
    await untilSettled(run);
    expect(await run.attempts('a')).toMatchObject([REVOKED]);
    expect(await run.slot('a').show()).toMatchObject({
      state: 'retry-wait',
      gate: 'reassign',
      counts: { claims: 1, failures: 0, losses: 0, releases: 0 },
    });
    await expectInvariants(baton, run.run);
    await run.slot('a').reassign({ workerClass: 'coder', reason: 'the operator is done looking' });
    await waitFor(() => runs.length === 2);
    await expectInvariants(baton, run.run);
    runs[1]?.finish('second');
    expect(await run.result()).toEqual({ a: 'second' });
    expect(seen.atWork).toBe(1);
    await expectInvariants(baton, run.run);
  },
);

test('S9 hosted, pause and unpause between two beats: the agent works on, or its attempt is revoked; never two', async () => {
  const baton = await startBaton();
  const { agent, runs, seen } = watched();
  const run = await launchNodes(baton, { a: { launch: [spec({ dispatch: 'queue', ttl: '60s', retry })] } });
  await baton.startHost([agent]);
  await waitFor(() => runs.length === 1);
  await activity(baton, run.run, 'pause');
  await activity(baton, run.run, 'unpause');
  // Beats come every 20 s: nobody has noticed, and the result counts.
  runs[0]?.finish('first');
  expect(await run.result()).toEqual({ a: 'first' });
  expect(seen.atWork).toBe(1);
  expect(runs).toHaveLength(1);
  await expectInvariants(baton, run.run);
});

test.each([
  ['pause', ['pause']],
  ['reset', ['reset']],
])(
  'S9 direct, %s: the next thing that the holder does is refused, and its attempt is revoked',
  async (_what, verbs) => {
    const baton = await startBaton();
    const acts = {
      heartbeat: (lease: string) => run.slot('a').heartbeat(lease),
      save: (lease: string) =>
        run.slot('a').save(lease, { kind: 'source', name: 'x', bytes: Buffer.from('x') }),
      complete: (lease: string) => run.slot('a').complete(lease, { result: 1 }),
      fail: (lease: string) => run.slot('a').fail(lease, { code: 'X', message: 'x' }),
      release: (lease: string) => run.slot('a').release(lease, { reason: 'x' }),
    };
    const run = await launchNodes(baton, { a: { launch: [spec({ ttl: '60s', retry })] } });
    let epoch = 0;
    for (const [what, act] of Object.entries(acts)) {
      // A reset shows at the next beat only; a pause is seen by all.
      if (verbs[0] === 'reset' && what !== 'heartbeat') continue;
      const { lease } = await run.slot('a').claim({ workerClass: 'coder', worker: 'w1' });
      epoch += 1;
      for (const verb of verbs) await activity(baton, run.run, verb, epoch);
      await expect(act(lease.token), what).rejects.toMatchObject({ code: 'StaleLease' });
      await untilSettled(run);
      expect((await run.attempts('a')).at(-1), what).toMatchObject(REVOKED);
      expect(await run.slot('a').show(), what).toMatchObject({ state: 'retry-wait', gate: 'reassign' });
      await expectRefused(baton, run.run, 'StaleLease', () => run.slot('a').heartbeat(lease.token));
      await expectInvariants(baton, run.run);
      await run.slot('a').reassign({ workerClass: 'coder', reason: 'go on' });
    }
    const last = await run.slot('a').claim({ workerClass: 'coder', worker: 'w2' });
    await run.slot('a').complete(last.lease.token, { result: 1 });
    expect(await run.result()).toEqual({ a: 1 });
    await expectInvariants(baton, run.run);
  },
);

test('S9 direct, a lease that is paused under a holder who never comes back ends after it is unpaused, or by a revoke', async () => {
  const baton = await startBaton();
  const run = await launchNodes(baton, {
    a: { launch: [spec({ ttl: '8s' })] },
    b: { launch: [spec({ ttl: '8s' })] },
  });
  await run.slot('a').claim({ workerClass: 'coder', worker: 'w1' });
  await run.slot('b').claim({ workerClass: 'coder', worker: 'w2' });
  await activity(baton, run.run, 'pause');
  await activity(baton, run.run, 'pause', 1, leaseActivity('b', 1));
  // Never shown as live once its deadline is past, paused or not.
  await waitFor(async () => {
    const shown = await run.slot('a').show();
    return shown.expired || shown.state === 'retry-wait';
  });
  await run
    .slot('b')
    .revoke({ reason: 'nobody is there' })
    .catch((error: unknown) => {
      expect(error).toMatchObject({ code: 'StaleLease' });
    });
  await untilSettled(run, 'b');
  await expectInvariants(baton, run.run);
  await activity(baton, run.run, 'unpause').catch(() => undefined);
  await untilSettled(run, 'a');
  expect(await run.attempts('a')).toMatchObject([
    { lease: { status: 'expired' }, worker: { status: 'lost' } },
  ]);
  await expectInvariants(baton, run.run);
});

test('S9 an offer that is paused waits, does not stop commands, and goes out again once it is unpaused', async () => {
  const baton = await startBaton();
  const { agent, runs, seen } = watched();
  const run = await launchNodes(baton, { a: { launch: [spec({ dispatch: 'queue', ttl: '3s' })] } });
  const offer = () =>
    waitFor(async () => (await pendingOf(baton, run.run, 'claimSlot'))[0], { what: 'an offer' });
  await activity(baton, run.run, 'pause', 0, await offer());
  await baton.startHost([agent]);
  await run.slot('a').hold({ reason: 'wait' });
  await expectInvariants(baton, run.run);
  expect(await pendingOf(baton, run.run, 'claimSlot')).toEqual([]);
  await activity(baton, run.run, 'pause', 0, 'claim:a:2').catch(() => undefined);
  await run.slot('a').releaseHold({ reason: 'go' });
  await waitFor(() => runs.length === 1);
  runs[0]?.finish(1);
  expect(await run.result()).toEqual({ a: 1 });
  expect(seen.atWork).toBe(1);
  await expectInvariants(baton, run.run);
});
