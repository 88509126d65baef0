/** Escalations and deadlines on the real server: what a policy does is recorded like a person's, and time alone ends what is late. */
import { expect, test } from 'vitest';
import { defineAgent } from '../../src/agent/types.js';
import { startBaton } from '../support/baton.js';
import { spec } from '../support/definitions.js';
import { expectInvariants, expectRefused } from '../support/invariants.js';
import { launchNodes } from '../support/steps.js';
import { waitFor } from '../support/wait.js';

const queue = (id: string, workerClass: string, retry: object = { mode: 'manual' }) =>
  spec({ id, classes: [workerClass], dispatch: 'queue', retry: { ...retry } });

test('after two failures the slot goes to another class by policy, across a roll-over, and the record says so', async () => {
  const baton = await startBaton();
  const run = await launchNodes(
    baton,
    {
      a: {
        launch: [
          queue('fast', 'coder', { mode: 'auto', failures: 5, backoff: { initial: '10ms' } }),
          queue('careful', 'senior'),
        ],
        escalate: [{ name: 'too-hard', after: { failures: 2 }, to: 'senior', reason: 'twice is enough' }],
      },
    },
    { rollOverEvents: 40 },
  );
  let tries = 0;
  await baton.startHost([
    defineAgent({
      workerClass: 'coder',
      run: () => {
        tries += 1;
        throw new Error(`not able (${tries})`);
      },
    }),
  ]);
  // One look for all of it: a later one may come from the store, which knows neither gate nor reassign.
  let waiting = await run.slot('a').show();
  await waitFor(async () => (waiting = await run.slot('a').show()).spec.id === 'careful');
  expect(waiting).toMatchObject({
    state: 'retry-wait',
    gate: 'open',
    reassignReason: 'twice is enough',
    activeWorker: null,
  });
  expect(waiting.counts).toMatchObject({ claims: 2, failures: 2 });
  await expectInvariants(baton, run.run);
  await baton.startHost([defineAgent({ workerClass: 'senior', run: async () => 'done' })]);
  expect(await run.result()).toEqual({ a: 'done' });
  expect(tries).toBe(2);
  expect(
    (await run.attempts('a')).map(({ number, workerClass, spec: of, reassignedBy }) => ({
      number,
      workerClass,
      of,
      reassignedBy,
    })),
  ).toEqual([
    { number: 1, workerClass: 'coder', of: 'fast', reassignedBy: null },
    { number: 2, workerClass: 'coder', of: 'fast', reassignedBy: null },
    {
      number: 3,
      workerClass: 'senior',
      of: 'careful',
      reassignedBy: {
        actor: 'policy:too-hard',
        reason: 'twice is enough',
        at: expect.any(String) as string,
        workerClass: 'senior',
        fromSpec: 'fast',
        toSpec: 'careful',
      },
    },
  ]);
  await expectInvariants(baton, run.run);
});

test('a slot past its deadline fails, its agent is told, its late result is refused, and the run says why', async () => {
  const baton = await startBaton();
  const told: unknown[] = [];
  const run = await launchNodes(baton, { a: { launch: [queue('only', 'coder')], deadline: '6s' } });
  await baton.startHost([
    defineAgent({
      workerClass: 'coder',
      run: (ctx) =>
        new Promise((resolve) => {
          ctx.signal.addEventListener('abort', () => {
            told.push(ctx.signal.reason);
            resolve('too late');
          });
        }),
    }),
  ]);
  const { deadline } = await waitFor(async () => {
    const shown = await run.slot('a').show();
    return shown.state === 'active' && shown.deadline !== null && shown;
  });
  expect(deadline).toMatch(/^\d{4}-.*Z$/);
  await expect(run.result()).rejects.toMatchObject({
    code: 'RunFailed',
    message: expect.stringContaining('deadline') as string,
  });
  await waitFor(() => told.length === 1);
  expect(await run.slot('a').show()).toMatchObject({
    state: 'failed',
    failure: { code: 'DeadlineExceeded' },
    result: null,
  });
  expect(await run.attempts('a')).toMatchObject([
    { worker: { status: 'cancelled' }, lease: { status: 'revoked' }, failure: { code: 'DeadlineExceeded' } },
  ]);
  await expectRefused(baton, run.run, 'RunClosed', () =>
    run.slot('a').reassign({ workerClass: 'coder', reason: 'again' }),
  );
  await expectInvariants(baton, run.run);
});

test('a run past its deadline fails with everything in it, while a slot that has none waits', async () => {
  const baton = await startBaton();
  const run = await launchNodes(baton, { a: {}, b: { dependsOn: ['a'] } }, { deadline: '2s' });
  expect((await run.show()).deadline).toMatch(/^\d{4}-.*Z$/);
  await expect(run.result()).rejects.toMatchObject({
    code: 'RunFailed',
    message: expect.stringContaining('deadline') as string,
  });
  const shown = await run.show();
  expect(shown).toMatchObject({ status: 'failed', failure: { code: 'DeadlineExceeded' } });
  expect(shown.slots.map((slot) => slot.state)).toEqual(['cancelled', 'cancelled']);
  await expectInvariants(baton, run.run);
});
