/** S23: the server's limits of updates, set low on a server of the test's own. Nobody but the client may meet them. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BatonClient } from '../../src/client/client.js';
import { startBaton, type Baton } from '../support/baton.js';
import { spec } from '../support/definitions.js';
import { eventsOf, expectInvariants } from '../support/invariants.js';
import { watched } from '../support/operator.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { launchNodes } from '../support/steps.js';
import { waitFor } from '../support/wait.js';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({
    config: { 'history.maxTotalUpdates': 50, 'history.maxInFlightUpdates': 3 },
  });
});
afterAll(() => server.stop());

const runIdOf = async (baton: Baton, workflowId: string): Promise<string> =>
  (await baton.temporal.workflow.getHandle(workflowId).describe()).runId;

test('S23 12 agents with 200 beats each: no limit is met, no lease lost, and no event added', async () => {
  const baton = await startBaton({ address: server.address });
  const classes = Array.from({ length: 12 }, (_, index) => `direct-${index}`);
  const run = await launchNodes(baton, {
    outside: { slots: 12, launch: [spec({ ttl: '60s' })] },
    hosted: { slots: 6, launch: [spec({ dispatch: 'queue', ttl: '3s', classes: ['coder'] })] },
  });
  const { agent, runs } = watched('coder', 6);
  await baton.startHost([agent]);
  // Each a process of its own would have: a client with no knowledge of the others.
  const holders = await Promise.all(
    classes.map(async (_, index) => {
      const slot = baton
        .as(`a${index}`)
        .run(run.run)
        .slot(`outside.${index + 1}`);
      return { slot, claimed: await slot.claim({ workerClass: 'coder', worker: `w${index}` }) };
    }),
  );
  await waitFor(() => runs.length === 6);
  await expectInvariants(baton, run.run);
  // Until the last task that the claims led to is over.
  const settled = async () => {
    const events = await eventsOf(baton, run.run);
    const { raw } = await baton.temporal.workflow.getHandle(run.workflowId).describe();
    return raw.pendingWorkflowTask ? null : events.length;
  };
  const before = await waitFor(settled);
  const from = performance.now();
  const beats = await Promise.all(
    holders.map(async ({ slot, claimed }) => {
      for (let beat = 0; beat < 200; beat += 1)
        await slot.heartbeat(claimed.lease.token, { progress: { beat } });
      return 200;
    }),
  );
  expect(beats).toEqual(holders.map(() => 200));
  // The six agents of the host beat by themselves meanwhile, once a second: through four lifetimes of a lease.
  await waitFor(() => performance.now() - from > 12_000);
  expect(await settled()).toBe(before);
  expect((await run.attempts()).map(({ worker }) => worker.status)).toEqual(Array(18).fill('running'));
  await expectInvariants(baton, run.run);

  await Promise.all(holders.map(({ slot, claimed }) => slot.complete(claimed.lease.token, { result: 1 })));
  runs.forEach((one) => one.finish(2));
  // Before the result: if a lease was lost, its slot waits for an operator, and the result would never come.
  await waitFor(async () => (await run.attempts()).every(({ endedAt }) => endedAt !== null));
  expect((await run.attempts()).map(({ number, worker }) => [number, worker.status])).toEqual(
    Array(18).fill([1, 'succeeded']),
  );
  await run.result();
  expect(runs.every(({ told }) => told === null)).toBe(true);
  await expectInvariants(baton, run.run);
}, 180_000);

test('S23 120 commands of 12 callers: the run continues as new in time, and no caller meets a limit', async () => {
  const baton = await startBaton({ address: server.address });
  const names = Array.from({ length: 12 }, (_, index) => `s${index}`);
  const run = await launchNodes(baton, {
    ...Object.fromEntries(names.map((name) => [name, {}])),
    held: { launch: [spec({ ttl: '300s' })] },
  });
  const { lease } = await run.slot('held').claim({ workerClass: 'coder', worker: 'w1' });
  const first = await runIdOf(baton, run.workflowId);
  const callers = names.map((name) => baton.as(`actor-${name}`, { timeoutMs: 60_000 }));
  const outcomes = await Promise.allSettled(
    callers.map((client, index) => steer(client, run.run, names[index]!)),
  );
  expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([]);
  expect(await runIdOf(baton, run.workflowId)).not.toBe(first);
  // Each was carried out once: pairs of hold and release leave the slot where it was.
  for (const name of names) expect((await run.slot(name).show()).state, name).toBe('open');
  await expectInvariants(baton, run.run);
  await run.slot('held').heartbeat(lease.token);
  await run.slot('held').complete(lease.token, { result: 1 });
  expect((await run.attempts('held')).map(({ number }) => number)).toEqual([1]);
  await expectInvariants(baton, run.run);
}, 180_000);

async function steer(client: BatonClient, run: string, slot: string): Promise<void> {
  const handle = client.run(run).slot(slot);
  for (let pair = 0; pair < 5; pair += 1) {
    expect((await handle.hold({ reason: `pair ${pair}` })).state).toBe('on-hold');
    expect((await handle.releaseHold({ reason: `pair ${pair}` })).state).toBe('open');
  }
}
