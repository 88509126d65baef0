/** `dev` and `worker` print one ready line, serve what they say, and leave nothing behind when they are stopped. */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import getPort from 'get-port';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startNode } from '../support/processes.js';
import { temporalCli } from '../support/server.js';
import { waitFor } from '../support/wait.js';
import { batonJson, MAIN } from './cli.js';

let cwd: string;
beforeAll(async () => {
  cwd = await mkdtemp(path.join(os.tmpdir(), 'baton-dev-'));
});
afterAll(() => rm(cwd, { recursive: true, force: true }));

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

it('gives server and control worker at once, and stops both on Ctrl-C', { timeout: 120_000 }, async () => {
  const cli = await temporalCli();
  const env = {
    PATH: `${path.dirname(cli)}${path.delimiter}${process.env['PATH']}`,
    TEMPORAL_CONFIG_FILE: '/nonexistent',
    TEMPORAL_ADDRESS: '',
  };
  const port = await getPort();
  const lines: string[] = [];
  const dev = await startNode(MAIN, ['dev', '--memory', '--port', String(port), '--json'], {
    cwd,
    env,
    onLine: (line, stream) => stream === 'stdout' && lines.push(line),
  });
  const ready = JSON.parse(await dev.ready('json', 90_000)) as {
    address: string;
    owned: boolean;
    serverPid: number;
  };
  expect(ready).toMatchObject({
    ready: true,
    address: `127.0.0.1:${port}`,
    namespace: 'default',
    owned: true,
  });
  type Doctor = { ok: boolean; checks: { check: string; status: string }[] };
  const doctor = async () =>
    (await batonJson<Doctor>(['doctor', '--address', ready.address], { cwd, env })).json;
  const healthy = await waitFor(async () => ((await doctor()).ok ? doctor() : null), { timeoutMs: 30_000 });
  expect(healthy.checks.map(({ status }) => status)).toEqual(healthy.checks.map(() => 'ok'));
  dev.kill('SIGINT');
  expect(await dev.exited).toEqual({ code: 0, signal: null });
  expect(isRunning(ready.serverPid)).toBe(false);
  expect(lines).toHaveLength(1);
});
