/** What a run waits for, as the server keeps it: one event for a change, never a value that the server refuses. */
import { expect, test } from 'vitest';
import type { RunHandle } from '../../src/client/run-handle.js';
import { startBaton, type Baton } from '../support/baton.js';
import { spec } from '../support/definitions.js';
import { expectNoFailedTasks } from '../support/invariants.js';
import { launchNodes, untilSettled } from '../support/steps.js';
import { waitFor } from '../support/wait.js';

const describeRun = (baton: Baton, run: RunHandle) =>
  baton.temporal.workflow.getHandle(run.workflowId).describe();

const untilWaiting = (baton: Baton, run: RunHandle, list: readonly string[]) =>
  waitFor(
    async () => {
      const { BatonWaiting } = (await describeRun(baton, run)).searchAttributes;
      return JSON.stringify(BatonWaiting ?? []) === JSON.stringify(list);
    },
    { what: `BatonWaiting to be ${list.join(', ')}` },
  );

test('it follows what slots wait for', async () => {
  const baton = await startBaton();
  const run = await launchNodes(baton, {
    a: { launch: [spec({ ttl: '60s' })] },
    b: { launch: [spec()], dependsOn: ['a'] },
  });
  const slot = run.slot('a');
  await untilWaiting(baton, run, ['a:coder']);
  await slot.claim({ workerClass: 'coder', worker: 'w1' });
  await untilWaiting(baton, run, []);
  await run.slot('b').hold({ reason: 'not yet' });
  await untilWaiting(baton, run, ['release-hold']);
  await slot.revoke({ reason: 'w1 is ill' });
  await untilWaiting(baton, run, ['reassign', 'release-hold', 'a:coder']);
  await untilSettled(run);
  await slot.reassign({ workerClass: 'coder', reason: 'w2 may' });
  await untilWaiting(baton, run, ['release-hold', 'a:coder']);
  await run.slot('b').releaseHold({ reason: 'now' });
  await untilWaiting(baton, run, ['a:coder']);
  await expectNoFailedTasks(baton, run.run);
}, 60_000);

test('many slots with long names launch, and go on when one is held', async () => {
  const baton = await startBaton();
  const name = 'n'.padEnd(100, 'x');
  const workerClass = 'c'.padEnd(100, 'x');
  const launch = [spec({ classes: [workerClass] })];
  const run = await launchNodes(baton, { [name]: { launch, slots: 60 } });
  const first = ((await describeRun(baton, run)).searchAttributes['BatonWaiting'] ?? []) as string[];
  expect(first.length).toBeGreaterThan(5);
  await run.slot(`${name}.1`).hold({ reason: 'not yet' });
  await waitFor(
    async () => (await describeRun(baton, run)).searchAttributes['BatonWaiting']?.[0] === 'release-hold',
  );
  await expectNoFailedTasks(baton, run.run);
}, 60_000);
