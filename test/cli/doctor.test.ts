/** `baton doctor`, typed: what it finds, and that only `--fix` changes anything, on a server that knows nothing of Baton yet. */
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { workflowIdOf } from '../../src/domain/wire.js';
import { SEARCH_ATTRIBUTES } from '../../src/server/dev-server.js';
import { startBaton } from '../support/baton.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { launchDirect } from '../support/steps.js';
import { waitFor } from '../support/wait.js';
import { batonJson } from './cli.js';

interface Examined {
  readonly ok: boolean;
  readonly checks: readonly { check: string; status: string; message: string; fixed: boolean }[];
}

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ searchAttributes: false });
});
afterAll(() => server.stop());

it('says what is wrong and leaves it; with --fix it registers search attributes and settles what a terminated run left', async () => {
  const baton = await startBaton({ address: server.address });
  const env = {
    BATON_TENANT: baton.tenant,
    BATON_STORE: baton.storeUrl,
    BATON_TASK_QUEUE: baton.taskQueue,
    TEMPORAL_ADDRESS: baton.address,
  };
  const doctor = async (...args: string[]) => {
    const { exitCode, json } = await batonJson<Examined>(['doctor', ...args], { cwd: tmpdir(), env });
    const found = (name: string) => json.checks.find(({ check }) => check === name);
    return { exitCode, ok: json.ok, attributes: found('search attributes'), runs: found('runs') };
  };
  const registered = async (): Promise<readonly string[]> => {
    const { namespace } = baton.temporal.options;
    const { customAttributes } = await baton.temporal.connection.operatorService.listSearchAttributes({
      namespace,
    });
    return Object.keys(SEARCH_ATTRIBUTES).filter((name) => name in customAttributes);
  };
  const names = Object.keys(SEARCH_ATTRIBUTES).sort();
  expect(names).toContain('BatonStatus');

  const run = await launchDirect(baton, { ttl: '60s' });
  await run.slot('a').claim({ workerClass: 'coder', worker: 'w1' });
  await baton.temporal.workflow.getHandle(workflowIdOf(baton.tenant, run.run)).terminate('test');

  const before = await doctor();
  expect(before).toMatchObject({
    exitCode: 1,
    ok: false,
    attributes: { status: 'warning', fixed: false },
    runs: { status: 'failed', fixed: false },
  });
  for (const name of names) expect(before.attributes?.message).toContain(name);
  expect(before.runs?.message).toContain(run.run);
  expect(await registered()).toEqual([]);
  expect(await run.attempts()).toMatchObject([{ lease: { status: 'live' } }]);

  expect(await doctor('--fix')).toMatchObject({
    exitCode: 0,
    ok: true,
    attributes: { status: 'ok', fixed: true },
    runs: { status: 'ok', fixed: true },
  });
  await waitFor(async () => (await registered()).length === names.length);
  expect(await run.attempts()).toMatchObject([
    { worker: { status: 'cancelled' }, lease: { status: 'revoked' }, failure: { code: 'Cancelled' } },
  ]);
  const after = await waitFor(async () => {
    const found = await doctor();
    return found.attributes?.status === 'ok' && found;
  });
  expect(after).toMatchObject({
    exitCode: 0,
    attributes: { fixed: false },
    runs: { status: 'ok', fixed: false },
  });
}, 120_000);
