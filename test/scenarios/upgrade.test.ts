/**
 * A new version is deployed under live runs, with real processes, as docs/upgrading.md tells it:
 * - control workers and hosts of version A are replaced by those of version B, whose run workflow has a patched change; nothing is
 *   lost, and no attempt begins again but where a host gave its lease back; recorded histories of both replay with B, and do not
 *   where the change is not patched;
 * - the same with Temporal's Worker Versioning: a version works once it is the current one, and takes open runs over, also those of
 *   workers without a version, and gives them back to such.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { DeterminismViolationError } from '@temporalio/workflow';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { twoAtWork } from '../../faults/work.js';
import { readWork } from '../../faults/work-log.js';
import { documents, PACKAGE, SLOTS, STEPS } from '../../load/definitions.js';
import type { HostInput } from '../../load/host-process.js';
import { defineAgent } from '../../src/agent/types.js';
import type { LaunchedRun } from '../../src/client/client.js';
import { workflowIdOf } from '../../src/domain/wire.js';
import type { Child } from '../../src/server/processes.js';
import { startBaton, type Baton } from '../support/baton.js';
import { documents as documentsOf, spec } from '../support/definitions.js';
import { executionsOf, historyNames, readHistory, recordHistory, replay } from '../support/histories.js';
import { eventsOf } from '../support/invariants.js';
import { startNode } from '../support/processes.js';
import { temporalCli } from '../support/server.js';
import { anotherVersion, current, type Version } from '../support/versions.js';
import { waitFor } from '../support/wait.js';

/** Longer than the test may take: what goes on sooner was given back. */
const TTL_MS = 120_000;
const QUICK = [10, 10, 10];
/** Works at the second step until it is told to stop. */
const HANGING = [10, 600_000, 10];
const NODES = ['one', 'two', 'three', 'four'];

let folder: string;
let next: Awaited<ReturnType<typeof anotherVersion>>;
let wrong: Awaited<ReturnType<typeof anotherVersion>>;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'baton-test-upgrade-'));
  next = await anotherVersion('patched');
  wrong = await anotherVersion('unpatched', []);
});
afterAll(async () => {
  await Promise.all([next.remove(), wrong.remove(), rm(folder, { recursive: true, force: true })]);
});

const startControl = async (baton: Baton, version: Version, ...more: string[]): Promise<Child> => {
  const { address, taskQueue, storeUrl } = baton;
  const args = ['worker', '--json', '--address', address, '--task-queue', taskQueue, ...more];
  const child = await startNode(version.file('src/cli/main.js'), args, { env: { BATON_STORE: storeUrl } });
  await child.ready('json', 60_000);
  return child;
};

const startHost = async (
  baton: Baton,
  version: Version,
  workLog: string,
  stepMs: readonly number[],
): Promise<Child> => {
  const { address, taskQueue, storeUrl } = baton;
  const input: HostInput = { address, namespace: 'default', taskQueue, workLog, places: 1, stepMs };
  const file = version.file('load/host-process.js');
  const child = await startNode(file, [JSON.stringify(input)], { env: { BATON_STORE: storeUrl } });
  await child.ready('json', 60_000);
  return child;
};

/** Waits until the host is in the middle of a slot's steps. */
const atWork = (workLog: string, host: Child): Promise<boolean> =>
  waitFor(
    () => {
      const last = readWork(workLog).findLast(({ pid }) => pid === host.pid);
      return last?.what === 'step' && last.step === STEPS[1];
    },
    { what: `host ${host.pid} at work`, timeoutMs: 30_000 },
  );

const ended = async (child: Child): Promise<void> => {
  child.kill('SIGTERM');
  expect(await child.exited, child.tail()).toEqual({ code: 0, signal: null });
};

test('control workers and hosts are replaced under live runs', async () => {
  const baton = await startBaton({ control: false });
  const workLog = path.join(folder, 'rolling.log');
  const acme = baton.as();
  await acme.publish({ documents: documents(TTL_MS) });
  const launch = (): Promise<LaunchedRun> => acme.launch({ package: PACKAGE });
  const [control, ...hosts] = await Promise.all([
    startControl(baton, current),
    ...[1, 2].map(() => startHost(baton, current, workLog, HANGING)),
  ]);
  const open = [await launch(), await launch()];
  await Promise.all(hosts.map((host) => atWork(workLog, host)));
  const newControl = await startControl(baton, next);
  await ended(control);
  await Promise.all(hosts.map((host) => atWork(workLog, host)));
  await Promise.all([1, 2].map(() => startHost(baton, next, workLog, QUICK)));
  await Promise.all(hosts.map(ended));
  const after = await launch();
  for (const run of [...open, after])
    expect(Object.keys(await run.result()).sort()).toEqual([...SLOTS].sort());

  // Nothing lost, and nothing begun again but what a host gave back.
  const work = readWork(workLog);
  expect(twoAtWork(work)).toEqual([]);
  const rows = (
    await Promise.all([...open, after].map(({ run }) => baton.store.attempts.list(baton.tenant, run)))
  ).flat();
  const released = rows.filter(({ workerStatus }) => workerStatus === 'released');
  const succeeded = rows.filter(({ workerStatus }) => workerStatus === 'succeeded');
  expect(released).toHaveLength(hosts.length);
  expect(succeeded).toHaveLength(3 * SLOTS.length);
  expect(rows).toHaveLength(released.length + succeeded.length);
  for (const row of released) {
    const successor = rows.find(
      (one) => one.run === row.run && one.slot === row.slot && one.number === row.number + 1,
    );
    expect(successor!.startedAt! - row.endedAt!).toBeLessThan(10_000);
    // Only the step in which it was stopped ran again.
    const steps = work.flatMap((line) =>
      line.what === 'step' && line.slot === `${row.run}/${row.slot}` ? [line] : [],
    );
    const own = steps.filter(({ attempt }) => attempt === row.attempt);
    const repeated = steps.filter(
      ({ attempt, step }) => attempt !== row.attempt && own.some((line) => line.step === step),
    );
    expect(repeated.map(({ step }) => step)).toEqual([STEPS[1]]);
  }

  // Both versions had a part in the open runs, and the new one can replay them all.
  const [pidA, pidB] = [control, newControl].map(({ pid }) => `${pid}@`);
  const parts = await Promise.all(
    open.map(async ({ run }) => (await eventsOf(baton, run)).flatMap(identity)),
  );
  for (const by of parts)
    for (const pid of [pidA, pidB]) expect(by.some((who) => who.startsWith(pid!))).toBe(true);
  const histories = await Promise.all([...open, after].map(({ run }) => recordHistory(baton, run)));
  for (const history of histories) {
    await replay(next, history);
    // By the changed code: the new version has ended them.
    expect(JSON.stringify(history)).toContain('MARKER_RECORDED');
  }
}, 120_000);

test('recorded histories of earlier versions replay with a version that is patched as the guide asks, and not otherwise', async () => {
  for (const name of await historyNames()) await replay(next, await readHistory(name));
  await expect(replay(wrong, await readHistory('queue-success'))).rejects.toBeInstanceOf(
    DeterminismViolationError,
  );
}, 60_000);

/** Says whose the runs are: a build id, or the workers without a version. */
async function makeCurrent(baton: Baton, name: string, ...whose: string[]): Promise<void> {
  const cli = await temporalCli();
  const set = ['worker', 'deployment', 'set-current-version', '--deployment-name', name, '--yes'];
  // A version is known once its worker has polled, a moment after the worker is ready.
  await waitFor(
    async () => {
      await execa(cli, [...set, ...whose, '--address', baton.address]);
      return true;
    },
    { what: `${whose.join(' ')} is current`, everyMs: 200 },
  );
}

/** A package `job` of a slot for each node, whose agents work until they are told to end. Hosts are not versioned: they replay nothing. */
async function gatedJob(baton: Baton) {
  const gates = new Map<string, () => void>();
  const opened: string[] = [];
  await baton.startHost([
    defineAgent({
      workerClass: 'coder',
      places: NODES.length,
      run: ({ slot }) =>
        opened.includes(slot)
          ? Promise.resolve(slot)
          : new Promise((resolve) => gates.set(slot, () => resolve(slot))),
    }),
  ]);
  const bound = { launch: [spec({ classes: ['coder'], dispatch: 'queue', ttl: '60s' })] };
  await baton
    .as()
    .publish({ documents: documentsOf(Object.fromEntries(NODES.map((node) => [node, bound]))) });
  return {
    allAtWork: () => waitFor(() => gates.size === NODES.length, { what: 'all slots are worked on' }),
    end(...slots: string[]): void {
      opened.push(...slots);
      for (const slot of slots) gates.get(slot)?.();
    },
  };
}

const isDone = (run: LaunchedRun, slot: string) =>
  waitFor(async () => (await run.slot(slot).show()).state === 'succeeded', { what: `${slot} done` });

/** Whose each workflow task was, over all executions: a build id, or null; all attempts have succeeded, each the first of its slot. */
async function buildsOf(baton: Baton, { run }: LaunchedRun): Promise<(string | null)[]> {
  const attempts = await baton.store.attempts.list(baton.tenant, run);
  expect(attempts.map(({ workerStatus }) => workerStatus)).toEqual(NODES.map(() => 'succeeded'));
  const builds: (string | null)[] = [];
  for (const id of await executionsOf(baton, run)) {
    for (const { workflowTaskCompletedEventAttributes: done } of await eventsOf(baton, run, id))
      if (done) builds.push(done.deploymentVersion?.buildId || null);
    await replay(next, await recordHistory(baton, run, id));
  }
  return builds;
}

test('with Worker Versioning, the version that is made current takes open runs over', async () => {
  const baton = await startBaton({ control: false });
  const name = `baton-${baton.tenant}`;
  const job = await gatedJob(baton);
  const start = (buildId: string, version: Version): Promise<Child> =>
    startControl(baton, version, '--deployment-name', name, '--build-id', buildId);
  const a = await start('a', current);
  const run = await baton.as().launch({ package: 'job', rollOverEvents: 40 });
  const handle = baton.temporal.workflow.getHandle(workflowIdOf(baton.tenant, run.run));
  // Nobody works before a version is current: that is what an operator would see.
  expect((await handle.describe()).historyLength).toBe(2);
  await makeCurrent(baton, name, '--build-id', 'a');
  await job.allAtWork();
  job.end('one');
  await isDone(run, 'one');

  const b = await start('b', next);
  await makeCurrent(baton, name, '--build-id', 'b');
  job.end('two', 'three');
  await isDone(run, 'two');
  await ended(a);
  job.end('four');
  await run.result();

  expect((await executionsOf(baton, run.run)).length).toBeGreaterThan(1);
  const builds = await buildsOf(baton, run);
  expect([...new Set(builds)]).toEqual(['a', 'b']);
  // Never back: what was made current stays it, over the roll-over too.
  expect(builds.lastIndexOf('a')).toBeLessThan(builds.indexOf('b'));
  await ended(b);
}, 120_000);

test('open runs go over to the first version there is, and back to workers without one', async () => {
  const baton = await startBaton({ control: false });
  const name = `baton-${baton.tenant}`;
  const job = await gatedJob(baton);
  const before = await startControl(baton, current);
  const run = await baton.as().launch({ package: 'job' });
  await job.allAtWork();
  const first = await startControl(baton, next, '--deployment-name', name, '--build-id', 'a');
  // Ready, and yet nobody's: the run goes on with the one that was there.
  job.end('one');
  await isDone(run, 'one');
  await makeCurrent(baton, name, '--build-id', 'a');
  await ended(before);
  job.end('two');
  await isDone(run, 'two');

  const after = await startControl(baton, next);
  job.end('three');
  await isDone(run, 'three');
  await makeCurrent(baton, name, '--unversioned');
  await ended(first);
  job.end('four');
  await run.result();

  const builds = await buildsOf(baton, run);
  // In this order, and each once: whoever was not current had no part.
  expect(builds.filter((build, at) => at === 0 || build !== builds[at - 1])).toEqual([null, 'a', null]);
  await ended(after);
}, 120_000);

const identity = (event: Awaited<ReturnType<typeof eventsOf>>[number]): string[] => {
  const by = event.workflowTaskCompletedEventAttributes?.identity;
  return by ? [by] : [];
};
