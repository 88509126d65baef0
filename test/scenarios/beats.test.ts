/** S5: trouble with beats is not loss, and loss is noticed in time. On the real server; the client's beats are tampered with. */
import { ActivityNotFoundError, Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import type { RunHandle } from '../../src/client/run-handle.js';
import { startBaton, type Baton } from '../support/baton.js';
import { spec } from '../support/definitions.js';
import { expectInvariants } from '../support/invariants.js';
import { watched, type Watched } from '../support/operator.js';
import { startProxy } from '../support/proxy.js';
import { launchNodes, untilSettled } from '../support/steps.js';
import { waitFor } from '../support/wait.js';

const unhandled: unknown[] = [];
const note = (error: unknown) => void unhandled.push(error);
beforeEach(() => {
  unhandled.length = 0;
  process.on('unhandledRejection', note);
});
afterEach(() => {
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});

/** One beat on its way: `send` is the real one. */
type Tamper = (send: () => Promise<void>) => Promise<void>;

/** A run whose one slot is worked on by a host whose beats go through `tamper`. */
async function beating(ttlMs: number) {
  const baton = await startBaton();
  // Beats only: the end of the attempt, and what is asked of the server, get through.
  const client = new Client({ connection: baton.native });
  const real = client.activity.heartbeat.bind(client.activity) as (...args: unknown[]) => Promise<void>;
  const seen = { tamper: ((send) => send()) as Tamper, acknowledgedAt: [] as number[] };
  client.activity.heartbeat = (...args: unknown[]) => {
    const sent = performance.now();
    return seen.tamper(async () => {
      await real(...args);
      seen.acknowledgedAt.push(sent);
    });
  };
  const { agent, runs } = watched();
  await baton.startHost([agent], { client });
  const run = await launchNodes(baton, { a: { launch: [spec({ dispatch: 'queue', ttl: `${ttlMs}ms` })] } });
  await waitFor(() => runs.length === 1 && seen.acknowledgedAt.length > 0);
  await expectInvariants(baton, run.run);
  return { baton, run, runs, first: runs[0] as Watched, seen };
}

async function expectOneSuccess(baton: Baton, run: RunHandle): Promise<void> {
  expect(await run.result()).toEqual({ a: 'done' });
  expect((await run.attempts('a')).map(({ number, worker }) => [number, worker.status])).toEqual([
    [1, 'succeeded'],
  ]);
  const { counts } = await run.slot('a').show();
  expect(counts).toEqual({ claims: 1, failures: 0, losses: 0, releases: 0 });
  await expectInvariants(baton, run.run);
}

test('S5 one beat fails: the work goes on and the next one renews the lease', async () => {
  const ttl = 3_000;
  const { baton, run, runs, first, seen } = await beating(ttl);
  let failed = 0;
  seen.tamper = (send) => {
    failed += 1;
    return failed === 1 ? Promise.reject(new Error('connection reset')) : send();
  };
  const from = performance.now();
  // Beaten for longer than the lease that was live when the beat failed.
  await waitFor(() => seen.acknowledgedAt.some((sent) => sent > from + ttl));
  expect(failed).toBeGreaterThan(1);
  expect([runs.length, first.told]).toEqual([1, null]);
  await first.ctx.checkpoint('after', 1);
  first.finish('done');
  await expectOneSuccess(baton, run);
}, 60_000);

test('S5 a beat in flight while the completion succeeds does no harm', async () => {
  const { baton, run, first, seen } = await beating(3_000);
  const held: (() => Promise<void>)[] = [];
  const answers: unknown[] = [];
  seen.tamper = (send) =>
    new Promise((resolve, reject) => {
      held.push(() =>
        send().then(resolve, (error: unknown) => {
          answers.push(error);
          reject(error);
        }),
      );
    });
  await waitFor(() => held.length > 0);
  first.finish('done');
  await expectOneSuccess(baton, run);
  // It arrives now: the server knows no such activity any more.
  await Promise.all(held.map((beat) => beat()));
  await waitFor(() => answers.length === held.length);
  expect(answers[0]).toBeInstanceOf(ActivityNotFoundError);
  expect(first.told).toBeNull();
  await expectInvariants(baton, run.run);
}, 60_000);

test('S5 all beats hang: told one TTL after the last acknowledged one was sent, whatever the wall clock says', async () => {
  const ttl = 3_000;
  const { baton, run, runs, first, seen } = await beating(ttl);
  let toldAt = 0;
  first.ctx.signal.addEventListener('abort', () => (toldAt = performance.now()));
  seen.tamper = () => new Promise<void>(() => undefined);
  const lastSent = () => Math.max(...seen.acknowledgedAt);
  // Somebody sets the clock of the machine back by an hour meanwhile.
  const { now } = Date;
  onTestFinished(() => void (Date.now = now));
  Date.now = () => now() - 3_600_000;
  await waitFor(() => toldAt > 0);
  Date.now = now;
  expect(toldAt - lastSent()).toBeGreaterThanOrEqual(ttl - 5);
  expect(toldAt - lastSent()).toBeLessThan(ttl + 2_500);
  expect(first.told).toMatchObject({ code: 'StaleLease' });
  await expect(first.ctx.checkpoint('late', 1)).rejects.toMatchObject({ code: 'StaleLease' });
  await untilSettled(run);
  expect(await run.artifacts('a')).toEqual([]);
  expect(runs).toHaveLength(1);
  expect((await run.attempts('a'))[0]).toMatchObject({ worker: { status: 'lost' }, number: 1 });
  await expectInvariants(baton, run.run);
}, 60_000);

test('S5 not found for good: no save starts after it, and the agent is told one TTL after the last beat', async () => {
  const ttl = 4_000;
  const { baton, run, first, seen } = await beating(ttl);
  let toldAt = 0;
  first.ctx.signal.addEventListener('abort', () => (toldAt = performance.now()));
  let notFound = 0;
  seen.tamper = () => {
    notFound += 1;
    return Promise.reject(new ActivityNotFoundError('Not found'));
  };
  await waitFor(() => notFound > 0);
  // The lease is live on the server and in the store: only this host's doubt keeps the save from starting.
  const save = first.ctx.checkpoint('in doubt', 1);
  const refused = expect(save).rejects.toMatchObject({ code: 'StaleLease' });
  expect((await baton.store.attempts.list(baton.tenant, run.run))[0]?.leaseStatus).toBe('live');
  await waitFor(() => toldAt > 0);
  await refused;
  const last = Math.max(...seen.acknowledgedAt);
  expect(toldAt - last).toBeGreaterThanOrEqual(ttl - 5);
  expect(toldAt - last).toBeLessThan(ttl + 2_500);
  await untilSettled(run);
  expect(await run.artifacts('a')).toEqual([]);
  await expectInvariants(baton, run.run);
}, 60_000);

test('S5 network blips of 1.2 s on a 4 s lease lose no lease', async () => {
  const baton = await startBaton();
  const proxy = await startProxy(baton.address);
  onTestFinished(() => proxy.stop());
  const connection = await NativeConnection.connect({ address: proxy.address });
  const client = new Client({ connection });
  const real = client.activity.heartbeat.bind(client.activity) as (...args: unknown[]) => Promise<void>;
  let acknowledged = 0;
  client.activity.heartbeat = async (...args: unknown[]) => {
    await real(...args);
    acknowledged += 1;
  };
  const { agent, runs } = watched();
  await baton.startHost([agent], { connection, client });
  const run = await launchNodes(baton, { a: { launch: [spec({ dispatch: 'queue', ttl: '4s' })] } });
  await waitFor(() => runs.length === 1 && acknowledged > 0);
  for (const blip of ['hold', 'cut', 'hold', 'cut', 'hold'] as const) {
    await proxy[blip](1_200);
    const before = acknowledged;
    await waitFor(() => acknowledged > before, { what: `a beat after a ${blip}` });
    await runs[0]!.ctx.checkpoint('after', blip);
    await expectInvariants(baton, run.run);
  }
  expect(runs[0]!.told).toBeNull();
  runs[0]!.finish('done');
  await expectOneSuccess(baton, run);
  expect(runs).toHaveLength(1);
}, 60_000);
