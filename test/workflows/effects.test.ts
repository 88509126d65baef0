/** The run's side of effects through the real server: what blocks a completion, what the slot keeps, and an operator's word. */
import { expect, test } from 'vitest';
import { defineAgent, type EffectView } from '../../src/agent/types.js';
import type { RunHandle } from '../../src/client/run-handle.js';
import type { Fence } from '../../src/store/port.js';
import { startBaton, type Baton } from '../support/baton.js';
import { spec } from '../support/definitions.js';
import { expectNoFailedTasks, expectRefused } from '../support/invariants.js';
import { launchNodes, rollOver, untilSettled } from '../support/steps.js';
import { waitFor } from '../support/wait.js';

const begin = (baton: Baton, fence: Fence, name: string, instance: string | null = null) =>
  baton.store.effects.begin({
    fence,
    name,
    instance,
    key: `e-${name}-${instance ?? ''}`,
    requestDigest: 'd'.repeat(64),
    at: Date.now(),
  });

const claimed = async (baton: Baton, run: RunHandle, slot = 'a') => {
  const { attempt, epoch, lease, handoff } = await run
    .slot(slot)
    .claim({ workerClass: 'coder', worker: 'w' });
  const fence = { tenant: baton.tenant, run: run.run, slot, attempt, epoch };
  return { fence, token: lease.token, handoff };
};

async function detailsOf(baton: Baton, run: RunHandle): Promise<string> {
  const handle = baton.temporal.workflow.getHandle(run.workflowId);
  const { currentDetails } = await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
  return currentDetails;
}

test('an open effect blocks the completion, stays with the slot over a roll-over, and is settled by a word', async () => {
  const baton = await startBaton();
  const direct = { launch: [spec({ ttl: '60s' })] };
  const run = await launchNodes(baton, { a: direct, noise: direct }, { rollOverEvents: 40 });
  const slot = run.slot('a');
  const { fence, token } = await claimed(baton, run);
  await begin(baton, fence, 'pay', 'march');
  const word = { name: 'pay', instance: 'march', outcome: 'committed', reason: 'asked the bank' } as const;

  const blocked = await expectRefused(baton, run.run, 'EffectUnresolved', () => slot.complete(token));
  expect(blocked.message).toContain('pay (march): intent');
  expect(await slot.show()).toMatchObject({
    state: 'active',
    effects: { count: 1, listed: [{ name: 'pay', instance: 'march', state: 'intent' }] },
  });
  await expectRefused(baton, run.run, 'EffectNotUnresolved', () => slot.resolveEffect(word));

  await slot.fail(token, { code: 'Broken', message: 'the answer was lost' });
  await untilSettled(run);
  await rollOver(baton, run);
  const open = { count: 1, listed: [{ name: 'pay', instance: 'march', state: 'intent' }] };
  expect(await slot.show()).toMatchObject({ state: 'retry-wait', effects: open });
  expect((await slot.show()).waitsFor).toContain('outcome not known of pay (march): intent');
  expect(await detailsOf(baton, run)).toContain('outcome not known of pay (march): intent');

  const refusals: [string, () => Promise<unknown>][] = [
    ['EffectNotFound', () => slot.resolveEffect({ ...word, instance: 'april' })],
    ['EffectNotFound', () => slot.resolveEffect({ ...word, instance: null })],
    ['ReasonRequired', () => slot.resolveEffect({ ...word, reason: '\u200b' })],
    ['SlotNotFound', () => run.slot('z').resolveEffect(word)],
    ['InvalidCommand', () => slot.resolveEffect({ ...word, outcome: 'absent', receipt: 1 })],
    ['TooLarge', () => slot.resolveEffect({ ...word, receipt: 'x'.repeat(64 * 1024) })],
    ['RunNotFound', () => baton.as('eve', { tenant: 'other' }).run(run.run).slot('a').resolveEffect(word)],
  ];
  for (const [code, command] of refusals) await expectRefused(baton, run.run, code, command);

  const command = { ...word, receipt: { number: 7 }, commandId: 'word-1' };
  const answer = await slot.resolveEffect(command);
  expect(answer).toMatchObject({
    commandId: 'word-1',
    slot: 'a',
    state: 'retry-wait',
    effect: { name: 'pay', instance: 'march', state: 'committed' },
  });
  expect((await slot.show()).effects).toEqual({ count: 0, listed: [] });
  expect(await detailsOf(baton, run)).not.toContain('not known');
  await expectRefused(baton, run.run, 'EffectNotUnresolved', () =>
    slot.resolveEffect({ ...word, outcome: 'absent' }),
  );
  await expectRefused(baton, run.run, 'CommandConflict', () =>
    slot.resolveEffect({ ...command, reason: 'another' }),
  );
  const recorded = [
    {
      name: 'pay',
      state: 'committed',
      receipt: { number: 7 },
      attempt: fence.attempt,
      resolvedBy: { actor: 'ada', reason: 'asked the bank' },
    },
  ];
  expect(await run.effects('a')).toMatchObject(recorded);

  await rollOver(baton, run);
  // The run itself remembers, not only the client's log of answers in the store.
  const raw = { tenant: baton.tenant, run: run.run, slot: 'a', actor: 'ada', effect: 'pay' };
  const { name: _, ...rest } = command;
  const again = { args: [{ ...raw, ...rest }] as [unknown], updateId: 'again' };
  const handle = baton.temporal.workflow.getHandle(run.workflowId);
  expect(await handle.executeUpdate('resolveEffect', again)).toMatchObject({ effect: answer.effect });

  await slot.reassign({ workerClass: 'coder', reason: 'go on' });
  const second = await claimed(baton, run);
  expect(second.handoff.effects).toMatchObject(recorded);
  await slot.complete(second.token, { result: 1 });
  const last = await claimed(baton, run, 'noise');
  await run.slot('noise').complete(last.token);
  await run.result();
  expect(await slot.resolveEffect(command)).toEqual(answer);
  await expect(slot.resolveEffect(word)).rejects.toMatchObject({ code: 'RunClosed' });
  await expectNoFailedTasks(baton, run.run);
});

test('a hosted agent that returns beside an open effect has failed, and its successor is told of it', async () => {
  const baton = await startBaton();
  const run = await launchNodes(baton, {
    a: { steps: ['pay'], launch: [spec({ dispatch: 'queue', ttl: '30s' })] },
  });
  const handed: (readonly EffectView[])[] = [];
  const agent = defineAgent({
    workerClass: 'coder',
    async run(ctx) {
      handed.push(ctx.handoff.effects);
      const { tenant, run, slot, attempt, epoch } = ctx;
      if (ctx.number === 1) await begin(baton, { tenant, run, slot, attempt, epoch }, 'pay');
      return 'done';
    },
  });
  await baton.startHost([agent]);
  await untilSettled(run);
  expect(await run.attempts('a')).toMatchObject([
    { worker: { status: 'failed' }, lease: { status: 'released' }, failure: { code: 'EffectUnresolved' } },
  ]);
  expect(await run.slot('a').show()).toMatchObject({
    state: 'retry-wait',
    gate: 'reassign',
    counts: { failures: 1, losses: 0 },
    effects: { count: 1 },
  });
  expect((await run.recovery('a')).plan).toMatchObject([{ step: 'pay', status: 'ambiguous' }]);
  const text = await run.recoveryMarkdown('a');
  expect(text).toContain('Outcome not known, ask the owner first: `pay`.');
  await run.slot('a').resolveEffect({ name: 'pay', outcome: 'absent', reason: 'the bank has no such order' });
  expect((await run.recovery('a')).plan).toMatchObject([{ step: 'pay', status: 'repeat' }]);
  await run.slot('a').reassign({ workerClass: 'coder', reason: 'go on' });
  expect(await run.result()).toEqual({ a: 'done' });
  await waitFor(() => handed.length === 2);
  expect(handed).toMatchObject([[], [{ name: 'pay', state: 'absent', resolvedBy: { actor: 'ada' } }]]);
});
