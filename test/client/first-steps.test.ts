/** What people do wrong on their first day, each with an answer that leads on: another store, a misspelt option, a dead worker. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { BatonClient } from '../../src/client/client.js';
import { examineServer } from '../../src/client/doctor.js';
import { BatonPlugin, type BatonPluginOptions } from '../../src/host/plugin.js';
import { openStore } from '../../src/store/open.js';
import { baton as cli, batonJson } from '../cli/cli.js';
import { startBaton } from '../support/baton.js';
import { documents } from '../support/definitions.js';
import { expectInvariants } from '../support/invariants.js';
import { launchDirect } from '../support/steps.js';

it('refuses a claim through another store than the run’s, and the slot stays open', async () => {
  const baton = await startBaton();
  const run = await launchDirect(baton);
  const elsewhere = await openStore('sqlite::memory:');
  const { tenant, taskQueue, temporal } = baton;
  const lost = new BatonClient(temporal, { tenant, taskQueue, actor: 'ada', store: elsewhere });
  await expect(
    lost.run(run.run).slot('a').claim({ workerClass: 'coder', worker: 'w1' }),
  ).rejects.toMatchObject({ code: 'RunNotFound', message: expect.stringContaining('--store') as string });
  expect(await run.slot('a').show()).toMatchObject({ state: 'open', epoch: null, counts: { claims: 0 } });
  const checks = await examineServer(lost, { fix: false });
  expect(checks.find(({ check }) => check === 'store')).toMatchObject({
    message: expect.stringContaining('has no run of tenant') as string,
  });
  await expectInvariants(baton, run.run);
  await elsewhere.close();
});

it('says of a run that a command cancelled what `show` says of it', async () => {
  const baton = await startBaton();
  const run = await launchDirect(baton);
  await run.cancel({ reason: 'not needed' });
  await expect(run.result()).rejects.toMatchObject({ code: 'RunFailed' });
  await expect(run.slot('a').claim({ workerClass: 'coder', worker: 'w' })).rejects.toMatchObject({
    code: 'RunClosed',
    details: { status: 'cancelled' },
  });
});

describe('a misspelt option', () => {
  it('of the plugin is named', () => {
    const misspelt = { stor: 'sqlite::memory:' } as unknown as BatonPluginOptions;
    expect(() => new BatonPlugin(misspelt)).toThrow(
      expect.objectContaining({ code: 'InvalidCommand' }) as Error,
    );
    expect(() => new BatonPlugin({} as BatonPluginOptions)).toThrow(/needs a store/);
  });

  it('of a launch is named, and nothing is launched', async () => {
    const baton = await startBaton({ control: false });
    const client = baton.as();
    await client.publish({ documents: documents({ a: {} }) });
    const misspelt = { package: 'job', run: 'r1', inputs: {} } as unknown as { package: string };
    await expect(client.launch(misspelt)).rejects.toMatchObject({
      code: 'InvalidCommand',
      details: { field: 'inputs' },
    });
    expect(await baton.store.runs.list(baton.tenant)).toEqual([]);
  });

  it('of the command line gets a suggestion, and one full stop', async () => {
    const cwd = await mkdtemp(path.join(os.tmpdir(), 'baton-cli-'));
    try {
      expect((await cli(['show', 'r', '--jsom'], { cwd })).stderr).toContain('(Did you mean --json?). See');
      expect((await cli(['show', 'a', 'b'], { cwd })).stderr).toMatch(/but got 2\. See/);
    } finally {
      await rm(cwd, { recursive: true, force: true });
    }
  });
});

it('launches what the file says, whatever was published under its names since', async () => {
  const baton = await startBaton({ control: false });
  const cwd = await mkdtemp(path.join(os.tmpdir(), 'baton-cli-'));
  const env = { TEMPORAL_ADDRESS: baton.address, BATON_TENANT: baton.tenant, BATON_STORE: baton.storeUrl };
  try {
    const old = path.join(cwd, 'old.json');
    await writeFile(old, JSON.stringify(documents({ a: { prompt: 'old' } })));
    await baton.as().publish({ files: [old] });
    await baton.as().publish({ documents: documents({ a: { prompt: 'new' }, b: {} }) });
    const launched = await batonJson<{ pins: Record<string, { ref: string }> }>(
      ['launch', old, '--run', 'r1'],
      { cwd, env },
    );
    expect(launched.exitCode).toBe(0);
    expect(Object.values(launched.json.pins).map(({ ref }) => ref)).toEqual(['job@1', 'job@1', 'job@1']);
    // By name it is the newest.
    const newest = await batonJson<{ pins: Record<string, { ref: string }> }>(
      ['launch', 'job', '--run', 'r2'],
      { cwd, env },
    );
    expect(newest.json.pins['binding']?.ref).toBe('job@2');
  } finally {
    await rm(cwd, { recursive: true, force: true });
  }
});
