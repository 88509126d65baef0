/** S3: a long model turn. Silence that is awaited keeps the lease; a loop that blocks the whole process loses it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { defineAgent } from '../../src/agent/types.js';
import { startBaton } from '../support/baton.js';
import { compileFixtures } from '../support/compiled.js';
import { spec } from '../support/definitions.js';
import { expectInvariants } from '../support/invariants.js';
import { watched } from '../support/operator.js';
import { startNode } from '../support/processes.js';
import { launchNodes, untilSettled } from '../support/steps.js';
import { waitFor } from '../support/wait.js';

let fixtures: Awaited<ReturnType<typeof compileFixtures>>;
beforeAll(async () => {
  fixtures = await compileFixtures(['scenarios/fixtures/worker-process.ts']);
});
afterAll(() => fixtures.remove());

test('S3 one silent call of 10 s on a 2 s lease: one attempt, no expiry', async () => {
  const baton = await startBaton();
  let started = 0;
  const told: unknown[] = [];
  const agent = defineAgent({
    workerClass: 'coder',
    run: async (ctx) => {
      started += 1;
      ctx.signal.addEventListener('abort', () => told.push(ctx.signal.reason));
      // The call itself, not a wait of the test.
      await sleep(10_000);
      return 'answer';
    },
  });
  const run = await launchNodes(baton, { a: { launch: [spec({ dispatch: 'queue', ttl: '2s' })] } });
  await baton.startHost([agent]);
  await waitFor(() => started === 1);
  await expectInvariants(baton, run.run);
  expect(await run.result()).toEqual({ a: 'answer' });
  expect([started, told]).toEqual([1, []]);
  const attempts = await run.attempts('a');
  expect(attempts.map(({ number, worker }) => [number, worker.status])).toEqual([[1, 'succeeded']]);
  const { counts } = await run.slot('a').show();
  expect(counts).toEqual({ claims: 1, failures: 0, losses: 0, releases: 0 });
  await expectInvariants(baton, run.run);
}, 60_000);

test.each([
  ['manual', 'no second attempt starts'],
  ['auto', 'a second one starts elsewhere'],
])(
  'S3 a loop of 6 s on a 2 s lease, retried %s: lost, told, its completion refused, and %s',
  async (mode) => {
    const baton = await startBaton();
    const { address, storeUrl, taskQueue } = baton;
    const retry = mode === 'manual' ? { mode } : { mode, backoff: { initial: '1s' } };
    const run = await launchNodes(baton, {
      a: { launch: [spec({ dispatch: 'queue', ttl: '2s', retry, classes: ['busy'] })] },
    });
    const options = { role: 'host', address, storeUrl, taskQueue, workerClass: 'busy', busyMs: 6_000 };
    const child = await startNode(fixtures.path('scenarios/fixtures/worker-process.ts'), [
      JSON.stringify(options),
    ]);
    await child.ready(/^at work a/, 60_000);
    await waitFor(async () => (await run.attempts('a'))[0]?.endedAt);
    await expectInvariants(baton, run.run);
    const { agent, runs } = watched('busy');
    await baton.startHost([agent]);
    expect(await child.ready(/^after the loop/, 30_000)).toBe('after the loop: StaleLease, told');
    if (mode === 'auto') {
      await waitFor(() => runs.length === 1);
      runs[0]!.finish('by the second');
      expect(await run.result()).toEqual({ a: 'by the second' });
      const attempts = await run.attempts('a');
      expect(attempts.map(({ number, worker }) => [number, worker.status])).toEqual([
        [1, 'lost'],
        [2, 'succeeded'],
      ]);
    } else {
      // The busy host has a place again: were the slot on offer, either would take it.
      child.kill('SIGTERM');
      await child.exited;
      await untilSettled(run);
      expect(runs).toEqual([]);
      expect(await run.slot('a').show()).toMatchObject({
        state: 'retry-wait',
        gate: 'reassign',
        result: null,
        counts: { claims: 1, failures: 0, losses: 1, releases: 0 },
      });
      expect((await run.attempts('a')).map(({ worker }) => worker.status)).toEqual(['lost']);
    }
    expect((await run.artifacts('a')).map(({ name }) => name)).not.toContain('late');
    expect((await run.artifacts('a')).filter(({ kind }) => kind === 'result')).toHaveLength(
      mode === 'auto' ? 1 : 0,
    );
    await expectInvariants(baton, run.run);
  },
  90_000,
);
