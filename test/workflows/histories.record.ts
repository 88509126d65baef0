/**
 * Records the histories that replay.test.ts replays: `RECORD=1 npx vitest run`. A history is
 * kept once recorded: an existing file is left as it is, because it stands for runs that are still open somewhere.
 */
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'vitest';
import { defineAgent } from '../../src/agent/types.js';
import { workflowIdOf } from '../../src/domain/wire.js';
import { startBaton, type Baton } from '../support/baton.js';
import { spec } from '../support/definitions.js';
import { executionsOf, HISTORIES, recordHistory } from '../support/histories.js';
import { launchNodes, untilSettled } from '../support/steps.js';
import { waitFor } from '../support/wait.js';

async function keep(name: string, baton: Baton, run: string, workflowRunId?: string): Promise<void> {
  const file = path.join(HISTORIES, `${name}.json`);
  if (existsSync(file)) return;
  await mkdir(HISTORIES, { recursive: true });
  await writeFile(file, `${JSON.stringify(await recordHistory(baton, run, workflowRunId), null, 1)}\n`);
}

const quick = (workerClass = 'coder') => defineAgent({ workerClass, run: async (ctx) => ctx.slot });

test('records a queue run that succeeds, with a failure on the way', async () => {
  const baton = await startBaton();
  let failed = false;
  const flaky = defineAgent({
    workerClass: 'flaky',
    run: async () => {
      if (failed) return 'second time';
      failed = true;
      throw new Error('first time');
    },
  });
  await baton.startHost([quick(), flaky]);
  const retry = { mode: 'auto', backoff: { initial: '200ms' } };
  const run = await launchNodes(baton, {
    a: { launch: [spec({ dispatch: 'queue', ttl: '10s' })], slots: 2 },
    b: { launch: [spec({ dispatch: 'queue', ttl: '10s', classes: ['flaky'], retry })], dependsOn: ['a'] },
  });
  await run.result();
  await keep('queue-success', baton, run.run);
}, 60_000);

test('records a direct run with an expiry and a reassign', async () => {
  const baton = await startBaton();
  const run = await launchNodes(baton, { a: { launch: [spec({ ttl: '2s' })] } });
  const slot = run.slot('a');
  await slot.claim({ workerClass: 'coder', worker: 'w1' });
  await untilSettled(run);
  await slot.reassign({ workerClass: 'coder', reason: 'w1 went silent' });
  const { lease } = await slot.claim({ workerClass: 'coder', worker: 'w2' });
  await slot.complete(lease.token, { result: 1 });
  await run.result();
  await keep('direct-expiry-reassign', baton, run.run);
}, 60_000);

test('records the executions of a run that rolls over under live leases', async () => {
  const baton = await startBaton();
  const run = await launchNodes(
    baton,
    {
      hosted: { launch: [spec({ dispatch: 'queue', ttl: '20s' })] },
      outside: { launch: [spec({ ttl: '20s' })] },
      noise: { launch: [spec()] },
    },
    { rollOverEvents: 40 },
  );
  let finish: (result: string) => void = () => undefined;
  const agent = defineAgent({
    workerClass: 'coder',
    run: () => new Promise((resolve) => (finish = resolve)),
  });
  await baton.startHost([agent]);
  const { lease } = await run.slot('outside').claim({ workerClass: 'coder', worker: 'w1' });
  await waitFor(async () => {
    await run.slot('noise').hold({ reason: 'roll' });
    await run.slot('noise').releaseHold({ reason: 'roll' });
    return (await executionsOf(baton, run.run)).length >= 3;
  });
  finish('kept');
  await run.slot('outside').complete(lease.token, { result: 'kept' });
  await run.slot('noise').cancel({ reason: 'done' });
  await waitFor(async () => (await run.show()).status !== 'running');
  const executions = await executionsOf(baton, run.run);
  for (const [index, id] of executions.slice(0, 3).entries())
    await keep(`roll-over-${index + 1}`, baton, run.run, id);
}, 60_000);

test('records holds, revocation and cancels', async () => {
  const baton = await startBaton();
  const run = await launchNodes(baton, {
    a: { launch: [spec({ ttl: '20s' })] },
    b: { launch: [spec({ dispatch: 'queue', classes: ['nobody'] })] },
    c: { launch: [spec()], dependsOn: ['a'] },
  });
  await run.slot('a').hold({ reason: 'wait' });
  await run.slot('a').releaseHold({ reason: 'go on' });
  await run.slot('a').claim({ workerClass: 'coder', worker: 'w1' });
  await run.slot('a').revoke({ reason: 'wrong machine' });
  await untilSettled(run);
  await run.slot('a').reassign({ workerClass: 'coder', reason: 'right machine' });
  await run.slot('b').hold({ reason: 'wait' });
  await run.slot('a').claim({ workerClass: 'coder', worker: 'w2' });
  await run.cancel({ reason: 'enough' });
  await waitFor(async () => (await run.show()).status === 'cancelled');
  await keep('hold-revoke-cancel', baton, run.run);
}, 60_000);

test('records a policy that escalates, a slot past its deadline and a run past its own', async () => {
  const baton = await startBaton();
  const failing = defineAgent({
    workerClass: 'coder',
    run: async () => {
      throw new Error('not able');
    },
  });
  await baton.startHost([failing, quick('senior')]);
  const queue = (workerClass: string) =>
    spec({ id: workerClass, dispatch: 'queue', classes: [workerClass], ttl: '10s' });
  const run = await launchNodes(
    baton,
    {
      escalated: {
        launch: [queue('coder'), queue('senior')],
        escalate: [{ name: 'too-hard', after: { failures: 1 }, to: 'senior' }],
      },
      late: { launch: [queue('nobody')], optional: true, deadline: '2s' },
      never: { launch: [queue('nobody')], dependsOn: ['escalated', 'late'] },
    },
    { deadline: '4s' },
  );
  await waitFor(async () => (await run.show()).status === 'failed');
  await keep('policies-deadlines', baton, run.run);
}, 60_000);

test('records a reassign that takes an offer back, a release, and a cancel by Temporal', async () => {
  const baton = await startBaton();
  const queue = (workerClass: string) =>
    spec({ id: workerClass, dispatch: 'queue', classes: [workerClass], ttl: '10s' });
  const run = await launchNodes(baton, {
    a: { launch: [queue('coder'), queue('nobody'), queue('senior')] },
    b: { launch: [spec({ ttl: '20s' })] },
  });
  const patient = (workerClass: string) =>
    defineAgent({
      workerClass,
      run: (ctx) =>
        new Promise((_resolve, reject) =>
          ctx.signal.addEventListener('abort', () => reject(new Error('told'))),
        ),
    });
  const host = await baton.startHost([patient('coder')]);
  const slot = run.slot('a');
  await waitFor(async () => (await slot.show()).state === 'active');
  await host.shutdown();
  await untilSettled(run);
  // An offer to the class is out again since the release: this reassign takes it back, and the next one takes its own back.
  await slot.reassign({ workerClass: 'nobody', reason: 'try others' });
  await slot.reassign({ workerClass: 'senior', reason: 'nobody came' });
  await baton.startHost([patient('senior')]);
  await waitFor(async () => (await slot.show()).state === 'active');
  const { lease } = await run.slot('b').claim({ workerClass: 'coder', worker: 'w1' });
  await run.slot('b').release(lease.token, { reason: 'not mine' });
  await untilSettled(run, 'b');
  await baton.temporal.workflow.getHandle(workflowIdOf(baton.tenant, run.run)).cancel();
  await waitFor(async () => (await run.show()).status === 'cancelled');
  await keep('offers-temporal-cancel', baton, run.run);
}, 60_000);

test('records the commands that slots wait for: a reassign to the same class, a hold of a blocked slot', async () => {
  const baton = await startBaton();
  const run = await launchNodes(baton, {
    a: { launch: [spec({ ttl: '2s' })] },
    b: { launch: [spec()], dependsOn: ['a'] },
  });
  await run.slot('b').hold({ reason: 'not yet' });
  await run.slot('a').claim({ workerClass: 'coder', worker: 'w1' });
  await untilSettled(run);
  await run.slot('a').reassign({ workerClass: 'coder', reason: 'w1 went silent' });
  await run.slot('b').releaseHold({ reason: 'now' });
  for (const slot of ['a', 'b']) {
    const { lease } = await run.slot(slot).claim({ workerClass: 'coder', worker: 'w2' });
    await run.slot(slot).complete(lease.token, { result: 1 });
    await untilSettled(run, slot);
  }
  await run.result();
  await keep('waiting-commands', baton, run.run);
}, 60_000);
