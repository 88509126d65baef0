/** Hosted agents on a real server: one job end to end, and places counted exactly. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineAgent, type AgentContext } from '../../src/agent/types.js';
import type { Json } from '../../src/store/port.js';
import { openLab, oneSpec, quiet, type Lab } from './lab.js';
import { waitFor } from '../support/wait.js';

let lab: Lab;
beforeAll(async () => {
  quiet();
  lab = await openLab();
});
afterAll(() => lab.close());

describe('hosted agents', () => {
  it('runs a job of two nodes end to end', async () => {
    const seen: AgentContext[] = [];
    const agent = defineAgent({
      workerClass: 'solo',
      name: 'w',
      async run(ctx): Promise<Json> {
        seen.push(ctx);
        if (ctx.node === 'b') return { got: ctx.upstream['a'] ?? null };
        await ctx.save({ kind: 'source', name: 'note', content: 'text' });
        return { n: await ctx.step('n', () => 3) };
      },
    });
    await lab.publish([{ node: 'a' }, { node: 'b', dependsOn: ['a'] }], oneSpec('solo'));
    await lab.host([agent]);
    const run = await lab.baton.launch({ package: 'job', input: { x: 1 } });
    expect(await run.result()).toEqual({ a: { n: 3 }, b: { got: { n: 3 } } });
    expect(
      seen.map(({ slot, number, epoch, worker, input }) => ({ slot, number, epoch, worker, input })),
    ).toEqual([
      { slot: 'a', number: 1, epoch: 1, worker: 'w-1', input: { x: 1 } },
      { slot: 'b', number: 1, epoch: 1, worker: 'w-2', input: { x: 1 } },
    ]);
    const attempts = await run.attempts();
    expect(attempts.map((attempt) => [attempt.worker.status, attempt.lease.status])).toEqual([
      ['succeeded', 'released'],
      ['succeeded', 'released'],
    ]);
  });

  it('never runs more agents than places, and leaves what it has no room for on offer', async () => {
    const running = { now: 0, most: 0 };
    const gates: (() => void)[] = [];
    const agent = defineAgent({
      workerClass: 'narrow',
      places: 2,
      async run() {
        running.now += 1;
        running.most = Math.max(running.most, running.now);
        await new Promise<void>((open) => gates.push(open));
        running.now -= 1;
      },
    });
    await lab.publish([{ node: 'p', slots: 5 }], oneSpec('narrow', '5s'));
    await lab.host([agent]);
    const run = await lab.baton.launch({ package: 'job' });
    await waitFor(() => gates.length === 2);
    const states = async () => (await run.show()).slots.map((slot) => slot.state).sort();
    // Nothing else is claimed while the places are taken: three offers stay out over several polls.
    const until = performance.now() + 1_500;
    await waitFor(async () => {
      expect((await lab.store.attempts.list(lab.tenant, run.run)).length).toBe(2);
      return performance.now() > until;
    });
    expect(await states()).toEqual(['active', 'active', 'open', 'open', 'open']);
    const done = run.result();
    for (let opened = 0; opened < 5; opened += 1) {
      await waitFor(() => gates.length > opened);
      gates[opened]?.();
    }
    await done;
    expect(running.most).toBe(2);
    expect(await lab.store.attempts.list(lab.tenant, run.run)).toHaveLength(5);
  });

  it('reports what an agent throws, with its code, and a result that is too large', async () => {
    const agent = defineAgent({
      workerClass: 'bad',
      run(ctx) {
        if (ctx.slot === 'big') return Promise.resolve('x'.repeat(70_000));
        return Promise.reject(Object.assign(new Error('no such page'), { code: 'NoSuchPage' }));
      },
    });
    await lab.publish([{ node: 'big' }, { node: 'bad' }], oneSpec('bad', '5s'));
    await lab.host([agent]);
    const run = await lab.baton.launch({ package: 'job' });
    await waitFor(async () => (await run.attempts()).filter(({ failure }) => failure).length === 2);
    const failures = (await run.attempts()).map(({ slot, failure }) => [slot, failure?.code]);
    expect(failures.sort()).toEqual([
      ['bad', 'NoSuchPage'],
      ['big', 'TooLarge'],
    ]);
    expect((await run.show()).slots.map((slot) => slot.counts.failures)).toEqual([1, 1]);
  });

  it('refuses a host without agents, with a bad class, or with two agents of one class', async () => {
    const agent = (workerClass: string) => defineAgent({ workerClass, run: () => Promise.resolve() });
    await expect(lab.host([])).rejects.toMatchObject({ code: 'InvalidCommand' });
    await expect(lab.host([agent('a b')])).rejects.toMatchObject({ code: 'InvalidCommand' });
    await expect(lab.host([agent('a'), agent('a')])).rejects.toMatchObject({ code: 'InvalidCommand' });
    await expect(lab.host([{ ...agent('a'), places: 0 }])).rejects.toMatchObject({ code: 'InvalidCommand' });
  });
});
