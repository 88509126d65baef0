/** S13: restarts burn nothing. Server, control worker and hosts are processes of their own here, and are killed. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startBaton } from '../support/baton.js';
import { spec } from '../support/definitions.js';
import { expectInvariants } from '../support/invariants.js';
import { watched } from '../support/operator.js';
import { crash, useRestartable } from '../support/restartable.js';
import { launchNodes } from '../support/steps.js';
import { waitFor } from '../support/wait.js';

const restartable = useRestartable('restarts');
const LONG = { timeoutMs: 90_000 };

test('S13 server and control worker killed and started again under live leases: still attempt 1', async () => {
  const baton = await startBaton({ address: restartable.server.address, control: false });
  let control = await restartable.startWorker(baton, { role: 'control' });
  const ttl = 20_000;
  const run = await launchNodes(baton, {
    hosted: { launch: [spec({ dispatch: 'queue', ttl: `${ttl}ms` })] },
    outside: { launch: [spec({ ttl: `${ttl}ms` })] },
  });
  const { agent, runs } = watched();
  await baton.startHost([agent]);
  await waitFor(() => runs.length === 1, LONG);
  const slot = run.slot('outside');
  const { lease } = await slot.claim({ workerClass: 'coder', worker: 'person' });
  // As a person's own program would: beats, and goes on when the server does not answer.
  let holding = true;
  let acknowledged = 0;
  let lost: unknown = null;
  const beats = (async () => {
    while (holding) {
      await slot.heartbeat(lease.token).then(
        () => (acknowledged = Date.now()),
        (error: unknown) => {
          if ((error as { code?: string }).code === 'StaleLease') lost = error;
        },
      );
      await sleep(500);
    }
  })();
  try {
    await waitFor(() => acknowledged > 0, LONG);
    await expectInvariants(baton, run.run);

    await restartable.server.kill();
    await crash(control);
    await restartable.server.restart();
    // Beats need no control worker.
    const restarted = Date.now();
    await waitFor(() => acknowledged > restarted, LONG);
    control = await restartable.startWorker(baton, { role: 'control' });
    await expectInvariants(baton, run.run);
    await crash(control);
    control = await restartable.startWorker(baton, { role: 'control' });

    // Both leases are older than their TTL by what was acknowledged after the restart.
    const handle = baton.temporal.workflow.getHandle(run.workflowId);
    const beatenSince = async (time: number) => {
      const { pendingActivities } = (await handle.describe()).raw;
      const last = (pendingActivities ?? []).map((found) => Number(found.lastHeartbeatTime?.seconds ?? 0));
      return last.length === 2 && last.every((seconds) => seconds * 1_000 > time);
    };
    await waitFor(() => beatenSince(restarted + ttl), LONG);
    expect(lost).toBeNull();
    expect(runs).toHaveLength(1);
    expect(runs[0]!.told).toBeNull();
    await runs[0]!.ctx.checkpoint('after', 'the restart');
    await expectInvariants(baton, run.run);
  } finally {
    holding = false;
    await beats;
  }
  await slot.complete(lease.token, { result: 'by hand' });
  runs[0]!.finish('by a host');
  expect(await run.result()).toEqual({ hosted: 'by a host', outside: 'by hand' });
  for (const { slot: name } of (await run.show()).slots) {
    const attempts = (await run.attempts(name)).map(({ number, worker }) => [number, worker.status]);
    expect(attempts, name).toEqual([[1, 'succeeded']]);
    expect((await run.slot(name).show()).counts).toEqual({ claims: 1, failures: 0, losses: 0, releases: 0 });
  }
  await expectInvariants(baton, run.run);
}, 240_000);

test('S13 a work that ends while no control worker is up is recorded by the next one', async () => {
  const baton = await startBaton({ address: restartable.server.address, control: false });
  const control = await restartable.startWorker(baton, { role: 'control' });
  const run = await launchNodes(baton, { a: { launch: [spec({ ttl: '30s' })] } });
  const { lease } = await run.slot('a').claim({ workerClass: 'coder', worker: 'w1' });
  await crash(control);
  expect((await run.slot('a').complete(lease.token, { result: 1 })).state).toBe('active');
  // A deploy of the server on top.
  await restartable.server.kill();
  await restartable.server.restart();
  await restartable.startWorker(baton, { role: 'control' });
  expect(await run.result()).toEqual({ a: 1 });
  expect((await run.attempts()).map(({ number, worker }) => [number, worker.status])).toEqual([
    [1, 'succeeded'],
  ]);
  await expectInvariants(baton, run.run);
}, 240_000);

test('S13 SIGTERM to a host process: released at once, no budget touched, and another host goes on by itself', async () => {
  const baton = await startBaton({ address: restartable.server.address });
  const run = await launchNodes(baton, { a: { launch: [spec({ dispatch: 'queue', ttl: '60s' })] } });
  const first = await restartable.startWorker(baton, { role: 'host', workerClass: 'coder' });
  await first.ready(/^at work a/, 60_000);
  await expectInvariants(baton, run.run);
  const sent = performance.now();
  first.kill('SIGTERM');
  await waitFor(async () => (await run.attempts('a'))[0]?.endedAt);
  expect(performance.now() - sent).toBeLessThan(15_000);
  expect(await first.exited).toMatchObject({ code: 0 });
  expect(first.tail()).toContain('told StaleLease');
  expect((await run.attempts('a'))[0]).toMatchObject({
    worker: { status: 'released' },
    lease: { status: 'released' },
    failure: { code: 'Released' },
  });
  const open = await waitFor(async () => {
    const shown = await run.slot('a').show();
    return shown.gate === 'open' && shown;
  });
  expect(open).toMatchObject({
    state: 'retry-wait',
    retryTime: null,
    counts: { claims: 1, failures: 0, losses: 0, releases: 1 },
  });
  await expectInvariants(baton, run.run);

  const second = await restartable.startWorker(baton, { role: 'host', workerClass: 'coder' });
  await second.ready(/^at work a/, 60_000);
  const attempts = (await run.attempts('a')).map(({ number, epoch, worker }) => [
    number,
    epoch,
    worker.status,
  ]);
  expect(attempts).toEqual([
    [1, 1, 'released'],
    [2, 2, 'running'],
  ]);
  // What the first saved is there: the step is not run again, and nobody had to reassign.
  expect((await run.artifactRows('a')).map(({ number, step }) => [number, step])).toEqual([[1, 'first']]);
  expect((await run.attempts('a'))[1]?.reassignedBy).toBeNull();
  await expectInvariants(baton, run.run);
}, 120_000);
