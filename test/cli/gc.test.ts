/** `baton gc` as people and their cron jobs run it: what it tells, what it refuses, who may, and that it never asks back. */
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AuditView } from '../../src/client/audit.js';
import type { CollectView } from '../../src/client/collect.js';
import { wholeRun } from '../store/whole-run.js';
import { startBaton } from '../support/baton.js';
import { baton as run, batonJson, type ErrorJson } from './cli.js';

let cwd: string;
beforeEach(async () => {
  cwd = await mkdtemp(path.join(tmpdir(), 'baton-gc-'));
});
afterEach(() => rm(cwd, { recursive: true }));

const POLICY = `
roles: { viewer: [read], keeper: [collect, audit] }
tenants:
  '*': { bindings: { viewer: [vera], keeper: [kit] } }
`;

it('tells by a dry run what it then removes, of its tenant alone, and leaves its name in the audit', async () => {
  const { tenant, store, storeUrl, address } = await startBaton({ control: false });
  await writeFile(path.join(cwd, 'policy.yaml'), POLICY);
  const as = (actor: string) => ({
    cwd,
    env: {
      ...{ BATON_STORE: storeUrl, BATON_TENANT: tenant, BATON_ACTOR: actor, BATON_POLICY: 'policy.yaml' },
      TEMPORAL_ADDRESS: address,
    },
  });
  await wholeRun(store, { tenant, run: 'old' });
  await wholeRun(store, { tenant, run: 'unsettled', effect: 'unresolved' });
  await wholeRun(store, { tenant: `${tenant}x`, run: 'old' });
  const gc = ['gc', '--older-than', '30d'];

  for (const args of [gc, [...gc, '--dry-run']]) {
    const { exitCode, json } = await batonJson<ErrorJson>(args, as('vera'));
    expect({ exitCode, code: json.error.code }).toEqual({ exitCode: 3, code: 'NotAuthorized' });
    expect(json.error.details).toMatchObject({ command: 'collect', actor: 'vera' });
  }
  const text = await run([...gc, '--dry-run'], as('kit'));
  expect(text).toMatchObject({ exitCode: 0, stderr: '' });
  expect(text.stdout).toMatch(
    /^Would remove 1 run that ended before \S+Z \(2 attempts, .*1 audit entry, 1 void claim\)\./,
  );
  expect(text.stdout).toMatch(/\bold +succeeded +1970-01-01T00:00:10/);
  expect(text.stdout).toMatch(/Would remove no bytes\.\nKept though old:/); // put a moment ago
  expect(text.stdout).toMatch(/\bunsettled +succeeded +EffectsOpen +.*1 effect.*baton effects/);
  const dry = await batonJson<CollectView>([...gc, '--dry-run'], as('kit'));
  expect(dry.json).toMatchObject({ dryRun: true, runs: [{ run: 'old' }], kept: [{ why: 'EffectsOpen' }] });
  expect(await store.artifacts.list(tenant, 'old')).toHaveLength(1);

  const done = await batonJson<CollectView>(gc, as('kit'));
  expect(done.exitCode).toBe(0);
  expect({ ...done.json, before: '' }).toEqual({ ...dry.json, before: '', dryRun: false });
  expect(await store.runs.get(tenant, 'old')).toBeNull();
  expect(await store.runs.get(`${tenant}x`, 'old')).not.toBeNull();
  expect((await run(gc, as('kit'))).stdout).toMatch(/^Removed 0 runs/);

  const audit = await batonJson<AuditView[]>(['audit'], as('kit'));
  // The dry runs changed nothing and are not in it, unless they were refused.
  expect(audit.json.map(({ actor, command, verdict }) => [actor, command, verdict])).toEqual([
    ...Array.from({ length: 2 }, () => ['kit', 'collect', 'accepted']),
    ...Array.from({ length: 2 }, () => ['vera', 'collect', 'refused']),
    ['ada', 'launch', 'accepted'],
  ]);
}, 60_000);

describe('what cannot be meant is wrong usage, names its field, and says what to do', () => {
  it.each([
    ['older-than', ['--older-than', '30'], /needs a unit, like 30d/],
    ['older-than', ['--older-than', 'a while'], /must be a duration/],
    ['older-than', ['--older-than', '-1d'], /must be a duration/],
    ['older-than', ['--older-than', '0d'], /must be a duration/],
    ['older-than', ['--older-than', '9999y'], /behind 1970/],
    ['grace', ['--older-than', '30d', '--grace', '5m'], /at least 1h/],
    ['grace', ['--older-than', '30d', '--grace', '2'], /needs a unit, like 2d/],
  ])('%s: %j', async (field, args, message) => {
    const { exitCode, json } = await batonJson<ErrorJson>(['gc', ...args], {
      cwd,
      env: { TEMPORAL_ADDRESS: '127.0.0.1:9' },
    });
    expect({ exitCode, code: json.error.code }).toEqual({ exitCode: 2, code: 'InvalidCommand' });
    expect(json.error.details['field']).toBe(field);
    expect(json.error.message).toMatch(message);
    expect(json.error.message).toContain('Correct the field that is named.');
  });
});

it('removes nothing where no server answers, and makes no store where there is none', async () => {
  const { address, store, storeUrl, tenant } = await startBaton({ control: false });
  await wholeRun(store, { tenant, run: 'old' });
  const gc = ['gc', '--older-than', '30d', '--tenant', tenant];
  const away = await batonJson<ErrorJson>([...gc, '--store', storeUrl, '--address', '127.0.0.1:9'], { cwd });
  expect([away.exitCode, away.json.error.code]).toEqual([1, 'TemporalUnavailable']);
  expect(await store.runs.get(tenant, 'old')).not.toBeNull();
  const none = await batonJson<ErrorJson>([...gc, '--store', 'sqlite:./none.db', '--address', address], {
    cwd,
  });
  expect([none.exitCode, none.json.error.code]).toEqual([1, 'StoreUnavailable']);
  await expect(access(path.join(cwd, 'none.db'))).rejects.toThrow(/ENOENT/);
}, 60_000);
