/** S28: an operator resets or terminates the workflow of a run with a live lease and earlier attempts. */
import { temporal } from '@temporalio/proto';
import { expect, test } from 'vitest';
import { type BatonClient } from '../../src/client/client.js';
import { examineServer } from '../../src/client/doctor.js';
import type { AttemptRow } from '../../src/store/port.js';
import { startBaton, type Baton } from '../support/baton.js';
import { spec } from '../support/definitions.js';
import { eventsOf, expectInvariants, expectNoFailedTasks, stateOf } from '../support/invariants.js';
import { operate, watched } from '../support/operator.js';
import { launchNodes, untilSettled } from '../support/steps.js';
import { waitFor } from '../support/wait.js';

const { EventType } = temporal.api.enums.v1;
const retry = { mode: 'auto', backoff: { initial: '100ms', max: '100ms' }, losses: 50 };

/** In each slot no epoch twice, no number twice, no attempt twice. @returns the greatest epoch */
async function expectEpochs(baton: Baton, run: string): Promise<number> {
  const rows = await baton.store.attempts.list(baton.tenant, run);
  for (const of of [
    (row: AttemptRow) => `${row.slot} epoch ${row.epoch}`,
    (row: AttemptRow) => `${row.slot} number ${row.number}`,
    (row: AttemptRow) => row.attempt,
  ]) {
    const seen = rows.map(of);
    expect(new Set(seen).size, seen.join(', ')).toBe(seen.length);
  }
  return Math.max(...rows.map(({ epoch }) => epoch));
}

const doctor = (client: BatonClient, fix: boolean) => examineServer(client, { fix });

async function fixed(baton: Baton, client = baton.as()): Promise<void> {
  await doctor(client, true);
  const checks = await doctor(client, false);
  expect(checks.find(({ check }) => check === 'runs')).toMatchObject({ status: 'ok' });
}

/** Workflow task completions of the run's newest execution: where it can be reset to. */
async function resetPoints(baton: Baton, run: string): Promise<string[]> {
  return (await eventsOf(baton, run))
    .filter(({ eventType }) => eventType === EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED)
    .map(({ eventId }) => String(eventId));
}

const resetTo = (baton: Baton, run: string, args: readonly string[]) =>
  operate(baton, run, ['workflow', 'reset', '--reason', 'an operator tries', ...args]);

test.each([
  ['its first task', 'first', []],
  ['its first task, without its commands', 'first', ['--reapply-exclude', 'All']],
  ['its last task', 'last', []],
  ['the middle', 'middle', []],
  ['the middle, without its commands', 'middle', ['--reapply-exclude', 'All']],
] as const)(
  'S28 direct, reset to %s: old attempts stay what they are, no epoch is used twice, and the run can be finished',
  async (_what, where, more) => {
    const baton = await startBaton();
    const run = await launchNodes(baton, { a: { launch: [spec({ ttl: '20s', retry })] } });
    const slot = run.slot('a');
    const first = await slot.claim({ workerClass: 'coder', worker: 'w1' });
    await slot.fail(first.lease.token, { code: 'Broken', message: 'first' });
    await untilSettled(run);
    const second = await waitFor(() => slot.claim({ workerClass: 'coder', worker: 'w2' }).catch(() => null));
    const before = await baton.store.attempts.list(baton.tenant, run.run);
    await expectInvariants(baton, run.run);

    const points = await resetPoints(baton, run.run);
    const at = {
      first: points[0],
      last: points.at(-1),
      middle: points[Math.floor(points.length / 2)],
    }[where];
    await resetTo(baton, run.run, ['--event-id', at ?? '', ...more]);
    await waitFor(async () => (await run.show()).source === 'workflow');
    await expectEpochs(baton, run.run);
    await expectNoFailedTasks(baton, run.run);

    // The holder either still has its lease in the new execution or is told; it never works beside another.
    const beat = await slot.heartbeat(second.lease.token).then(
      () => 'live',
      (error: unknown) => (error as { code: string }).code,
    );
    expect(['live', 'StaleLease', 'RollingOver']).toContain(beat);
    if (beat === 'live') {
      await slot.release(second.lease.token, { reason: 'reset' });
      await untilSettled(run);
    }
    await fixed(baton);
    await expectInvariants(baton, run.run);

    // What was recorded of the first attempt is what it was.
    const [one] = await baton.store.attempts.list(baton.tenant, run.run);
    expect(one).toEqual(before[0]);
    await expect(slot.heartbeat(first.lease.token)).rejects.toMatchObject({ code: 'StaleLease' });

    // Whatever state the reset brought back, somebody new can finish it.
    const next = await waitFor(
      async () => {
        const { state, gate } = await slot.show();
        if (state === 'retry-wait' && gate === 'reassign')
          await slot.reassign({ workerClass: 'coder', reason: 'after the reset' });
        return slot.claim({ workerClass: 'coder', worker: 'w3' });
      },
      { what: 'a claim after the reset', timeoutMs: 30_000 },
    );
    expect(next.epoch).toBeGreaterThan(second.epoch);
    expect(await expectEpochs(baton, run.run)).toBe(next.epoch);
    await slot.complete(next.lease.token, { result: 'done' });
    expect(await run.result()).toEqual({ a: 'done' });
    await expectInvariants(baton, run.run);
  },
);

test('S28 a reset that carries out old claims once more makes no attempt for a worker who is not there', async () => {
  const baton = await startBaton();
  const run = await launchNodes(baton, { a: { launch: [spec({ ttl: '2s', retry: { mode: 'manual' } })] } });
  const slot = run.slot('a');
  const first = await slot.claim({ workerClass: 'coder', worker: 'w1', commandId: 'claim-1' });
  await slot.fail(first.lease.token, { code: 'Broken', message: 'first' });
  await untilSettled(run);
  const before = await baton.store.attempts.list(baton.tenant, run.run);
  await resetTo(baton, run.run, ['--event-id', (await resetPoints(baton, run.run))[0] ?? '']);
  // The claim that came after the reset point is sent to the new execution by Temporal itself.
  await waitFor(async () => (await stateOf(baton, run.run)).state.slots['a']?.claimFailure, {
    what: 'the old claim to be carried out again, and refused',
  });
  expect(await baton.store.attempts.list(baton.tenant, run.run)).toEqual(before);
  // Its sender still gets the answer that he got, for an attempt that is over.
  const again = await slot.claim({ workerClass: 'coder', worker: 'w1', commandId: 'claim-1' });
  expect(again).toEqual(first);
  await expect(slot.heartbeat(again.lease.token)).rejects.toMatchObject({ code: 'StaleLease' });
  const next = await slot.claim({ workerClass: 'coder', worker: 'w2' });
  expect(next).toMatchObject({ number: 2, epoch: 2 });
  await expectEpochs(baton, run.run);
  await expectInvariants(baton, run.run);
});

test('S28 an outside holder whose attempt a reset made the run forget is told', async () => {
  const baton = await startBaton();
  const run = await launchNodes(baton, { a: { launch: [spec({ ttl: '2s', retry })] } });
  const { lease } = await run.slot('a').claim({ workerClass: 'coder', worker: 'w1' });
  const [point] = await resetPoints(baton, run.run);
  await resetTo(baton, run.run, ['--event-id', point ?? '', '--reapply-exclude', 'All']);
  await expect(run.slot('a').heartbeat(lease.token)).rejects.toMatchObject({ code: 'StaleLease' });
  await fixed(baton);
  const next = await run.slot('a').claim({ workerClass: 'coder', worker: 'w2' });
  expect(next.epoch).toBe(2);
  await expectInvariants(baton, run.run);
});

test.each(['first', 'last', 'middle'] as const)(
  'S28 hosted, reset to its %s task: no agent runs twice at once, and the run is finished',
  async (where) => {
    const baton = await startBaton();
    const { agent, runs, seen } = watched();
    const run = await launchNodes(baton, { a: { launch: [spec({ dispatch: 'queue', ttl: '3s', retry })] } });
    await baton.startHost([agent]);
    await waitFor(() => runs.length === 1);
    await run.slot('a').revoke({ reason: 'a first attempt' });
    await untilSettled(run);
    await waitFor(() => runs[0]?.told);
    await run.slot('a').reassign({ workerClass: 'coder', reason: 'again' });
    await waitFor(() => runs.length === 2);
    await expectInvariants(baton, run.run);

    const points = await resetPoints(baton, run.run);
    const at = { first: points[0], last: points.at(-1), middle: points[Math.floor(points.length / 2)] }[
      where
    ];
    await resetTo(baton, run.run, ['--event-id', at ?? '']);
    await waitFor(async () => (await run.show()).source === 'workflow');
    // A new agent starts only once the second was told; or the second works on in the new execution.
    const next = await waitFor(
      async () => {
        // Not before its agent was told: to settle an attempt at once is an operator's choice, as a revoke is.
        if (runs[1]?.told) await doctor(baton.as(), true);
        const { state, gate } = await run.slot('a').show();
        if (state === 'retry-wait' && gate === 'reassign')
          await run.slot('a').reassign({ workerClass: 'coder', reason: 'after the reset' });
        const last = runs.at(-1);
        const attempt = (await run.attempts('a')).at(-1);
        if (!last || last.told || attempt?.lease.status !== 'live') return null;
        return last.ctx.attempt === attempt.attempt && state === 'active' ? last : null;
      },
      { what: 'an agent at work', timeoutMs: 30_000, everyMs: 100 },
    );
    expect(seen.atWork).toBe(1);
    await expectEpochs(baton, run.run);
    await expectInvariants(baton, run.run);
    next.finish('done');
    expect(await run.result()).toEqual({ a: 'done' });
    expect(seen.atWork).toBe(1);
    await fixed(baton);
    await expectInvariants(baton, run.run);
  },
);

test('S28 terminate: holder and agent are told, every command is RunClosed, doctor settles what is left', async () => {
  const baton = await startBaton();
  const { agent, runs } = watched();
  const run = await launchNodes(baton, {
    a: { launch: [spec({ dispatch: 'queue', ttl: '3s', retry })] },
    b: { launch: [spec({ ttl: '30s', retry })] },
  });
  await baton.startHost([agent]);
  await waitFor(() => runs.length === 1);
  const first = await run.slot('b').claim({ workerClass: 'coder', worker: 'w1' });
  await run.slot('b').release(first.lease.token, { reason: 'an earlier attempt' });
  await untilSettled(run, 'b');
  const { lease } = await run.slot('b').claim({ workerClass: 'coder', worker: 'w2' });
  await expectInvariants(baton, run.run);
  await operate(baton, run.run, ['workflow', 'terminate', '--reason', 'gone wrong']);

  await waitFor(() => runs[0]?.told, { what: 'the agent to be told' });
  for (const act of [
    () => run.slot('b').heartbeat(lease.token),
    () => run.slot('b').save(lease.token, { kind: 'source', name: 'x', bytes: Buffer.from('x') }),
    () => run.slot('b').complete(lease.token, { result: 1 }),
    () => run.slot('b').fail(lease.token, { code: 'X', message: 'x' }),
    () => run.slot('b').release(lease.token, { reason: 'x' }),
  ])
    await expect(act()).rejects.toMatchObject({ code: 'StaleLease' });
  await expect(run.slot('b').reassign({ workerClass: 'coder', reason: 'x' })).rejects.toMatchObject({
    code: 'RunClosed',
  });
  await expect(run.slot('b').claim({ workerClass: 'coder', worker: 'w' })).rejects.toMatchObject({
    code: 'RunClosed',
  });
  expect((await run.show()).status).toBe('terminated');

  const found = (await doctor(baton.as(), false)).find(({ check }) => check === 'runs');
  expect(found).toMatchObject({ status: 'failed', fixed: false });
  await fixed(baton);
  expect((await baton.store.runs.get(baton.tenant, run.run))?.status).toBe('terminated');
  const attempts = await run.attempts();
  expect(attempts).toHaveLength(3);
  for (const attempt of attempts.filter(({ attempt: id }) => id !== first.attempt))
    expect(attempt).toMatchObject({ worker: { status: 'cancelled' }, lease: { status: 'revoked' } });
  expect(attempts.find(({ attempt: id }) => id === first.attempt)).toMatchObject({
    worker: { status: 'released' },
  });
  await expectEpochs(baton, run.run);
  expect(runs).toHaveLength(1);
});
