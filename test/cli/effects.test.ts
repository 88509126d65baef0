/** `effects` and `resolve-effect` as users run them. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { startBaton } from '../support/baton.js';
import { launchDirect, untilSettled } from '../support/steps.js';
import { baton as cli, batonJson, type ErrorJson } from './cli.js';

it('lists effects and settles one, once', { timeout: 120_000 }, async () => {
  const baton = await startBaton();
  const cwd = path.dirname(fileURLToPath(baton.storeUrl.replace('sqlite:', 'file://')));
  const env = {
    TEMPORAL_ADDRESS: baton.address,
    BATON_TENANT: baton.tenant,
    BATON_ACTOR: 'ada',
    BATON_STORE: baton.storeUrl,
    BATON_TASK_QUEUE: baton.taskQueue,
  };
  const options = { cwd, env };
  const run = await launchDirect(baton, { ttl: '60s' });
  expect((await cli(['effects', run.run], options)).stdout).toContain('No effects.');
  const { attempt, epoch, lease } = await run.slot('a').claim({ workerClass: 'coder', worker: 'w' });
  await baton.store.effects.begin({
    fence: { tenant: baton.tenant, run: run.run, slot: 'a', attempt, epoch },
    name: 'pay the bill',
    instance: null,
    key: 'e-1',
    requestDigest: 'd',
    at: Date.now(),
  });
  await run.slot('a').fail(lease.token, { code: 'Broken', message: 'x' });
  await untilSettled(run);

  expect((await cli(['show', run.run], options)).stdout).toContain('outcome not known of pay the bill');
  const resolve = ['resolve-effect', run.run, 'a', 'pay the bill'];
  const refused = async (...args: string[]) => {
    const { exitCode, json } = await batonJson<ErrorJson>([...resolve, ...args], options);
    return [exitCode, json.error.code];
  };
  expect(await refused('--reason', 'x')).toEqual([2, 'InvalidCommand']);
  expect(await refused('--committed', '--absent', '--reason', 'x')).toEqual([2, 'InvalidCommand']);
  expect(await refused('--absent', '--receipt', '1', '--reason', 'x')).toEqual([2, 'InvalidCommand']);
  expect(await refused('--absent')).toEqual([3, 'ReasonRequired']);
  expect(await refused('--absent', '--instance', 'i', '--reason', 'x')).toEqual([3, 'EffectNotFound']);

  await writeFile(path.join(cwd, 'receipt.json'), '{"number":7}');
  const said = ['--committed', '--receipt', '@receipt.json', '--reason', 'asked', '--command-id', 'c1'];
  const { exitCode, json } = await batonJson([...resolve, ...said], options);
  expect([exitCode, json]).toMatchObject([0, { commandId: 'c1', effect: { state: 'committed' } }]);
  expect(await refused('--absent', '--reason', 'x')).toEqual([3, 'EffectNotUnresolved']);
  expect((await batonJson(['effects', run.run, 'a'], options)).json).toMatchObject([
    {
      slot: 'a',
      name: 'pay the bill',
      state: 'committed',
      receipt: { number: 7 },
      resolvedBy: { actor: 'ada', reason: 'asked' },
    },
  ]);
});
