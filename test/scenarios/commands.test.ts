/** Commands that are given again: the first answer, whatever happened between; and callers beyond the server's limits. */
import { expect, test } from 'vitest';
import { workflowIdOf } from '../../src/domain/wire.js';
import { startBaton, type Baton } from '../support/baton.js';
import { spec } from '../support/definitions.js';
import { expectInvariants, expectRefused, stateOf } from '../support/invariants.js';
import { launchDirect, launchNodes, untilSettled } from '../support/steps.js';
import { waitFor } from '../support/wait.js';

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => String((error as { code?: string }).code),
  );

/** A client without the store's log of answers: only the run itself and Temporal can remember. */
async function forget(baton: Baton, run: string, commandId: string): Promise<void> {
  const { default: Database } = await import('better-sqlite3');
  const database = new Database(baton.storeUrl.slice('sqlite:'.length));
  const table = database
    .prepare(
      "select name from sqlite_master where type = 'table' and sql like '%command_id%' and name like '%command%'",
    )
    .pluck()
    .get() as string;
  const { changes } = database
    .prepare(`delete from ${table} where run = ? and command_id = ?`)
    .run(run, commandId);
  database.close();
  expect(changes).toBe(1);
}

test.each(['with the store’s log of answers', 'without it'])(
  'a repeated command gets its first answer across roll-overs and after the end, %s; another command under its id is a conflict',
  async (how) => {
    const baton = await startBaton();
    const run = await launchNodes(baton, { a: { launch: [spec({ ttl: '60s' })] } }, { rollOverEvents: 40 });
    const slot = run.slot('a');
    const command = { reason: 'lunch', commandId: 'hold-1' };
    const first = await slot.hold(command);
    expect(first).toMatchObject({ commandId: 'hold-1', state: 'on-hold' });
    await slot.releaseHold({ reason: 'back' });
    const handle = baton.temporal.workflow.getHandle(workflowIdOf(baton.tenant, run.run));
    const seen = new Set<string>();
    const again = async () => {
      if (how === 'without it') await forget(baton, run.run, 'hold-1');
      expect(await slot.hold(command)).toEqual(first);
      expect(await codeOf(slot.hold({ ...command, reason: 'dinner' }))).toBe('CommandConflict');
      expect(await codeOf(slot.cancel(command))).toBe('CommandConflict');
    };
    while (seen.size < 3) {
      seen.add((await handle.describe()).runId);
      await slot.hold({ reason: 'roll' });
      await slot.releaseHold({ reason: 'roll' });
    }
    await again();
    expect(await slot.show()).toMatchObject({ state: 'open' });
    await expectInvariants(baton, run.run);
    const { lease } = await slot.claim({ workerClass: 'coder', worker: 'w1' });
    await slot.complete(lease.token, { result: 1 });
    await run.result();
    await again();
    // A fresh one is refused as ever.
    await expectRefused(baton, run.run, 'RunClosed', () => slot.hold({ reason: 'late' }));
    await expectInvariants(baton, run.run);
  },
);

test('a command that ended its run and whose answer was lost between the tries of Temporal’s own client is no RunClosed', async () => {
  const baton = await startBaton();
  const run = await launchNodes(baton, { a: { launch: [spec({ ttl: '60s' })] } });
  const service = baton.temporal.workflowService;
  const update = service.updateWorkflowExecution.bind(service);
  let lost = 0;
  // The first try is carried out; what the second one hears is all that the caller gets.
  service.updateWorkflowExecution = (async (request: Parameters<typeof update>[0]) => {
    await update(request);
    await baton.temporal.workflow
      .getHandle(workflowIdOf(baton.tenant, run.run))
      .result()
      .catch(() => undefined);
    lost += 1;
    throw Object.assign(new Error('5 NOT_FOUND: workflow execution already completed'), {
      code: 5,
      details: 'workflow execution already completed',
      metadata: { get: () => [] },
    });
  }) as unknown as typeof service.updateWorkflowExecution;
  const answer = await run.slot('a').cancel({ reason: 'enough' });
  expect(answer).toMatchObject({ slot: 'a', state: 'cancelled' });
  expect(lost).toBe(1);
  await expectInvariants(baton, run.run);
});

test('a claim without an answer is OutcomeUnknown, and repeated later with the same id it is carried out once', async () => {
  const baton = await startBaton({ control: false });
  const run = await launchDirect(baton, { ttl: '60s' });
  const impatient = baton.as('ada', { timeoutMs: 800 }).run(run.run).slot('a');
  const command = { workerClass: 'coder', worker: 'w1', commandId: 'claim-1' };
  const unknown = await impatient.claim(command).catch((error: unknown) => error as { message: string });
  expect(unknown).toMatchObject({ code: 'OutcomeUnknown', details: { commandId: 'claim-1' } });
  expect('message' in unknown ? unknown.message : '').toMatch(/same command id/);
  await baton.startControl();
  const slot = run.slot('a');
  // Twice at once, as an impatient caller does.
  const [one, two] = await Promise.all([slot.claim(command), slot.claim(command)]);
  expect(two).toEqual(one);
  expect(await slot.claim(command)).toEqual(one);
  expect(await run.attempts('a')).toHaveLength(1);
  expect(await slot.show()).toMatchObject({ counts: { claims: 1 } });
  await expectInvariants(baton, run.run);
  expect((await slot.heartbeat(one.lease.token)).lease.id).toBe(one.lease.id);
  expect(await codeOf(slot.claim({ ...command, worker: 'w2' }))).toBe('CommandConflict');
  await slot.complete(one.lease.token, { result: 1 });
  await run.result();
  expect(await slot.claim(command)).toEqual(one);
  await expectInvariants(baton, run.run);
});

test('a lost answer to a claim is repeatable with the same token, also after the lease has expired', async () => {
  const baton = await startBaton();
  const run = await launchDirect(baton, { ttl: '3s' });
  const slot = run.slot('a');
  const command = { workerClass: 'coder', worker: 'w1', commandId: 'claim-1' };
  // The answer is lost on its way: the raw update is all that was sent.
  const raw = { tenant: baton.tenant, run: run.run, slot: 'a', actor: 'ada', ...command };
  await baton.temporal.workflow
    .getHandle(workflowIdOf(baton.tenant, run.run))
    .executeUpdate('claim', { args: [raw] });
  const first = await slot.claim(command);
  await slot.heartbeat(first.lease.token);
  expect(await slot.claim(command)).toEqual(first);
  await untilSettled(run);
  expect(await slot.claim(command)).toEqual(first);
  expect(await codeOf(slot.heartbeat(first.lease.token))).toBe('StaleLease');
  expect(await run.attempts('a')).toHaveLength(1);
  await expectInvariants(baton, run.run);
});

test('callers beyond the server’s limit of updates in flight wait their turn, and never see the limit', async () => {
  const baton = await startBaton({ control: false });
  const slots = Object.fromEntries(
    Array.from({ length: 15 }, (_, index) => [`s${index}`, { launch: [spec({ ttl: '60s' })] }]),
  );
  const run = await launchNodes(baton, slots);
  const handle = baton.temporal.workflow.getHandle(workflowIdOf(baton.tenant, run.run));
  // Nobody works on the run: these stay in flight and fill the server's places.
  const raw = Array.from({ length: 10 }, (_, index) =>
    handle.executeUpdate('hold', {
      args: [
        {
          tenant: baton.tenant,
          run: run.run,
          slot: `s${index}`,
          reason: 'raw',
          actor: 'ada',
          commandId: `raw-${index}`,
        },
      ],
    }),
  );
  for (const update of raw) update.catch(() => undefined);
  const impatient = baton.as('ada', { timeoutMs: 1_500 }).run(run.run);
  const refused = await waitFor(
    async () => {
      const error = await impatient
        .slot('s14')
        .hold({ reason: 'now', commandId: 'over-1' })
        .catch((thrown: unknown) => thrown as { code: string; message: string });
      return 'code' in error ? error : null;
    },
    { what: 'a caller over the limit' },
  );
  expect(refused.code).toBe('OutcomeUnknown');
  expect(refused.message).not.toMatch(/RESOURCE_EXHAUSTED|limit on number/i);
  const client = baton.as('ada', { timeoutMs: 45_000 }).run(run.run);
  const commands = Array.from({ length: 14 }, (_, index) =>
    codeOf(client.slot(`s${index}`).cancel({ reason: 'mine', commandId: `mine-${index}` })),
  );
  commands.push(codeOf(client.slot('s14').hold({ reason: 'now', commandId: 'over-1' })));
  await baton.startControl();
  expect(new Set(await Promise.all(commands))).toEqual(new Set(['done']));
  await Promise.allSettled(raw);
  const { state } = await stateOf(baton, run.run);
  expect(state.slots['s14']).toMatchObject({ state: 'on-hold' });
  expect(Object.values(state.slots).filter(({ state: is }) => is === 'cancelled')).toHaveLength(14);
  await expectInvariants(baton, run.run);
});
