/** The plugin beside a user's Worker, in one process. */
import { NativeConnection, Worker } from '@temporalio/worker';
import { Client } from '@temporalio/client';
import getPort from 'get-port';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineAgent, type AgentContext } from '../../src/agent/types.js';
import { BatonClient } from '../../src/client/client.js';
import { BatonPlugin } from '../../src/host/plugin.js';
import { waitFor } from '../support/wait.js';
import { openLab, oneSpec, quiet, type Lab } from './lab.js';

let lab: Lab;
beforeAll(async () => {
  quiet();
  lab = await openLab({ control: false });
});
afterAll(() => lab.close());

const users = (connection: NativeConnection, plugins: BatonPlugin[], name: string) =>
  Worker.create({
    connection,
    taskQueue: `users-${lab.taskQueue}-${name}`,
    activities: { mine: () => Promise.resolve('mine') },
    plugins,
  });

describe('BatonPlugin', () => {
  it('given to connection and Worker starts once, serves a client, and releases its leases when the Worker stops', async () => {
    const started: AgentContext[] = [];
    const agent = defineAgent({
      workerClass: 'beside',
      run: (ctx) =>
        new Promise<void>((resolve) => {
          started.push(ctx);
          ctx.signal.addEventListener('abort', () => resolve());
        }),
    });
    const plugin = new BatonPlugin({ store: lab.storeUrl, agents: [agent], taskQueue: lab.taskQueue });
    const connection = await NativeConnection.connect({ address: lab.address, plugins: [plugin] });
    const worker = await users(connection, [plugin], 'twice');
    const running = worker.run();

    const client = new Client({ connection: lab.client.connection, plugins: [plugin] });
    const baton = new BatonClient(client, { tenant: lab.tenant, actor: 'ada', taskQueue: lab.taskQueue });
    await lab.publish([{ node: 'a', slots: 2 }], oneSpec('beside', '30s'));
    const run = await baton.launch({ package: 'job' });
    await waitFor(() => started.length === 1);
    // One place: a second host or a second start would have taken the other slot too.
    const shown = await run.show();
    expect(shown.slots.map(({ state }) => state).sort()).toEqual(['active', 'open']);
    expect(await lab.store.attempts.list(lab.tenant, run.run)).toHaveLength(1);

    worker.shutdown();
    await running;
    expect(started[0]?.signal.reason).toMatchObject({ code: 'StaleLease' });
    const row = await lab.store.attempts.get(lab.tenant, run.run, started[0]?.attempt ?? '');
    expect(row?.staged?.kind).toBe('release');
    await connection.close();
    await plugin.close();
  });

  it('makes the user’s run fail with the cause when Baton cannot start, and stops his Worker', async () => {
    const plugin = new BatonPlugin({ store: 'nosuch:engine', taskQueue: lab.taskQueue });
    const worker = await users(lab.connection, [plugin], 'broken');
    await expect(worker.run()).rejects.toMatchObject({ code: 'InvalidCommand' });
    expect(worker.getState()).toBe('STOPPED');
  });

  it('lets `runUntil` end, however soon', async () => {
    const plugin = new BatonPlugin({ store: lab.storeUrl, taskQueue: lab.taskQueue });
    const worker = await users(lab.connection, [plugin], 'until');
    expect(await worker.runUntil(Promise.resolve(7))).toBe(7);
    await plugin.close();
  });

  it('serves the authority check where it is asked to, as long as the Worker runs', async () => {
    const port = await getPort();
    const plugin = new BatonPlugin({ store: lab.storeUrl, taskQueue: lab.taskQueue, authority: { port } });
    const worker = await users(lab.connection, [plugin], 'authority');
    const running = worker.run();
    const health = () => fetch(`http://127.0.0.1:${port}/health`);
    expect(await waitFor(async () => (await health()).status)).toBe(200);
    worker.shutdown();
    await running;
    await expect(health()).rejects.toThrow();
    await plugin.close();
  });

  it('leaves the user’s options as they are', () => {
    const plugin = new BatonPlugin({ store: lab.storeUrl });
    const activities = { mine: () => Promise.resolve() };
    const options = { taskQueue: 'q', activities, interceptors: {} };
    expect(plugin.configureWorker(options)).toMatchObject(options);
    expect(plugin.configureWorker(options).activities).toBe(activities);
  });
});
