/**
 * The remote job with real processes: a host that dies in the middle leaves the job running, its successor polls the same one;
 * a cancelled run has it stopped, a revoked attempt has not.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { afterEach, expect, test } from 'vitest';
import { primesIn } from '../../examples/remote-job/primes.js';
import { startControlWorker } from '../../src/host/control.js';
import { startBaton, type Baton } from '../support/baton.js';
import { startNode } from '../support/processes.js';
import { waitFor } from '../support/wait.js';

const compiled = (file: string): string =>
  fileURLToPath(new URL(`../../dist/examples/remote-job/${file}`, import.meta.url));
const BELOW = 400_000;
const RESULT = { job: 1, below: BELOW, primes: primesIn(0, BELOW) };

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

interface JobRow {
  readonly job: number;
  readonly state: string;
  readonly reached: number;
}

/** Control worker with the authority check, the job service, and a launched run whose job takes some seconds. */
async function start(paceMs: number) {
  const baton = await startBaton({ control: false });
  const { native: connection, store, taskQueue } = baton;
  const control = await startControlWorker({ connection, store, taskQueue, authority: { port: 0 } });
  const ended = control.run();
  ends.push(async () => {
    await control.shutdown();
    await ended;
  });
  const dir = await mkdtemp(path.join(os.tmpdir(), 'baton-jobs-'));
  ends.push(() => rm(dir, { recursive: true, force: true }));
  const database = path.join(dir, 'jobs.db');
  const startService = async () => {
    const args = [
      '--database',
      database,
      '--authority',
      control.authorityUrl ?? '',
      '--pace',
      String(paceMs),
    ];
    const service = await startNode(compiled('service.js'), args);
    const { url } = JSON.parse(await service.ready('json', 30_000)) as { url: string };
    return { service, url };
  };
  const { service, url } = await startService();
  const client = baton.as();
  await client.publish({
    files: [fileURLToPath(new URL('../../examples/remote-job/baton.yaml', import.meta.url))],
  });
  const run = await client.launch({ package: 'remote-job', input: { below: BELOW, service: url } });
  const jobs = (): readonly JobRow[] => {
    const opened = new Database(database, { readonly: true });
    try {
      return opened.prepare<[], JobRow>('select job, state, reached from jobs').all();
    } finally {
      opened.close();
    }
  };
  return { baton, run, jobs, service, port: new URL(url).port, database, control };
}

async function startHost({ address, storeUrl, taskQueue }: Baton, name: string) {
  const args = ['--name', name, '--address', address, '--store', storeUrl, '--task-queue', taskQueue];
  const host = await startNode(compiled('host.js'), args);
  await host.ready('json', 60_000);
  return host;
}

test('the worker dies in the middle: its successor polls the same job, and there is no second start', async () => {
  const { baton, run, jobs } = await start(300);
  const first = await startHost(baton, 'first');
  await waitFor(() => (jobs()[0]?.reached ?? 0) > 0, { timeoutMs: 60_000 });
  first.kill('SIGKILL');
  const reached = jobs()[0]?.reached ?? 0;
  expect(reached).toBeLessThan(BELOW);
  await startHost(baton, 'second');
  expect(await run.result()).toEqual({ count: RESULT });
  expect(jobs()).toEqual([{ job: 1, state: 'done', reached: BELOW }]);
  const attempts = await run.attempts('count');
  expect(attempts.map(({ worker }) => worker.status)).toEqual(['lost', 'succeeded']);
}, 120_000);

test('the job and its service may die too: what was accepted goes on where it was', async () => {
  const { baton, run, jobs, service, port, database, control } = await start(300);
  await startHost(baton, 'only');
  await waitFor(() => (jobs()[0]?.reached ?? 0) > 0, { timeoutMs: 60_000 });
  service.kill('SIGKILL');
  await service.exited;
  const args = ['--database', database, '--authority', control.authorityUrl ?? '', '--port', port];
  const again = await startNode(compiled('service.js'), args);
  await again.ready('json', 30_000);
  expect(await run.result()).toEqual({ count: RESULT });
  expect(jobs()).toEqual([{ job: 1, state: 'done', reached: BELOW }]);
}, 120_000);

test('cancel of the run reaches the job: it is stopped, by an attempt whose lease is over', async () => {
  const { baton, run, jobs } = await start(2_000);
  const host = await startHost(baton, 'first');
  await waitFor(() => jobs().length === 1, { timeoutMs: 60_000 });
  await run.cancel({ reason: 'not needed any more' });
  expect(JSON.parse(await host.ready(/^\{"(withdrawn|left)"/, 60_000))).toEqual({ withdrawn: 'rejected' });
  expect(jobs()).toMatchObject([{ state: 'stopped' }]);
}, 120_000);

test('a revoked attempt leaves the job to its successor', async () => {
  const { baton, run, jobs } = await start(400);
  const host = await startHost(baton, 'first');
  await waitFor(() => jobs().length === 1, { timeoutMs: 60_000 });
  await run.slot('count').revoke({ reason: 'another machine is free' });
  expect(JSON.parse(await host.ready(/^\{"(withdrawn|left)"/, 60_000))).toEqual({ left: 'StaleLease' });
  expect(jobs()).toMatchObject([{ state: 'running' }]);
  await run.slot('count').reassign({ workerClass: 'runner', reason: 'as said' });
  expect(await run.result()).toEqual({ count: RESULT });
  expect(jobs()).toEqual([{ job: 1, state: 'done', reached: BELOW }]);
}, 120_000);
