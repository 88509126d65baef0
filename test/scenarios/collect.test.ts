/** Collecting closed runs beside a real server: what goes, what stays because Temporal or somebody's effect says so, what comes after. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { expect, onTestFinished, test, vi } from 'vitest';
import { BatonClient } from '../../src/client/client.js';
import type { CollectRequest, CollectView } from '../../src/client/collect.js';
import { verifyBundle } from '../../src/bundle/verify.js';
import { examineServer } from '../../src/client/doctor.js';
import { UPDATES } from '../../src/domain/wire.js';
import { watchStore } from '../../src/testing/watch-store.js';
import { OF_A_RUN } from '../support/asks.js';
import { startBaton, type Baton } from '../support/baton.js';
import { eventsOf, expectInvariants } from '../support/invariants.js';
import { operate } from '../support/operator.js';
import { spec } from '../support/definitions.js';
import { launchDirect, launchNodes } from '../support/steps.js';
import { waitFor } from '../support/wait.js';
import { wholeRun } from '../store/whole-run.js';

const DAY = 86_400_000;
const NOW = { olderThanMs: 1 };

async function finished(baton: Baton, content = 'saved', run?: string) {
  const launched = await launchNodes(
    baton,
    { a: { launch: [spec({ ttl: '60s' })] } },
    run === undefined ? {} : { run },
  );
  const { lease } = await launched.slot('a').claim({ workerClass: 'coder', worker: 'w' });
  const bytes = Buffer.from(content);
  await launched.slot('a').save(lease.token, { kind: 'source', name: 'x', bytes });
  await launched.slot('a').complete(lease.token, { result: content.slice(0, 100) });
  await launched.result();
  const closed = async () => (await baton.store.runs.get(baton.tenant, launched.run))?.status !== 'running';
  await waitFor(closed, { what: 'the end in the store' });
  return launched;
}

/** As if it were given two days from now: nothing of the test is young then. */
async function inTwoDays(client: BatonClient, request: CollectRequest): Promise<CollectView> {
  const real = Date.now;
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => real() + 2 * DAY);
  try {
    return await client.collect(request);
  } finally {
    clock.mockRestore();
  }
}

/** An end of this very moment is a moment old soon. */
const collected = (client: BatonClient): Promise<CollectView> =>
  waitFor(
    async () => {
      const view = await client.collect(NOW);
      return view.runs.length > 0 && view;
    },
    { what: 'a run to go' },
  );

const code = (work: Promise<unknown>): Promise<string | null> =>
  work.then(
    () => null,
    (error: unknown) => (error as { code: string }).code,
  );

test('a closed run goes with its bytes, an open one stays whole, and a dry run tells exactly that', async () => {
  const baton = await startBaton();
  const client = baton.as();
  const old = await finished(baton, 'only of the old one'.repeat(9_000));
  const open = await launchDirect(baton, { ttl: '60s' });
  const { lease } = await open.slot('a').claim({ workerClass: 'coder', worker: 'w' });
  await open
    .slot('a')
    .save(lease.token, { kind: 'source', name: 'x', bytes: Buffer.from('of the open one') });

  expect(await client.collect({ olderThanMs: 60_000 })).toMatchObject({ runs: [], kept: [], bytes: [] });
  const dry = await inTwoDays(client, { olderThanMs: DAY, dryRun: true });
  expect(await old.artifacts()).toHaveLength(2);
  expect(dry).toMatchObject({ dryRun: true, runs: [{ run: old.run, status: 'succeeded' }], kept: [] });
  expect(dry.rows).toMatchObject({ attempts: 1, leases: 1, artifacts: 2, effects: 0 });
  const view = await inTwoDays(client, { olderThanMs: DAY });
  expect({ ...view, before: '' }).toEqual({ ...dry, dryRun: false, before: '' });
  expect(view.bytes.reduce((sum, { objects }) => sum + objects, 0)).toBe(2);
  const again = await inTwoDays(client, { olderThanMs: DAY });
  expect(again).toMatchObject({ runs: [], bytes: [], kept: [] });

  expect((await client.list()).map(({ run }) => run)).toEqual([open.run]);
  await expectInvariants(baton, open.run);
  expect((await open.slot('a').complete(lease.token, { result: 1 })).state).toBe('succeeded');
  for (const { digest } of await open.artifacts()) await open.read({ digest });
  const commands = (await client.audit({ limit: 1_000 })).filter(({ command }) => command === 'collect');
  // Not the dry one.
  expect(commands.map(({ verdict, run, actor }) => [verdict, run, actor])).toEqual(
    Array(3).fill(['accepted', null, 'ada']),
  );
});

test('a collected run is unknown to every read and command, and its id stays taken', async () => {
  const baton = await startBaton();
  const old = await finished(baton, 'x', 'the-one');
  await baton.as().collect(NOW);
  /** What the run's workflow itself answers, as long as Temporal has it. */
  const commands: readonly string[] = [...UPDATES, 'dryRun'];
  const answers = async (run: string): Promise<ReadonlySet<string | null>> => {
    const codes = new Set<string | null>();
    for (const [name, action, ask] of OF_A_RUN) {
      const answer = await code(ask(baton.as('eve', { timeoutMs: 3_000 }), run, 'a.b'));
      if (commands.includes(action)) codes.add(answer);
      else expect(answer, name).toBe('RunNotFound');
    }
    return codes;
  };
  // Temporal remembers it, and its workflow answers…
  // a dry run of a reassign: that its first guard refuses, for the run is closed.
  expect(await answers(old.run)).toEqual(new Set(['RunNotFound', null]));
  const launch = (run: string, input: string | null) => baton.as().launch({ package: 'job', run, input });
  for (const input of [null, 'another']) expect(await code(launch(old.run, input))).toBe('RunConflict');

  // …until its retention is over: this one it has never had, which is the same to whoever asks.
  const { tenant, store } = baton;
  await wholeRun(store, { tenant, run: 'forgotten' });
  expect(await code(baton.as().run('forgotten').slot('a').hold({ reason: 'x' }))).toBe('RunClosed');
  await baton.as().collect(NOW);
  expect(await answers('forgotten')).toEqual(new Set(['RunNotFound']));
  for (const input of [null, 'another']) expect(await code(launch('forgotten', input))).toBe('RunConflict');
  expect(await code(baton.temporal.workflow.getHandle(`${tenant}/forgotten`).describe())).not.toBeNull();
});

test('an export beside a collection is whole or refused, whenever it comes, and a refused one leaves nothing', async () => {
  const baton = await startBaton();
  const { tenant, store } = baton;
  const folder = await mkdtemp(path.join(tmpdir(), 'baton-gc-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const large = 'only of this one'.repeat(9_000);
  /** @param before is called in front of everything that is asked of the store */
  const exportOf = (run: string, before: (name: string) => Promise<void>) => {
    const watched = watchStore(store, async ({ name }, proceed) => {
      await before(name);
      return proceed();
    });
    return new BatonClient(baton.temporal, { tenant, store: watched })
      .run(run)
      .export(path.join(folder, run));
  };
  const asked = new Set<string>();
  const undisturbed = await finished(baton, large);
  const whole = await exportOf(undisturbed.run, async (name) => void asked.add(name));
  expect(whole).toMatchObject({ attempts: 1, artifacts: 2 });

  const outcomes: Record<string, string> = {};
  for (const moment of asked) {
    const { run } = await finished(baton, `${moment} ${large}`);
    let due = true;
    const exported = exportOf(run, async (name) => {
      if (name !== moment || !due) return;
      due = false;
      expect(await inTwoDays(baton.as(), { olderThanMs: DAY })).toMatchObject({ kept: [] });
    });
    outcomes[moment] = await exported.then(
      ({ attempts, artifacts }) => `whole: ${attempts} of 1, ${artifacts} of 2`,
      (error: unknown) => (error as { code: string }).code,
    );
    expect(await store.runs.get(tenant, run), moment).toBeNull();
  }
  // Its records are read before it is marked, or they are not used.
  expect(new Set(Object.values(outcomes))).toEqual(new Set(['RunNotFound', 'ArtifactMissing']));
  expect(outcomes).toMatchObject({
    'artifacts.list': 'RunNotFound',
    'artifacts.readStream': 'ArtifactMissing',
  });
  expect(await readdir(folder)).toEqual([undisturbed.run]);
  expect(await verifyBundle(path.join(folder, undisturbed.run))).toMatchObject({ ok: true });
});

test('a run that Temporal ended alone is kept until its end is recorded', async () => {
  const baton = await startBaton();
  const run = await launchDirect(baton, { ttl: '60s' });
  await run.slot('a').claim({ workerClass: 'coder', worker: 'w' });
  await baton.temporal.workflow.getHandle(run.workflowId).terminate('by hand');
  const client = baton.as();
  expect(await client.collect(NOW)).toMatchObject({
    runs: [],
    kept: [
      { run: run.run, status: 'running', why: 'NotRecorded', message: expect.stringContaining('doctor') },
    ],
  });
  expect(await run.attempts()).toHaveLength(1);
  await examineServer(client, { fix: true });
  expect(await collected(client)).toMatchObject({
    runs: [{ run: run.run, status: 'terminated' }],
    kept: [],
  });
});

test('a run that was reset after its end is kept while it is open, and until its newest end is old', async () => {
  const baton = await startBaton();
  const run = await finished(baton);
  const { EventType } = temporal.api.enums.v1;
  const points = (await eventsOf(baton, run.run))
    .filter(({ eventType }) => eventType === EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED)
    .map(({ eventId }) => String(eventId));
  const event = ['--event-id', points[0] ?? '', '--reapply-exclude', 'All'];
  await operate(baton, run.run, ['workflow', 'reset', '--reason', 'an operator tries', ...event]);
  const client = baton.as();
  await waitFor(async () => (await run.slot('a').show()).state === 'open', { what: 'the slot to be open' });
  expect((await baton.store.runs.get(baton.tenant, run.run))?.status).toBe('succeeded');
  expect(await client.collect(NOW)).toMatchObject({
    runs: [],
    kept: [{ run: run.run, why: 'OpenInTemporal' }],
  });
  const { lease } = await run.slot('a').claim({ workerClass: 'coder', worker: 'w2' });
  await run.slot('a').complete(lease.token, { result: 2 });
  await run.result();
  const ended = (await baton.store.runs.get(baton.tenant, run.run))?.endedAt ?? 0;
  const between = Date.now() - ended - 1;
  expect(await client.collect({ olderThanMs: between })).toMatchObject({ kept: [{ why: 'EndedAgain' }] });
  expect(await run.attempts()).toHaveLength(2);
  expect(await collected(client)).toMatchObject({ runs: [{ run: run.run }], kept: [] });
});

test('effects that nobody settled keep their run, and it is named', async () => {
  const baton = await startBaton({ control: false });
  const { tenant, store } = baton;
  await wholeRun(store, { tenant, run: 'paid', effect: 'committed' });
  await wholeRun(store, { tenant, run: 'unknown', effect: 'unresolved' });
  await wholeRun(store, { tenant, run: 'held', held: true, effect: null });
  expect(await baton.as().collect(NOW)).toMatchObject({
    runs: [{ run: 'paid' }],
    kept: [
      { run: 'held', why: 'LeasesHeld', message: expect.stringContaining('1 lease') },
      { run: 'unknown', why: 'EffectsOpen', message: expect.stringContaining('1 effect') },
    ],
  });
  expect(await store.effects.list(tenant, 'unknown')).toHaveLength(1);
});

test('without Temporal nothing goes, neither runs nor bytes, nor with a namespace that is not there', async () => {
  const baton = await startBaton({ control: false });
  const { tenant, store, address } = baton;
  await wholeRun(store, { tenant, run: 'old' });
  const { digest } = await store.artifacts.putBytes(Buffer.from('nobody refers to it'));
  const connection = Connection.lazy({ address: '127.0.0.1:9' });
  const away = new BatonClient(new Client({ connection }), { tenant, store });
  expect(await code(inTwoDays(away, NOW))).toBe('TemporalUnavailable');
  await connection.close();
  const there = await Connection.connect({ address });
  const lost = new BatonClient(new Client({ connection: there, namespace: 'no-such-namespace' }), {
    tenant,
    store,
  });
  expect(await code(inTwoDays(lost, NOW))).toBe('TemporalUnavailable');
  await there.close();
  expect(await store.runs.get(tenant, 'old')).not.toBeNull();
  expect((await store.artifacts.readBytes(digest)).byteLength).toBeGreaterThan(0);
  // Another tenant's runs are not this one's to remove.
  expect(await baton.as('ada', { tenant: `${tenant}x` }).collect(NOW)).toMatchObject({ runs: [] });
  expect(await inTwoDays(baton.as(), NOW)).toMatchObject({ runs: [{ run: 'old' }] });
  expect(await code(store.artifacts.readBytes(digest))).toBe('ArtifactMissing');
});

test('an age must be given, and bytes are kept for an hour at least', async () => {
  const baton = await startBaton({ control: false });
  for (const [field, request] of [
    ['olderThanMs', {}],
    ['olderThanMs', { olderThanMs: 0 }],
    ['olderThanMs', { olderThanMs: Number.NaN }],
    ['graceMs', { olderThanMs: 1, graceMs: 3_599_999 }],
    ['dryrun', { olderThanMs: 1, dryrun: true }],
  ] as const)
    await expect(baton.as().collect(request as CollectRequest), field).rejects.toMatchObject({
      code: 'InvalidCommand',
      details: { field },
    });
});
