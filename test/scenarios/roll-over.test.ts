/** Leases over roll-overs of the run: an agent is started once, and nobody's lease is longer for it. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startBaton } from '../support/baton.js';
import { compileFixtures } from '../support/compiled.js';
import { spec } from '../support/definitions.js';
import { expectInvariants } from '../support/invariants.js';
import { watched } from '../support/operator.js';
import { startNode } from '../support/processes.js';
import { launchNodes, rollOver, untilSettled } from '../support/steps.js';
import { waitFor } from '../support/wait.js';

const LATE_MS = 1_000;
const ROLLING = { rollOverEvents: 40 };

let fixtures: Awaited<ReturnType<typeof compileFixtures>>;
beforeAll(async () => {
  fixtures = await compileFixtures(['scenarios/fixtures/worker-process.ts']);
});
afterAll(() => fixtures.remove());

const timeOf = (iso: string | null | undefined): number => new Date(iso ?? Number.NaN).getTime();

test('a hosted agent is kept over three roll-overs: started once, never told to stop', async () => {
  const baton = await startBaton();
  const { agent, runs } = watched();
  await baton.startHost([agent]);
  const run = await launchNodes(
    baton,
    { a: { launch: [spec({ dispatch: 'queue', ttl: '4s' })] }, noise: {} },
    ROLLING,
  );
  await waitFor(() => runs.length === 1);
  for (let times = 0; times < 3; times += 1) {
    await rollOver(baton, run);
    await expectInvariants(baton, run.run);
    // Each execution's own activity is beaten, not only attached.
    const handle = baton.temporal.workflow.getHandle(run.workflowId);
    await waitFor(async () =>
      (await handle.describe()).raw.pendingActivities?.some(
        ({ activityType, lastHeartbeatTime }) => activityType?.name === 'performAttempt' && lastHeartbeatTime,
      ),
    );
    await runs[0]!.ctx.checkpoint('after', times);
  }
  expect(runs[0]!.told).toBeNull();
  runs[0]!.finish('done');
  await waitFor(async () => (await run.slot('a').show()).state === 'succeeded');
  expect(runs).toHaveLength(1);
  const attempts = (await run.attempts('a')).map(({ number, epoch, worker }) => [
    number,
    epoch,
    worker.status,
  ]);
  expect(attempts).toEqual([[1, 1, 'succeeded']]);
  expect(await run.slot('a').show()).toMatchObject({ counts: { claims: 1, losses: 0, releases: 0 } });
  await expectInvariants(baton, run.run);
}, 120_000);

test('an outside holder that was silent before a roll-over keeps only what was left of its lease', async () => {
  const baton = await startBaton();
  const ttl = 10_000;
  const run = await launchNodes(baton, { a: { launch: [spec({ ttl: `${ttl}ms` })] }, noise: {} }, ROLLING);
  const slot = run.slot('a');
  const { lease } = await slot.claim({ workerClass: 'coder', worker: 'w1' });
  const beaten = await slot.heartbeat(lease.token);
  const lastBeat = timeOf(beaten.lease.deadline) - ttl;
  // Roll-overs until the rest of the lease is well below a fresh one; each carries the deadline on.
  do await rollOver(baton, run);
  while (Date.now() < lastBeat + ttl / 2);
  await expectInvariants(baton, run.run);
  await waitFor(async () => (await run.attempts('a'))[0]?.endedAt, { timeoutMs: 30_000 });
  const lost = (await run.attempts('a'))[0];
  expect(lost).toMatchObject({
    number: 1,
    worker: { status: 'lost' },
    lease: { status: 'expired' },
    failure: { code: 'LeaseExpired' },
  });
  expect(timeOf(lost?.lease.deadline)).toBeLessThanOrEqual(lastBeat + ttl + LATE_MS);
  // A fresh TTL would have ended at half a TTL later at the earliest.
  expect(timeOf(lost?.endedAt)).toBeLessThan(lastBeat + 1.4 * ttl);
  expect(timeOf(lost?.endedAt)).toBeGreaterThanOrEqual(lastBeat + ttl - LATE_MS);
  await untilSettled(run);
  expect(await slot.show()).toMatchObject({ state: 'retry-wait', counts: { claims: 1, losses: 1 } });
  await slot.reassign({ workerClass: 'coder', reason: 'silent' });
  await expectInvariants(baton, run.run);
}, 120_000);

test('an outside holder that beats after a roll-over keeps its lease', async () => {
  const baton = await startBaton();
  const ttl = 6_000;
  const run = await launchNodes(baton, { a: { launch: [spec({ ttl: `${ttl}ms` })] }, noise: {} }, ROLLING);
  const slot = run.slot('a');
  const { lease } = await slot.claim({ workerClass: 'coder', worker: 'w1' });
  await rollOver(baton, run);
  const { deadline } = (await slot.heartbeat(lease.token)).lease;
  await waitFor(async () => {
    await slot.heartbeat(lease.token);
    return Date.now() > timeOf(deadline);
  });
  await expectInvariants(baton, run.run);
  await slot.complete(lease.token, { result: 1 });
  expect((await run.attempts('a')).map(({ number, worker }) => [number, worker.status])).toEqual([
    [1, 'succeeded'],
  ]);
}, 120_000);

test('S22 a holder that dies right after a roll-over is found within two TTLs', async () => {
  const baton = await startBaton();
  const { address, storeUrl, taskQueue } = baton;
  const ttl = 4_000;
  const hosted = spec({ dispatch: 'queue', classes: ['hosted'], ttl: `${ttl}ms` });
  const run = await launchNodes(
    baton,
    { a: { launch: [hosted] }, b: { launch: [spec({ ttl: `${ttl}ms` })] }, noise: {} },
    ROLLING,
  );
  const child = await startNode(fixtures.path('scenarios/fixtures/worker-process.ts'), [
    JSON.stringify({ role: 'host', address, storeUrl, taskQueue, workerClass: 'hosted' }),
  ]);
  await child.ready(/^at work a/, 60_000);
  const outside = await run.slot('b').claim({ workerClass: 'coder', worker: 'w1' });
  let beating = true;
  const beats = (async () => {
    while (beating)
      await run
        .slot('b')
        .heartbeat(outside.lease.token)
        .catch(() => undefined);
  })();
  await rollOver(baton, run);
  child.kill('SIGKILL');
  beating = false;
  await beats;
  const died = Date.now();
  await waitFor(async () => (await run.attempts()).every(({ endedAt }) => endedAt), { timeoutMs: 30_000 });
  for (const attempt of await run.attempts()) {
    expect(attempt, attempt.slot).toMatchObject({
      number: 1,
      worker: { status: 'lost' },
      failure: { code: 'LeaseExpired' },
    });
    expect(timeOf(attempt.endedAt) - died, attempt.slot).toBeLessThan(2 * ttl);
  }
  await expectInvariants(baton, run.run);
}, 120_000);
