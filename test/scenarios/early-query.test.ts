/**
 * S27, a query that waits while the control worker is away: it brings the newest events to the worker before their workflow task does, and
 * the run must not work them through at the time of the task before. Otherwise it decides by another time than its replay.
 */
import { expect, test } from 'vitest';
import { examineServer } from '../../src/client/doctor.js';
import { startBaton } from '../support/baton.js';
import { spec } from '../support/definitions.js';
import { recordHistory, replay } from '../support/histories.js';
import { eventsOf, expectInvariants, stateOf } from '../support/invariants.js';
import { crash, useRestartable } from '../support/restartable.js';
import { launchNodes } from '../support/steps.js';
import { current } from '../support/versions.js';
import { waitFor } from '../support/wait.js';

const restartable = useRestartable('early-query');
/** The query comes before the task, or after it: with so many runs and rounds some of them come before. */
const RUNS = 5;
const ROUNDS = 2;

test('ends of leases count from the task that brings them, whatever is asked before it', async () => {
  const baton = await startBaton({ address: restartable.server.address, control: false });
  let control = await restartable.startWorker(baton, { role: 'control' });
  const retry = { mode: 'auto', backoff: { initial: '100ms' }, failures: 100, losses: 100 };
  const nodes = { a: { launch: [spec({ ttl: '3s', retry })] } };
  const runs = await Promise.all(
    Array.from({ length: RUNS }, (_, index) => launchNodes(baton, nodes, { run: `r${index}` })),
  );
  for (let round = 1; round <= ROUNDS; round += 1) {
    for (const run of runs)
      await waitFor(() => run.slot('a').claim({ workerClass: 'coder', worker: 'person' }), {
        timeoutMs: 30_000,
      });
    await crash(control);
    const ended = async (run: string): Promise<boolean> =>
      (await eventsOf(baton, run)).filter((event) => event.activityTaskTimedOutEventAttributes).length ===
      round;
    // Nobody polls: the question waits at the server, and the lease ends behind it.
    const answers = runs.map(({ run }) => stateOf(baton, run).catch((error: unknown) => String(error)));
    const shown = runs.map((run) => run.show());
    for (const { run } of runs) await waitFor(() => ended(run), { timeoutMs: 30_000 });
    control = await restartable.startWorker(baton, { role: 'control' });
    await Promise.all([...answers, ...shown]);
    for (const run of runs)
      await waitFor(async () => (await run.slot('a').show()).counts.losses === round, { timeoutMs: 30_000 });
  }

  for (const { run } of runs) {
    const starts = new Map<string, number>();
    let task = '';
    const late: number[] = [];
    for (const event of await eventsOf(baton, run)) {
      const at = Number(event.eventTime?.seconds) * 1_000 + Number(event.eventTime?.nanos) / 1e6;
      if (event.workflowTaskStartedEventAttributes) starts.set(String(event.eventId), at);
      task = String(event.workflowTaskCompletedEventAttributes?.startedEventId ?? task);
      const scheduled = event.activityTaskScheduledEventAttributes;
      if (scheduled?.activityType?.name !== 'settle') continue;
      const [payload] = scheduled.input?.payloads ?? [];
      const { endedAt } = JSON.parse(Buffer.from(payload!.data!).toString()) as { endedAt: number };
      late.push(starts.get(task)! - endedAt);
    }
    expect(late, run).toHaveLength(ROUNDS);
    for (const ms of late) expect(Math.abs(ms), run).toBeLessThan(2);
    await replay(current, await recordHistory(baton, run));
    await expectInvariants(baton, run);
  }
}, 180_000);

test('a run that was terminated before that task is still read and settled', async () => {
  const baton = await startBaton({ address: restartable.server.address, control: false });
  const control = await restartable.startWorker(baton, { role: 'control' });
  const run = await launchNodes(baton, { a: { launch: [spec({ ttl: '2s' })] } });
  const { attempt } = await run.slot('a').claim({ workerClass: 'coder', worker: 'person' });
  await crash(control);
  await waitFor(async () =>
    (await eventsOf(baton, run.run)).some((event) => event.activityTaskTimedOutEventAttributes),
  );
  await baton.temporal.workflow.getHandle(run.workflowId).terminate('not wanted');
  await restartable.startWorker(baton, { role: 'control' });
  // Asked by who does not know that it is closed: no task will ever bring the end of its lease.
  await expect(stateOf(baton, run.run)).rejects.toThrow('no workflow task yet');
  const shown = await run.show();
  expect(shown).toMatchObject({ status: 'terminated', source: 'workflow' });
  await examineServer(baton.as(), { fix: true });
  const checks = await examineServer(baton.as(), { fix: false });
  expect(checks.find(({ check }) => check === 'runs')).toMatchObject({ status: 'ok' });
  const [row] = await run.attempts();
  expect(row).toMatchObject({ attempt });
  expect(row?.lease.status).not.toBe('live');
}, 120_000);
