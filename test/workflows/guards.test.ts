/** Each guard code once through the real server; where no history reaches a state, a run starts from a crafted one. */
import { WorkflowUpdateFailedError } from '@temporalio/client';
import type { ApplicationFailure } from '@temporalio/common';
import { expect, test } from 'vitest';
import { createRun } from '../../src/domain/run.js';
import type { LaunchSpec, PriorWorker, RunPlan, Slot } from '../../src/domain/types.js';
import { RUN_WORKFLOW, workflowIdOf, type RunInput } from '../../src/domain/wire.js';
import { startBaton, type Baton } from '../support/baton.js';
import { eventsOf, expectNoFailedTasks, stateOf } from '../support/invariants.js';

const spec = (id: string, workerClass: string): LaunchSpec => ({
  id,
  workerClasses: [workerClass],
  dispatch: 'direct',
  lease: { ttlMs: 2_000, maxDurationMs: null },
  retry: {
    mode: 'manual',
    backoff: { initialMs: 1, factor: 1, maxMs: 1 },
    failures: 3,
    losses: 5,
    onExhausted: 'wait',
  },
});

const plan: RunPlan = {
  nodes: [
    {
      node: 'a',
      slots: ['a'],
      dependsOn: [],
      optional: false,
      steps: null,
      agent: { name: 'tester', revision: '1' },
      attachments: [],
      launch: [spec('one', 'coder'), spec('two', 'senior')],
    },
  ],
};

const prior: PriorWorker = {
  attempt: 'a-1',
  number: 1,
  worker: 'w1',
  workerClass: 'coder',
  ownerActor: 'o1',
  status: 'lost',
  leaseStatus: 'expired',
};

/** A run whose only slot waits after a lost attempt, with `changes` on top. */
async function craft(
  baton: Baton,
  run: string,
  changes: Partial<Slot>,
  status: 'running' | 'failed' = 'running',
) {
  const pin = { ref: 'job@1', digest: '0'.repeat(64) };
  const base = { tenant: baton.tenant, run, pins: { package: pin, workflow: pin, binding: pin }, plan };
  const fresh = createRun(base, Date.now());
  const first = fresh.slots['a'];
  if (!first) throw new Error('the plan has a slot a');
  const slot: Slot = {
    ...first,
    state: 'retry-wait',
    gate: 'reassign',
    prior,
    epoch: 1,
    number: 1,
    ...changes,
  };
  const carried = {
    state: { ...fresh, status, slots: { a: slot } },
    commands: [],
    previous: null,
    deadlines: {},
    voids: [],
  };
  const input: RunInput = {
    ...base,
    taskQueue: baton.taskQueue,
    searchAttributes: [],
    rollOverEvents: null,
    carried,
  };
  return baton.temporal.workflow.start(RUN_WORKFLOW, {
    workflowId: workflowIdOf(baton.tenant, run),
    taskQueue: baton.taskQueue,
    args: [input],
  });
}

const ending = {
  attempt: {
    attempt: 'a-1',
    number: 1,
    epoch: 1,
    worker: 'w1',
    workerClass: 'coder',
    ownerActor: 'o1',
    lease: 'l-1',
    spec: 'one',
    hostQueue: 'nowhere',
    ttlMs: 2_000,
    maxDurationMs: null,
    startedAt: 0,
  },
} as const;

const CELLS: readonly [code: string, slot: Partial<Slot>, command: Record<string, unknown>][] = [
  ['InvalidCommand', {}, { workerClass: 'no spaces here' }],
  ['InvalidCommand', {}, { extra: 1 }],
  ['TooLarge', {}, { reason: 'x'.repeat(4_001) }],
  ['RunNotFound', {}, { tenant: 'Other' }],
  ['RunMismatch', {}, { run: 'another' }],
  ['SlotNotFound', {}, { slot: 'b' }],
  ['SlotNotInRetryWait', { state: 'open', gate: null }, {}],
  ['SlotNotInRetryWait', { state: 'on-hold', gate: null }, {}],
  ['SlotNotInRetryWait', { state: 'claiming', gate: null }, {}],
  ['SlotNotInRetryWait', { state: 'active', gate: null, active: { ...ending.attempt } }, {}],
  ['NoPriorWorker', { prior: null }, {}],
  ['WorkerNotTerminal', { prior: { ...prior, status: 'running', leaseStatus: 'live' } }, {}],
  ['LeaseNotTerminal', { prior: { ...prior, leaseStatus: 'live' } }, {}],
  ['ReasonRequired', {}, { reason: ' \u00a0\u200b' }],
  ['OwnerActorMismatch', {}, { actor: 'o2' }],
  ['NoCompatibleLaunchSpec', {}, { workerClass: 'poet' }],
];

test('each guard of reassign refuses through the server, in order, without an event', async () => {
  const baton = await startBaton();
  for (const [index, [code, changes, fields]] of CELLS.entries()) {
    const run = `r${index}`;
    const handle = await craft(baton, run, changes);
    const state = JSON.stringify((await stateOf(baton, run)).state);
    const events = (await eventsOf(baton, run)).length;
    const command = {
      tenant: baton.tenant,
      run,
      slot: 'a',
      workerClass: 'senior',
      reason: 'why',
      actor: 'o1',
      commandId: 'c',
      ...fields,
    };
    const error = await handle.executeUpdate('reassign', { args: [command] }).then(
      () => expect.fail(`${code} ${run}: accepted`),
      (thrown: unknown) => thrown,
    );
    expect(error, code).toBeInstanceOf(WorkflowUpdateFailedError);
    const cause = (error as WorkflowUpdateFailedError).cause as ApplicationFailure;
    expect(cause.type, `${run} ${cause.message}`).toBe(code);
    expect(cause.nonRetryable).toBe(true);
    expect(JSON.stringify((await stateOf(baton, run)).state), `I4 ${code}`).toBe(state);
    expect((await eventsOf(baton, run)).length, `events of ${code}`).toBe(events);
    await expectNoFailedTasks(baton, run);
    await handle.terminate();
  }
});

test('the same command passes once every guard does, and creates nothing', async () => {
  const baton = await startBaton();
  const handle = await craft(baton, 'ok', {});
  const command = {
    tenant: baton.tenant,
    run: 'ok',
    slot: 'a',
    workerClass: 'senior',
    reason: 'why',
    actor: 'o1',
    commandId: 'c',
  };
  expect(await handle.executeUpdate('reassign', { args: [command] })).toEqual({
    commandId: 'c',
    slot: 'a',
    state: 'retry-wait',
    gate: 'open',
    retryTime: null,
    spec: 'two',
    attempt: null,
  });
  // Again under another update id: the first answer. Other content under the same id: a conflict.
  expect(await handle.executeUpdate('reassign', { args: [command], updateId: 'again' })).toMatchObject({
    commandId: 'c',
    spec: 'two',
  });
  const other = await handle
    .executeUpdate('reassign', { args: [{ ...command, reason: 'another' }] })
    .catch((error: unknown) => error);
  expect(((other as WorkflowUpdateFailedError).cause as ApplicationFailure).type).toBe('CommandConflict');
  const slot = (await stateOf(baton, 'ok')).state.slots['a'];
  expect(slot).toMatchObject({
    active: null,
    pendingWorker: null,
    prior,
    counts: { claims: 0 },
    number: 1,
    epoch: 1,
  });
  expect(await baton.store.attempts.list(baton.tenant, 'ok')).toEqual([]);
  await handle.terminate();
});

test('a closed run answers RunClosed', async () => {
  const baton = await startBaton();
  const client = baton.as('o1');
  // Nothing is left to record, so this one ends at its first task.
  const closed = await craft(baton, 'closed', { state: 'failed', gate: null }, 'failed');
  await closed.result().catch(() => undefined);
  await baton.store.runs.create({ ...row(baton, 'closed') });
  const refused = await client
    .run('closed')
    .slot('a')
    .reassign({ workerClass: 'senior', reason: 'why' })
    .catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: 'RunClosed' });
});

const row = (baton: Baton, run: string) => {
  const pin = { ref: 'job@1', digest: '0'.repeat(64) };
  return {
    tenant: baton.tenant,
    run,
    digest: '1'.repeat(64),
    pins: { package: pin, workflow: pin, binding: pin },
    input: null,
    createdAt: 0,
  };
};
