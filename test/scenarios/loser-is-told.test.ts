/** S4: a host that only its beats leave behind is told, while its agent is still at work and a successor has the slot. */
import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { expect, test } from 'vitest';
import { defineAgent, type AgentContext } from '../../src/agent/types.js';
import { startBaton } from '../support/baton.js';
import { spec } from '../support/definitions.js';
import { expectInvariants } from '../support/invariants.js';
import { watched } from '../support/operator.js';
import { launchNodes, untilSettled } from '../support/steps.js';
import { waitFor } from '../support/wait.js';

test('S4 the loser is told, can save nothing more, and the record shows that it was superseded while running', async () => {
  const baton = await startBaton();
  const run = await launchNodes(baton, { a: { launch: [spec({ dispatch: 'queue', ttl: '3s' })] } });

  // A client whose beats go nowhere while blocked, as behind a firewall that drops them; everything else gets through.
  let blocked = false;
  let unblock: () => void = () => undefined;
  const open = new Promise<void>((resolve) => (unblock = resolve));
  // Two hosts of one class in one process need a connection each.
  const connection = await NativeConnection.connect({ address: baton.address });
  const client = new Client({ connection });
  const beat = client.activity.heartbeat.bind(client.activity) as (...args: unknown[]) => Promise<void>;
  client.activity.heartbeat = async (...args: unknown[]) => {
    if (blocked) await open;
    return beat(...args);
  };

  // An agent that ignores its signal: it is its host that keeps it from doing harm.
  let loser: AgentContext | undefined;
  let stop: () => void = () => undefined;
  const toldAt = { signal: 0, successorAtWork: 0 };
  const stubborn = defineAgent({
    workerClass: 'coder',
    run: async (ctx) => {
      loser = ctx;
      await ctx.checkpoint('before', 1);
      ctx.signal.addEventListener('abort', () => (toldAt.signal = performance.now()));
      await new Promise<void>((resolve) => (stop = resolve));
      return 'the loser’s result';
    },
  });
  const lostHost = await baton.startHost([stubborn], { connection, client, host: 'lost' });
  await waitFor(async () => (await run.artifacts('a')).length === 1);
  await expectInvariants(baton, run.run);

  blocked = true;
  await untilSettled(run);
  await expectInvariants(baton, run.run);
  await waitFor(() => loser?.signal.aborted);
  expect(loser?.signal.reason).toMatchObject({ code: 'StaleLease' });
  await run.slot('a').reassign({ workerClass: 'coder', reason: 'host lost' });
  const { agent, runs } = watched();
  await baton.startHost([agent], { host: 'successor' });
  // The first host has no place free while its agent goes on, so the offer is the other's.
  await waitFor(() => runs.length === 1);
  toldAt.successorAtWork = performance.now();
  await expectInvariants(baton, run.run);

  blocked = false;
  unblock();
  const late: (() => Promise<unknown>)[] = [
    () => loser!.save({ kind: 'source', name: 'late', content: 'x' }),
    () => loser!.checkpoint('late', 2),
    () => loser!.step('late', () => 3),
  ];
  for (const act of late) await expect(act()).rejects.toMatchObject({ code: 'StaleLease' });
  expect(toldAt.signal).toBeLessThan(toldAt.successorAtWork);
  // Its result counts for nothing either, and does the successor no harm.
  stop();
  await lostHost.shutdown();
  expect(runs[0]!.told).toBeNull();
  await expectInvariants(baton, run.run);

  // The record tells that the first was superseded while it was running.
  const [first, second] = await run.attempts('a');
  expect(first).toMatchObject({
    number: 1,
    epoch: 1,
    worker: { status: 'lost' },
    lease: { status: 'expired' },
    failure: { code: 'LeaseExpired' },
  });
  expect(second).toMatchObject({
    number: 2,
    epoch: 2,
    worker: { status: 'running' },
    lease: { status: 'live' },
    reassignedBy: { reason: 'host lost', actor: 'ada' },
  });
  expect(Date.parse(first?.endedAt ?? '')).toBeLessThanOrEqual(Date.parse(second?.startedAt ?? ''));
  expect((await run.artifacts('a')).map(({ attempt, name }) => [attempt, name])).toEqual([
    [first?.attempt, 'before'],
  ]);
  expect(runs[0]!.ctx.handoff.attempts).toMatchObject([
    { attempt: first?.attempt, worker: { status: 'lost' } },
  ]);

  runs[0]!.finish('the successor’s result');
  expect(await run.result()).toEqual({ a: 'the successor’s result' });
  expect((await run.attempts('a')).map(({ worker }) => worker.status)).toEqual(['lost', 'succeeded']);
  await expectInvariants(baton, run.run);
}, 120_000);
