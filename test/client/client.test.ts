/**
 * What a caller may rely on, whatever is up or down: repeats give the first answer, lost answers say so, a run that is over
 * answers, reads never show a dead lease as live, and an interrupted launch is repaired by launching again.
 */
import { Client } from '@temporalio/client';
import { describe, expect, it } from 'vitest';
import { BatonClient } from '../../src/client/client.js';
import { examineServer } from '../../src/client/doctor.js';
import { describeExecution, leaseDeadlines } from '../../src/client/lease-view.js';
import { workflowIdOf } from '../../src/domain/wire.js';
import { STORE_OF_PLUGIN, storeOfPlugins } from '../../src/client/session.js';
import { startBaton, type Baton } from '../support/baton.js';
import { documents, spec } from '../support/definitions.js';
import { fixture, startNode } from '../support/processes.js';
import { waitFor } from '../support/wait.js';

const code = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (error as { code: string }).code,
  );

async function launched(baton: Baton, options: { ttl?: string; run?: string; rollOverEvents?: number } = {}) {
  const { ttl = '20s', ...request } = options;
  const client = baton.as();
  await client.publish({ documents: documents({ a: { launch: [spec({ ttl })] }, b: { dependsOn: ['a'] } }) });
  return client.launch({ package: 'job', ...request });
}

it('says that a command got no answer, and carries it out once when it is repeated (S25)', async () => {
  const baton = await startBaton({ control: false });
  const run = await launched(baton);
  const impatient = baton.as('ada', { timeoutMs: 700 }).run(run.run).slot('a');
  const command = { reason: 'lunch', commandId: 'h1' };
  expect(await code(impatient.hold(command))).toBe('OutcomeUnknown');
  await baton.startControl();
  const patient = baton.as('ada').run(run.run).slot('a');
  const first = await patient.hold(command);
  expect(first).toMatchObject({ commandId: 'h1', slot: 'a', state: 'on-hold' });
  expect(await patient.hold(command)).toEqual(first);
  expect(await code(patient.hold({ ...command, reason: 'dinner' }))).toBe('CommandConflict');
  expect(await code(patient.heartbeat('t', { commandId: 'h1' }))).toBe('CommandConflict');
});

it('repairs a launch that was interrupted between its row and its workflow', async () => {
  const baton = await startBaton();
  const client = baton.as();
  await client.publish({ documents: documents({ a: {} }) });
  const broken = Object.create(baton.temporal, {
    workflow: {
      value: Object.assign(Object.create(baton.temporal.workflow), {
        start: () => Promise.reject(new Error('killed')),
      }),
    },
  }) as typeof baton.temporal;
  const { tenant, taskQueue, store } = baton;
  const dying = new BatonClient(broken, { tenant, actor: 'ada', store, taskQueue });
  expect(await code(dying.launch({ package: 'job', run: 'r' }))).toBe('Internal');
  expect(await code(client.run('r').slot('a').hold({ reason: 'x' }))).toBe('RunNotFound');
  const run = await client.launch({ package: 'job', run: 'r' });
  expect((await run.show()).source).toBe('workflow');
  expect((await client.launch({ package: 'job', run: 'r' })).launched).toEqual(run.launched);
  expect(await code(client.launch({ package: 'job', run: 'r', input: 1 }))).toBe('RunConflict');
  expect(await code(client.launch({ package: 'job', input: 'x'.repeat(70_000) }))).toBe('TooLarge');
  expect(await code(client.launch({ package: 'job', rollOverEvents: 39 }))).toBe('InvalidCommand');
  expect(await code(client.launch({ package: 'nobody' }))).toBe('UnknownRevision');
});

it('answers all of 25 claims at once: one lease, typed refusals for the rest', async () => {
  const baton = await startBaton();
  const run = await launched(baton);
  const slot = run.slot('a');
  const claims = Array.from({ length: 25 }, (_, index) =>
    code(slot.claim({ workerClass: 'coder', worker: `w${index}` })),
  );
  const answers = await Promise.all(claims);
  expect(answers.filter((answer) => answer === 'done')).toHaveLength(1);
  expect(new Set(answers)).toEqual(new Set(['done', 'AlreadyLeased']));
  expect(await run.attempts()).toHaveLength(1);
});

it('keeps an outside holder’s lease, and its answers, over roll-overs', async () => {
  const baton = await startBaton();
  const run = await launched(baton, { ttl: '10s', rollOverEvents: 40 });
  const slot = run.slot('a');
  const { lease, attempt } = await slot.claim({ workerClass: 'coder', worker: 'w1' });
  const executions = new Set<string>();
  for (let index = 0; executions.size < 3; index += 1) {
    const other = run.slot('b');
    await other.hold({ reason: `h${index}`, commandId: `h${index}` });
    await other.releaseHold({ reason: 'go on' });
    const beat = await slot.heartbeat(lease.token, { progress: { index } });
    expect(Date.parse(beat.lease.deadline ?? '')).toBeGreaterThan(Date.now() + 5_000);
    executions.add(
      (await describeExecution(baton.temporal, { tenant: baton.tenant, run: run.run }))?.workflowRunId ?? '',
    );
  }
  // The first command's answer was carried along, though its execution is two back.
  expect(await run.slot('b').hold({ reason: 'h0', commandId: 'h0' })).toMatchObject({
    state: 'on-hold',
    commandId: 'h0',
  });
  expect(await slot.complete(lease.token, { result: 1 })).toMatchObject({ state: 'succeeded' });
  expect(await run.attempts('a')).toMatchObject([{ attempt, number: 1, worker: { status: 'succeeded' } }]);
});

describe('without a control worker', () => {
  it('shows a lease past its deadline as what it is, from describe and store', async () => {
    const baton = await startBaton({ control: false });
    // Each look without a control worker takes as long as a query may.
    const run = await launched(baton, { ttl: '8s' });
    const stop = await baton.startControl();
    const slot = run.slot('a');
    const { lease, attempt } = await slot.claim({ workerClass: 'coder', worker: 'w1' });
    await stop();
    const beat = await slot.heartbeat(lease.token);
    const deadline = beat.lease.deadline;
    expect(await slot.show()).toMatchObject({ state: 'active', expired: false, activeWorker: 'w1' });
    expect(await slot.attempts()).toMatchObject([
      { worker: { status: 'running' }, lease: { status: 'live', deadline } },
    ]);
    expect(
      await slot.save(lease.token, { kind: 'source', name: 'x', bytes: Buffer.from('x') }),
    ).toMatchObject({ state: 'active' });

    const row = await baton.store.attempts.get(baton.tenant, run.run, attempt);
    const { activityId = '', workflowRunId = '' } = row?.attachment ?? {};
    const ask = {
      tenant: baton.tenant,
      run: run.run,
      workflowRunId,
      leases: [{ attempt, activityId, ttlMs: 8_000 }],
    };
    expect((await leaseDeadlines(baton.temporal, ask))[attempt]).toEqual({
      deadline: Date.parse(deadline ?? ''),
      beaten: true,
    });

    await waitFor(async () => (await slot.show()).expired);
    expect(await slot.show()).toMatchObject({ state: 'active', expired: true, gate: null });
    expect(await slot.attempts()).toMatchObject([
      { worker: { status: 'lost' }, lease: { status: 'expired', deadline }, endedAt: null, failure: null },
    ]);
    // The row is live until somebody settles it; Temporal is asked too.
    await waitFor(async () => (await leaseDeadlines(baton.temporal, ask))[attempt] === null);
    expect((await baton.store.attempts.get(baton.tenant, run.run, attempt))?.leaseStatus).toBe('live');
    const late = [
      code(slot.heartbeat(lease.token)),
      code(slot.save(lease.token, { kind: 'source', name: 'y', bytes: Buffer.from('y') })),
      code(slot.complete(lease.token)),
      code(slot.fail(lease.token, { code: 'X', message: 'x' })),
      code(slot.release(lease.token, { reason: 'x' })),
    ];
    expect(await Promise.all(late)).toEqual(late.map(() => 'StaleLease'));
    await baton.startControl();
    // The store has the end a moment before the run.
    await waitFor(async () => (await slot.show()).state === 'retry-wait');
    expect(await slot.show()).toMatchObject({ expired: false });
    expect(await slot.attempts()).toMatchObject([
      { lease: { status: 'expired', deadline }, failure: { code: 'LeaseExpired' } },
    ]);
  });

  it('knows when a killed host’s lease ended, though its beats were told to Temporal alone', async () => {
    const baton = await startBaton({ control: false });
    const client = baton.as();
    await client.publish({
      documents: documents({ a: { launch: [spec({ dispatch: 'queue', ttl: '2s' })] } }),
    });
    const stop = await baton.startControl();
    const run = await client.launch({ package: 'job' });
    const { address, storeUrl, taskQueue } = baton;
    const host = fixture(import.meta.url, '../host/fixtures/host-process.ts');
    const child = await startNode(host, [
      JSON.stringify({ address, storeUrl, taskQueue, workerClass: 'coder' }),
    ]);
    const attempt = async () => (await run.attempts('a'))[0];
    const started = await waitFor(async () => (await attempt())?.worker.status === 'running' && attempt(), {
      timeoutMs: 60_000,
    });
    await stop();
    // Beats have moved the deadline past that of the start, so the start cannot be what is shown at the end.
    const first = Date.parse(started?.lease.deadline ?? '');
    await waitFor(async () => Date.parse((await attempt())?.lease.deadline ?? '') > first + 2_000);
    child.kill('SIGKILL');
    await child.exited;
    const before = Date.parse((await attempt())?.lease.deadline ?? '');
    const ended = await waitFor(async () => {
      const now = await attempt();
      const row = await baton.store.attempts.get(baton.tenant, run.run, now?.attempt ?? '');
      const view = await describeExecution(baton.temporal, { tenant: baton.tenant, run: run.run });
      return view?.leases.has(row?.attachment?.activityId ?? '') ? null : attempt();
    });
    expect(ended).toMatchObject({ worker: { status: 'lost' }, lease: { status: 'expired' }, endedAt: null });
    expect(Math.abs(Date.parse(ended?.lease.deadline ?? '') - before)).toBeLessThan(1_000);
    expect(await run.slot('a').show()).toMatchObject({ state: 'active', expired: true });
  });

  it('takes a completion and says what is known of the slot', async () => {
    const baton = await startBaton({ control: false });
    const run = await launched(baton);
    const stop = await baton.startControl();
    const slot = run.slot('a');
    const { lease } = await slot.claim({ workerClass: 'coder', worker: 'w1' });
    await stop();
    const answer = await slot.complete(lease.token, { result: [1] });
    expect(answer).toMatchObject({ slot: 'a', state: 'active' });
    await baton.startControl();
    await waitFor(async () => (await slot.show()).state === 'succeeded');
    expect(await slot.complete(lease.token, { result: [1] })).toEqual(answer);
    expect(await code(slot.complete(lease.token, { result: [2] }))).toBe('CompletionConflict');
  });
});

it('says that the namespace is not there: neither is it the control worker that is away, nor is the run over', async () => {
  const baton = await startBaton({ control: false });
  const { tenant, store, temporal } = baton;
  const { run } = await launched(baton);
  const there = new Client({ connection: temporal.connection, namespace: 'no-such-namespace' });
  const lost = new BatonClient(there, { tenant, store }).run(run);
  const asks = [() => lost.show(), () => lost.slot('a').hold({ reason: 'x' }), () => lost.result()];
  for (const ask of asks)
    await expect(ask()).rejects.toMatchObject({
      code: 'TemporalUnavailable',
      message: expect.stringContaining('no such namespace') as string,
      details: { namespace: 'no-such-namespace' },
    });
  // Records are there without a server.
  expect([await lost.attempts(), await lost.artifacts()]).toEqual([[], []]);
});

it('finds and settles what a terminated run leaves behind', async () => {
  const baton = await startBaton();
  const client = baton.as();
  const run = await launched(baton);
  await run.slot('a').claim({ workerClass: 'coder', worker: 'w1' });
  await baton.temporal.workflow.getHandle(workflowIdOf(baton.tenant, run.run)).terminate('test');
  expect((await run.show()).status).toBe('terminated');
  expect(await client.list()).toMatchObject([{ run: run.run, status: 'terminated' }]);
  const runs = async (fix: boolean) =>
    (await examineServer(client, { fix })).find(({ check }) => check === 'runs');
  expect(await runs(false)).toMatchObject({ status: 'failed', fixed: false });
  expect(await run.attempts()).toMatchObject([{ lease: { status: 'live' } }]);
  expect(await runs(true)).toMatchObject({ status: 'ok', fixed: true });
  expect(await run.attempts()).toMatchObject([
    { worker: { status: 'cancelled' }, lease: { status: 'revoked' }, failure: { code: 'Cancelled' } },
  ]);
  expect((await baton.store.runs.get(baton.tenant, run.run))?.status).toBe('terminated');
  expect(await runs(false)).toMatchObject({ status: 'ok', fixed: false });
  expect(await code(run.result())).toBe('RunFailed');
  expect(await code(run.slot('a').hold({ reason: 'x' }))).toBe('RunClosed');
});

it('refuses options that are not well formed, and finds the store of a plugin', async () => {
  const baton = await startBaton({ control: false });
  for (const options of [{ tenant: 'acme ' }, { tenant: 'a', actor: '' }, { tenant: 'a', timeoutMs: 0 }]) {
    expect(() => new BatonClient(baton.temporal, options)).toThrow(
      expect.objectContaining({ code: 'InvalidCommand' }) as Error,
    );
  }
  const bare = new BatonClient(baton.temporal, { tenant: 'a', actor: 'ada' });
  expect(await code(bare.list())).toBe('InvalidCommand');
  const offered = {
    options: { plugins: [{ name: 'x' }, { [STORE_OF_PLUGIN]: () => Promise.resolve(baton.store) }] },
  };
  expect(await storeOfPlugins(offered as unknown as typeof baton.temporal)?.()).toBe(baton.store);
});
