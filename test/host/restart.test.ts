/** S13: the Temporal server is restarted under a live lease. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { defineAgent, type AgentContext } from '../../src/agent/types.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { waitFor } from '../support/wait.js';
import { openLab, oneSpec, quiet, type Lab } from './lab.js';

let folder: string;
let server: TestServer;
let lab: Lab;
beforeAll(async () => {
  quiet();
  folder = await mkdtemp(path.join(tmpdir(), 'baton-restart-'));
  server = await startTestServer({ dataFile: path.join(folder, 'temporal.db') });
  lab = await openLab({ address: server.address });
});
afterAll(async () => {
  await lab.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

it('S13 a restart of server and control worker costs no attempt', async () => {
  const started: { ctx: AgentContext; end: () => void }[] = [];
  const agent = defineAgent({
    workerClass: 'steady',
    run: (ctx) => new Promise((resolve) => started.push({ ctx, end: () => resolve(ctx.number) })),
  });
  await lab.publish([{ node: 'a' }], oneSpec('steady', '20s'));
  await lab.host([agent]);
  const run = await lab.baton.launch({ package: 'job' });
  await waitFor(() => started.length === 1);
  await server.kill();
  await sleep(1_000);
  await server.restart();
  await lab.restartControl();
  // Beats go on against the restarted server for longer than a TTL.
  await sleep(22_000);
  expect(started[0]?.ctx.signal.aborted).toBe(false);
  started[0]?.end();
  expect(await run.result()).toEqual({ a: 1 });
  expect(started).toHaveLength(1);
  expect(await run.attempts()).toHaveLength(1);
}, 120_000);
