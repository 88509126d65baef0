/** S6: clocks of workers that are an hour ahead or behind. The host is a process of its own, the outside holder is the CLI. */
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { baton as cli, batonJson, type ErrorJson } from '../cli/cli.js';
import { startBaton } from '../support/baton.js';
import { compileFixtures } from '../support/compiled.js';
import { spec } from '../support/definitions.js';
import { expectInvariants } from '../support/invariants.js';
import { startNode } from '../support/processes.js';
import { launchNodes, untilSettled } from '../support/steps.js';
import { waitFor } from '../support/wait.js';

const HOUR = 3_600_000;
const CLOCKS = [
  ['an hour ahead', HOUR],
  ['an hour behind', -HOUR],
] as const;
/** Of the machine that the test runs on: far less than the hour. */
const NEAR = 120_000;

let fixtures: Awaited<ReturnType<typeof compileFixtures>>;
beforeAll(async () => {
  fixtures = await compileFixtures(['scenarios/fixtures/worker-process.ts']);
});
afterAll(() => fixtures.remove());

const preload = new URL('fixtures/shifted-clock.mjs', import.meta.url).href;
const shifted = (ms: number) => ({
  NODE_OPTIONS: `--import ${preload}`,
  BATON_TEST_CLOCK_SHIFT: String(ms),
});
const timeOf = (iso: string | null | undefined): number => new Date(iso ?? Number.NaN).getTime();

test.each(CLOCKS)(
  'S6 a host whose clock is %s keeps its lease, loses it and gives it back as any other',
  async (_, ms) => {
    const baton = await startBaton();
    const { address, storeUrl, taskQueue } = baton;
    const ttl = 3_000;
    const run = await launchNodes(baton, { a: { launch: [spec({ dispatch: 'queue', ttl: `${ttl}ms` })] } });
    const start = async () => {
      const options = JSON.stringify({ role: 'host', address, storeUrl, taskQueue, workerClass: 'coder' });
      const env = shifted(ms);
      const child = await startNode(fixtures.path('scenarios/fixtures/worker-process.ts'), [options], {
        env,
      });
      await child.ready(/^at work a/, 60_000);
      return child;
    };
    const host = await start();
    const from = performance.now();
    await expectInvariants(baton, run.run);
    const handle = baton.temporal.workflow.getHandle(run.workflowId);
    // Kept for three TTLs.
    await waitFor(async () => {
      expect((await run.attempts('a')).map(({ worker }) => worker.status)).toEqual(['running']);
      const beaten = (await handle.describe()).raw.pendingActivities?.[0]?.lastHeartbeatTime;
      return beaten && performance.now() - from > 3 * ttl;
    });
    const [live] = await run.attempts('a');
    expect(Math.abs(timeOf(live?.startedAt) - Date.now())).toBeLessThan(NEAR);
    expect(timeOf(live?.lease.deadline) - Date.now()).toBeLessThanOrEqual(ttl);
    expect(host.tail()).not.toContain('told');
    await expectInvariants(baton, run.run);

    host.kill('SIGKILL');
    const died = Date.now();
    await untilSettled(run);
    const [lost] = await run.attempts('a');
    expect(lost).toMatchObject({ worker: { status: 'lost' }, failure: { code: 'LeaseExpired' } });
    expect(timeOf(lost?.endedAt) - died).toBeLessThan(2 * ttl);
    await run.slot('a').reassign({ workerClass: 'coder', reason: 'host died' });
    await expectInvariants(baton, run.run);

    const second = await start();
    second.kill('SIGTERM');
    await waitFor(async () => (await run.attempts('a'))[1]?.endedAt);
    expect((await run.attempts('a')).map(({ worker }) => worker.status)).toEqual(['lost', 'released']);
    await waitFor(async () => (await run.slot('a').show()).gate === 'open');
    await expectInvariants(baton, run.run);
  },
  120_000,
);

interface ClaimJson {
  readonly lease: { readonly token: string; readonly ttlSeconds: number };
}

test.each(CLOCKS)(
  'S6 an outside holder whose clock is %s: every beat counts, and the end of its lease too',
  async (_, ms) => {
    const baton = await startBaton();
    // A process of its own for every beat: its start is most of the time.
    const ttl = 12_000;
    const run = await launchNodes(baton, {
      a: { launch: [spec({ ttl: `${ttl}ms` })] },
      b: { launch: [spec({ ttl: '2s' })] },
    });
    const env = {
      BATON_TENANT: baton.tenant,
      BATON_ACTOR: 'ada',
      BATON_STORE: baton.storeUrl,
      TEMPORAL_ADDRESS: baton.address,
      ...shifted(ms),
    };
    const at = { cwd: tmpdir(), env };
    const claim = async (slot: string) => {
      const args = ['claim', run.run, slot, '--class', 'coder', '--worker', 'w1'];
      const { exitCode, json } = await batonJson<ClaimJson>(args, at);
      expect(exitCode, JSON.stringify(json)).toBe(0);
      return json.lease.token;
    };
    const holder = (command: string, slot: string, token: string, ...more: string[]) =>
      batonJson<ErrorJson & { lease?: { deadline: string } }>(
        [command, run.run, slot, '--lease', token, ...more],
        at,
      );
    const first = await claim('a');
    await expectInvariants(baton, run.run);
    const claimedAt = Date.now();
    do {
      const { exitCode, json } = await holder('heartbeat', 'a', first);
      expect(exitCode, JSON.stringify(json)).toBe(0);
      const left = timeOf(json.lease?.deadline) - Date.now();
      expect(left).toBeLessThanOrEqual(ttl);
      expect(left).toBeGreaterThan(0);
      await expectInvariants(baton, run.run);
    } while (Date.now() < claimedAt + 1.2 * ttl);
    expect((await holder('complete', 'a', first, '--result', '1')).exitCode).toBe(0);

    const second = await claim('b');
    await untilSettled(run, 'b');
    const [lost] = await run.attempts('b');
    expect(lost).toMatchObject({ worker: { status: 'lost' }, failure: { code: 'LeaseExpired' } });
    const lasted = timeOf(lost?.endedAt) - timeOf(lost?.startedAt);
    expect(lasted).toBeGreaterThanOrEqual(2_000 - 50);
    expect(lasted).toBeLessThan(4_000);
    for (const command of ['heartbeat', 'complete']) {
      const { exitCode, json } = await holder(command, 'b', second);
      expect([exitCode, json.error.code], command).toEqual([3, 'StaleLease']);
    }
    await waitFor(async () => (await run.slot('a').show()).state === 'succeeded');
    expect((await cli(['reassign', run.run, 'b', '--class', 'coder', '--reason', 'x'], at)).exitCode).toBe(0);
    expect((await run.attempts('b'))[0]?.endedAt).toBe(lost?.endedAt);
    await expectInvariants(baton, run.run);
  },
  180_000,
);
