import { expect, test } from 'vitest';
import { startBaton } from '../support/baton.js';
import { expectInvariants, expectRefused } from '../support/invariants.js';
import { launchDirect, untilSettled } from '../support/steps.js';

test('S1 the same worker name twice: only the newest attempt has authority', async () => {
  const baton = await startBaton();
  const run = await launchDirect(baton, { ttl: '4s' });
  const slot = run.slot('a');
  const first = await slot.claim({ workerClass: 'coder', worker: 'w1' });
  await untilSettled(run);
  await expectInvariants(baton, run.run);
  await slot.reassign({ workerClass: 'coder', reason: 'w1 went silent' });
  await expectInvariants(baton, run.run);
  // Long enough for what follows, beaten before each step.
  const second = await slot.claim({ workerClass: 'coder', worker: 'w1' });
  const beat = () => slot.heartbeat(second.lease.token);
  const old = first.lease.token;
  const late: Record<string, () => Promise<unknown>> = {
    heartbeat: () => slot.heartbeat(old),
    save: () => slot.save(old, { kind: 'source', name: 'late', bytes: Buffer.from('late') }),
    checkpoint: () => slot.save(old, { kind: 'checkpoint', name: 'late', bytes: Buffer.from('late') }),
    complete: () => slot.complete(old, { result: 1 }),
    fail: () => slot.fail(old, { code: 'X', message: 'late' }),
    release: () => slot.release(old, { reason: 'late' }),
    'the worker’s name and no lease': () => slot.complete('w1', { result: 1 }),
  };
  for (const [what, act] of Object.entries(late)) {
    await beat();
    await expectRefused(baton, run.run, 'StaleLease', act).catch((error: unknown) => {
      throw new Error(what, { cause: error });
    });
  }
  const live = (await run.attempts('a')).at(-1);
  expect(live).toMatchObject({
    attempt: second.attempt,
    lease: { status: 'live' },
    worker: { id: 'w1', status: 'running' },
  });
  expect((await slot.complete(second.lease.token, { result: 2 })).state).toBe('succeeded');
  expect(await run.result()).toEqual({ a: 2 });
  expect((await run.artifacts('a')).map(({ name }) => name)).toEqual(['result']);
  await expectInvariants(baton, run.run);
});

test('S2 expired but unopposed: a late beat, completion or failure is refused', async () => {
  const baton = await startBaton();
  const run = await launchDirect(baton, { ttl: '2s' });
  const slot = run.slot('a');
  const { lease } = await slot.claim({ workerClass: 'coder', worker: 'w1' });
  await untilSettled(run);
  await expectRefused(baton, run.run, 'StaleLease', () => slot.heartbeat(lease.token));
  await expectRefused(baton, run.run, 'StaleLease', () => slot.complete(lease.token, { result: 1 }));
  await expectRefused(baton, run.run, 'StaleLease', () =>
    slot.fail(lease.token, { code: 'X', message: 'late' }),
  );
  const attempts = await run.attempts('a');
  expect(attempts).toHaveLength(1);
  expect(attempts[0]).toMatchObject({
    worker: { status: 'lost' },
    lease: { status: 'expired' },
    failure: { code: 'LeaseExpired' },
  });
  expect(await slot.show()).toMatchObject({
    state: 'retry-wait',
    counts: { claims: 1, failures: 0, losses: 1, releases: 0 },
  });
  await expectInvariants(baton, run.run);
});
