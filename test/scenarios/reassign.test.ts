import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { defineAgent } from '../../src/agent/types.js';
import { workflowIdOf } from '../../src/domain/wire.js';
import { startBaton, type Baton } from '../support/baton.js';
import { spec } from '../support/definitions.js';
import { expectInvariants, expectRefused, stateOf } from '../support/invariants.js';
import { temporalCli } from '../support/server.js';
import { launchDirect, launchNodes, untilSettled } from '../support/steps.js';
import { waitFor } from '../support/wait.js';

const reassign = { workerClass: 'coder', reason: 'take over' };

test('S10 reassign is possible in retry-wait only, and each refusal names the state', async () => {
  const baton = await startBaton();
  const run = await launchNodes(baton, {
    a: { launch: [spec({ ttl: '30s' })] },
    b: { dependsOn: ['a'], launch: [spec()] },
    c: { launch: [spec({ ttl: '1s' })] },
    d: { launch: [spec({ ttl: '30s' })] },
  });
  const refusedIn = async (slot: string, state: string) => {
    const refused = await expectRefused(baton, run.run, 'SlotNotInRetryWait', () =>
      run.slot(slot).reassign(reassign),
    );
    expect(refused.message).toContain(state);
    expect(refused.details).toMatchObject({ slot, state });
  };
  await refusedIn('a', 'open');
  await refusedIn('b', 'blocked');
  await run.slot('a').hold({ reason: 'wait' });
  await refusedIn('a', 'on-hold');
  await run.slot('a').releaseHold({ reason: 'go on' });
  const a = await run.slot('a').claim({ workerClass: 'coder', worker: 'w1' });
  await refusedIn('a', 'active');
  await run.slot('a').complete(a.lease.token, { result: 1 });
  await refusedIn('a', 'succeeded');
  await run.slot('d').cancel({ reason: 'not needed' });
  await refusedIn('d', 'cancelled');

  await run.slot('c').claim({ workerClass: 'coder', worker: 'w2' });
  await untilSettled(run, 'c');
  const [one, two] = await Promise.all([
    run.slot('c').reassign({ workerClass: 'coder', reason: 'first' }),
    run.slot('c').reassign({ workerClass: 'coder', reason: 'second' }),
  ]);
  expect(one).toMatchObject({ state: 'retry-wait', gate: 'open' });
  expect(two).toMatchObject({ state: 'retry-wait', gate: 'open' });
  // Just reassigned: again is allowed, and the last one is what the claim records.
  expect(await run.slot('c').reassign({ workerClass: 'coder', reason: 'third' })).toMatchObject({
    gate: 'open',
  });
  expect(await run.attempts('c')).toHaveLength(1);
  const c = await run.slot('c').claim({ workerClass: 'coder', worker: 'w3' });
  expect((await run.attempts('c')).at(-1)).toMatchObject({
    attempt: c.attempt,
    reassignedBy: { reason: 'third', actor: 'ada' },
  });
  await expectInvariants(baton, run.run);
});

test('S10 while the end is not recorded, and while a claim runs, a reassign is refused', async () => {
  const baton = await startBaton();
  const run = await launchDirect(baton, { ttl: '4s' });
  const slot = run.slot('a');
  await slot.claim({ workerClass: 'coder', worker: 'w1' });
  // The store is locked by another writer: the end cannot be recorded.
  const release = await lockStore(baton);
  try {
    await waitFor(async () => (await stateOf(baton, run.run)).state.slots['a']?.state === 'retry-wait', {
      what: 'the expiry',
    });
    const refused = await slot
      .reassign(reassign)
      .catch((error: unknown) => error as { code: string; message: string });
    expect(refused).toMatchObject({ code: 'LeaseNotTerminal' });
  } finally {
    await release();
  }
  await untilSettled(run);
  expect(await slot.reassign(reassign)).toMatchObject({ gate: 'open' });
  await expectInvariants(baton, run.run);
});

test('S11 a reason is required by library and raw update, and comes back exactly', async () => {
  const baton = await startBaton();
  const run = await launchNodes(baton, { a: { launch: [spec({ ttl: '1s' })] } }, { rollOverEvents: 40 });
  const slot = run.slot('a');
  const first = await slot.claim({ workerClass: 'coder', worker: 'w1' });
  await untilSettled(run);
  await expectRefused(baton, run.run, 'ReasonRequired', () =>
    slot.reassign({ workerClass: 'coder', reason: '  \u200b\t' }),
  );
  await expectRefused(baton, run.run, 'ReasonRequired', () => rawUpdate(baton, run.run, { reason: '' }));
  await expectRefused(baton, run.run, 'ReasonRequired', () => rawUpdate(baton, run.run, {}));
  const reason = '  host „lost“ — 宕机\n\t🙂 ';
  await baton.as('boss').run(run.run).slot('a').reassign({ workerClass: 'coder', reason });
  const before = (await stateOf(baton, run.run)).state.slots['a']?.reassign;
  expect(before).toMatchObject({ reason, actor: 'boss', predecessor: first.attempt, workerClass: 'coder' });

  // Commands that are allowed but change little, until the run continues as new.
  const handle = baton.temporal.workflow.getHandle(workflowIdOf(baton.tenant, run.run));
  const firstRunId = (await handle.describe()).runId;
  await waitFor(async () => {
    await slot.hold({ reason: 'roll' });
    await slot.releaseHold({ reason: 'roll' });
    return (await handle.describe()).runId !== firstRunId;
  });
  await slot.claim({ workerClass: 'coder', worker: 'w2' });
  const successor = (await run.attempts('a')).at(-1);
  expect(successor?.reassignedBy).toEqual({
    reason,
    actor: 'boss',
    at: new Date(before?.at ?? 0).toISOString(),
    workerClass: 'coder',
    fromSpec: 'main',
    toSpec: 'main',
  });
  await expectInvariants(baton, run.run);
});

test('S12 class and owner are guarded twice round', async () => {
  const baton = await startBaton();
  const run = await launchDirect(baton, { ttl: '1s' });
  const as = (actor: string) => baton.as(actor).run(run.run).slot('a');
  let owner: string | undefined = 'o1';
  for (const worker of ['w1', 'w2', 'w3']) {
    await as('anybody').claim({ workerClass: 'coder', worker, ...(owner === undefined ? {} : { owner }) });
    owner = undefined; // inherited from here on
    expect((await run.attempts('a')).at(-1)?.ownerActor).toBe('o1');
    await untilSettled(run);
    await expectRefused(baton, run.run, 'OwnerActorMismatch', () => as('o2').reassign(reassign));
    await expectRefused(baton, run.run, 'NoCompatibleLaunchSpec', () =>
      as('o1').reassign({ ...reassign, workerClass: 'researcher' }),
    );
    expect(await as('o1').reassign(reassign)).toMatchObject({ state: 'retry-wait', gate: 'open' });
    await expectRefused(baton, run.run, 'WorkerClassNotAdmitted', () =>
      as('o1').claim({ workerClass: 'researcher', worker: 'x' }),
    );
    await expectRefused(baton, run.run, 'InvalidCommand', () => as('o1').claim({ worker: 'x' } as never));
  }
  await expectInvariants(baton, run.run);
});

test('a reassign that races a host’s claim either comes first or names the active slot', async () => {
  const baton = await startBaton();
  const retry = { mode: 'auto', backoff: { initial: 100, max: 100 }, failures: 1_000 };
  const run = await launchNodes(baton, { a: { launch: [spec({ dispatch: 'queue', ttl: '5s', retry })] } });
  await baton.startHost([
    defineAgent({ workerClass: 'coder', run: () => Promise.reject(new Error('again')) }),
  ]);
  const answers: string[] = [];
  const give = () =>
    run
      .slot('a')
      .reassign(reassign)
      .then(
        () => 'accepted',
        (error: unknown) => (error as { code: string }).code,
      );
  await waitFor(
    async () => {
      answers.push(await give());
      return answers.filter((answer) => answer === 'accepted').length >= 3;
    },
    { timeoutMs: 90_000, everyMs: 5, what: 'three accepted reassigns' },
  );
  for (const answer of answers) {
    // The guards in their order: active, nobody has worked yet, its end not recorded yet.
    expect(['accepted', 'SlotNotInRetryWait', 'NoPriorWorker', 'LeaseNotTerminal']).toContain(answer);
  }
  await expectInvariants(baton, run.run);
}, 120_000);

async function rawUpdate(baton: Baton, run: string, fields: Record<string, unknown>): Promise<unknown> {
  const input = {
    tenant: baton.tenant,
    run,
    slot: 'a',
    workerClass: 'coder',
    actor: 'ada',
    commandId: 'raw',
    ...fields,
  };
  const args = [
    'workflow',
    'update',
    'execute',
    '--address',
    baton.address,
    '--workflow-id',
    workflowIdOf(baton.tenant, run),
  ];
  try {
    return await promisify(execFile)(await temporalCli(), [
      ...args,
      '--name',
      'reassign',
      '--input',
      JSON.stringify(input),
    ]);
  } catch (error) {
    const { stderr } = error as { stderr: string };
    const code =
      /\b(ReasonRequired|InvalidCommand)\b/.exec(stderr)?.[1] ??
      (stderr.includes('A reason is required') || stderr.includes('no reason')
        ? 'ReasonRequired'
        : 'unknown');
    throw Object.assign(new Error(stderr), { code, details: {} });
  }
}

/** Holds the store's write lock, as a crashed backup would, until released. */
async function lockStore(baton: Baton): Promise<() => Promise<void>> {
  const { default: Database } = await import('better-sqlite3');
  const database = new Database(baton.storeUrl.slice('sqlite:'.length));
  database.exec('BEGIN IMMEDIATE');
  return async () => {
    database.exec('ROLLBACK');
    database.close();
  };
}
