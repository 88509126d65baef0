/** Leases of hosted agents on a real server: what keeps them, what ends them, and who is told. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineAgent, type AgentContext } from '../../src/agent/types.js';
import type { RunHandle } from '../../src/client/run-handle.js';
import { waitFor } from '../support/wait.js';
import { openLab, oneSpec, quiet, type Lab } from './lab.js';

let lab: Lab;
beforeAll(async () => {
  quiet();
  lab = await openLab();
});
afterAll(() => lab.close());

/** An agent whose runs a test can look at and end. */
function watched(workerClass: string, places = 1) {
  const runs: { ctx: AgentContext; end: () => void; reason: unknown }[] = [];
  const agent = defineAgent({
    workerClass,
    places,
    run: (ctx) =>
      new Promise<unknown>((resolve) => {
        const run = { ctx, end: () => resolve({ by: ctx.attempt }), reason: undefined as unknown };
        ctx.signal.addEventListener('abort', () => {
          run.reason = ctx.signal.reason;
          resolve(undefined);
        });
        runs.push(run);
      }),
  });
  return { agent, runs };
}

const slotOf = async (run: RunHandle, name: string) =>
  (await run.show()).slots.find(({ slot }) => slot === name);
const events = async (run: RunHandle) =>
  (await lab.client.workflow.getHandle(run.workflowId).fetchHistory()).events?.length ?? 0;
const settledAs = (run: RunHandle, status: string) =>
  waitFor(
    async () => (await run.attempts()).some(({ worker, endedAt }) => worker.status === status && endedAt),
    { what: `worker ${status}` },
  );
/** The slot once the run itself says that it waits at the gate: the store has the end first, and knows no gates. */
const heard = (run: RunHandle, gate: 'reassign' | 'open') =>
  waitFor(
    async () => {
      const slot = await slotOf(run, 'a');
      return slot?.gate === gate && slot;
    },
    { what: `gate ${gate}` },
  );

describe('lease of a hosted agent', () => {
  it('S3 stays through a long silent call; its beats add no event', async () => {
    const { agent, runs } = watched('silent');
    await lab.publish([{ node: 'a' }], oneSpec('silent', '1s'));
    await lab.host([agent]);
    const run = await lab.baton.launch({ package: 'job' });
    await waitFor(() => runs.length === 1);
    await waitFor(
      async () => (await lab.store.attempts.list(lab.tenant, run.run))[0]?.leaseStatus === 'live',
    );
    const before = await waitFor(() => events(run));
    await sleep(5_000);
    expect(await events(run)).toBe(before);
    runs[0]?.end();
    await run.result();
    expect(await run.attempts()).toHaveLength(1);
  });

  it('S3 is lost by a busy loop: the signal fires at the first chance and the result counts for nothing', async () => {
    let aborted: boolean | undefined;
    const agent = defineAgent({
      workerClass: 'busy',
      async run(ctx) {
        await sleep(50);
        const until = performance.now() + 3_500;
        while (performance.now() < until);
        await expect(ctx.checkpoint('late', 1)).rejects.toMatchObject({ code: 'StaleLease' });
        aborted = ctx.signal.aborted;
        return 'late';
      },
    });
    await lab.publish([{ node: 'a' }], oneSpec('busy', '1s'));
    await lab.host([agent]);
    const run = await lab.baton.launch({ package: 'job' });
    await settledAs(run, 'lost');
    await waitFor(() => aborted !== undefined);
    expect(aborted).toBe(true);
    expect(await heard(run, 'reassign')).toMatchObject({
      state: 'retry-wait',
      counts: { claims: 1, losses: 1, failures: 0 },
    });
    expect(await run.artifacts()).toEqual([]);
  });

  it('S4 tells the loser when only its beats are blocked, and keeps the record that it was superseded', async () => {
    let blocked = false;
    const client = new Client({ connection: lab.connection });
    const beat = client.activity.heartbeat.bind(client.activity);
    client.activity.heartbeat = (token: Uint8Array | object, details: unknown) =>
      blocked ? new Promise<void>(() => undefined) : beat(token as Uint8Array, details);
    const loser = watched('blocked');
    const winner = watched('blocked');
    await lab.publish([{ node: 'a' }], oneSpec('blocked', '2s'));
    const host = await lab.host([loser.agent], { client });
    const run = await lab.baton.launch({ package: 'job' });
    await waitFor(() => loser.runs.length === 1);
    blocked = true;
    await settledAs(run, 'lost');
    await waitFor(() => loser.runs[0]?.reason);
    // Away before the slot is open again, so that the other host takes it.
    await host.shutdown();
    await lab.host([winner.agent]);
    // The store has the end; the run may still be hearing of it.
    await waitFor(() => run.slot('a').reassign({ workerClass: 'blocked', reason: 'host lost' }));
    await waitFor(() => winner.runs.length === 1);
    blocked = false;
    expect(loser.runs[0]?.reason).toMatchObject({ code: 'StaleLease' });
    await expect(
      loser.runs[0]?.ctx.save({ kind: 'source', name: 'late', content: 'x' }),
    ).rejects.toMatchObject({ code: 'StaleLease' });
    winner.runs[0]?.end();
    await run.result();
    expect((await run.attempts()).map(({ number, worker }) => [number, worker.status])).toEqual([
      [1, 'lost'],
      [2, 'succeeded'],
    ]);
  });

  it('goes on over roll-overs of the run: the agent is started once', async () => {
    const long = watched('long');
    const quick = defineAgent({ workerClass: 'quick', run: () => Promise.resolve() });
    await lab.baton.publish({
      documents: [
        {
          kind: 'package',
          name: 'rolling',
          outcome: 'Done.',
          content: {},
          workflow: 'rolling',
          binding: 'rolling',
        },
        { kind: 'workflow', name: 'rolling', nodes: [{ node: 'long' }, { node: 'q', slots: 8 }] },
        {
          kind: 'binding',
          name: 'rolling',
          workflow: 'rolling',
          nodes: {
            long: { agent: { name: 'x', revision: '1' }, attachments: [], launch: oneSpec('long', '4s') },
            // Long: on a busy machine eight attachments may take their time, and a loss would wait for a reassign.
            q: { agent: { name: 'x', revision: '1' }, attachments: [], launch: oneSpec('quick', '20s') },
          },
        },
      ],
    });
    await lab.host([long.agent]);
    const run = await lab.baton.launch({ package: 'rolling', rollOverEvents: 40 });
    await waitFor(() => long.runs.length === 1);
    const handle = lab.client.workflow.getHandle(run.workflowId);
    const first = (await handle.describe()).runId;
    await lab.host([quick]);
    await waitFor(async () => (await handle.describe()).runId !== first, { what: 'a roll-over' });
    await waitFor(
      async () => (await run.show()).slots.filter(({ state }) => state === 'succeeded').length === 8,
    );
    // Longer than the TTL after the last roll-over: the new activity is beaten, not only attached.
    await sleep(4_500);
    await long.runs[0]?.ctx.save({ kind: 'source', name: 'after', content: 'still here' });
    long.runs[0]?.end();
    await run.result();
    expect(long.runs).toHaveLength(1);
    const attempts = await run.attempts('long');
    expect(attempts.map(({ number, worker }) => [number, worker.status])).toEqual([[1, 'succeeded']]);
  });

  it('S9 gives the lease up when an operator pauses its activity: never a second agent', async () => {
    const { agent, runs } = watched('paused');
    await lab.publish([{ node: 'a' }], oneSpec('paused', '2s', { mode: 'auto' }));
    await lab.host([agent]);
    const run = await lab.baton.launch({ package: 'job' });
    await waitFor(() => runs.length === 1);
    const handle = lab.client.workflow.getHandle(run.workflowId);
    const id = await waitFor(
      async () =>
        (await handle.describe()).raw.pendingActivities?.find(
          ({ activityType }) => activityType?.name === 'performAttempt',
        )?.activityId,
    );
    const execution = { workflowId: run.workflowId };
    await lab.client.workflowService.pauseActivity({
      namespace: 'default',
      execution,
      id,
      identity: 'operator',
      reason: 'look',
    });
    await waitFor(() => runs[0]?.reason);
    expect(runs[0]?.reason).toMatchObject({ code: 'StaleLease' });
    await settledAs(run, 'cancelled');
    expect(await heard(run, 'reassign')).toMatchObject({
      state: 'retry-wait',
      counts: { claims: 1, losses: 0, failures: 0 },
    });
    expect(runs).toHaveLength(1);
  });

  it('is released at once by a shutdown, after the agents’ own end with a drain', async () => {
    const { agent, runs } = watched('leaving');
    await lab.publish([{ node: 'a' }], oneSpec('leaving', '30s'));
    const host = await lab.host([agent]);
    const run = await lab.baton.launch({ package: 'job' });
    await waitFor(() => runs.length === 1);
    const started = performance.now();
    await host.shutdown();
    expect(runs[0]?.reason).toMatchObject({ code: 'StaleLease' });
    await settledAs(run, 'released');
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(await heard(run, 'open')).toMatchObject({ counts: { releases: 1, losses: 0, failures: 0 } });

    const second = await lab.host([agent], { drain: 20_000 });
    await waitFor(() => runs.length === 2);
    const stopping = second.shutdown();
    runs[1]?.end();
    await stopping;
    expect(await run.result()).toMatchObject({ a: { by: runs[1]?.ctx.attempt } });
  });
});
