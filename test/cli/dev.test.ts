/** `dev` and `worker` print one ready line, serve what they say, and leave nothing behind when they are stopped. */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import getPort, { portNumbers } from 'get-port';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { httpAuthority } from '../../src/effects/http-authority.js';
import { authorityToken } from '../../src/effects/token.js';
import { startNode } from '../support/processes.js';
import { temporalCli } from '../support/server.js';
import { waitFor } from '../support/wait.js';
import { batonJson, MAIN, type ErrorJson } from './cli.js';

/** Signed with another store's key. */
const FORGED = authorityToken(Buffer.alloc(32), {
  ...{ tenant: 't', run: 'r', slot: 's', attempt: 'a', epoch: 1 },
});

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
  // The UI's own, a thousand higher, would be no port.
  const port = await getPort({ port: portNumbers(64_536, 65_500) });
  const lines: string[] = [];
  const dev = await startNode(
    MAIN,
    ['dev', '--memory', '--port', String(port), '--authority-port', '0', '--json'],
    {
      cwd,
      env,
      onLine: (line, stream) => stream === 'stdout' && lines.push(line),
    },
  );
  const ready = JSON.parse(await dev.ready('json', 90_000)) as {
    address: string;
    owned: boolean;
    serverPid: number;
    authority: string;
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
  expect(await (await fetch(`${ready.authority}/health`)).json()).toEqual({ ok: true });
  await expect(httpAuthority(ready.authority)(FORGED)).rejects.toMatchObject({ code: 'StaleLease' });
  // A port that is taken is told at once, and nothing stays behind.
  const taken = ['worker', '--authority-port', new URL(ready.authority).port, '--address', ready.address];
  const second = await batonJson<ErrorJson>(taken, { cwd, env });
  expect({ exitCode: second.exitCode, code: second.json.error.code }).toEqual({
    ...{ exitCode: 2, code: 'InvalidCommand' },
  });
  dev.kill('SIGINT');
  expect(await dev.exited).toEqual({ code: 0, signal: null });
  expect(isRunning(ready.serverPid)).toBe(false);
  await expect(fetch(`${ready.authority}/health`)).rejects.toThrow();
  expect(lines).toHaveLength(1);
});
