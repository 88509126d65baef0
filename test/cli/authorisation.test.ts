/** The command line with a policy: every command is judged by it, the audit tells, and a policy that is not valid is wrong usage. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import pMap from 'p-map';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { AuditView } from '../../src/client/audit.js';
import { buildProgram } from '../../src/cli/program.js';
import { startBaton, type Baton } from '../support/baton.js';
import { launchDirect } from '../support/steps.js';
import { baton as run, batonJson, type ErrorJson } from './cli.js';

const DOCUMENT = 'kind: workflow\nname: essay\nnodes: [{ node: write }]\n';
const POLICY = `
roles: { viewer: [read], admin: ['*'] }
tenants:
  '*': { bindings: { viewer: [vera], admin: [ada] } }
`;

let cwd: string;
beforeAll(async () => {
  cwd = await mkdtemp(path.join(os.tmpdir(), 'baton-policy-'));
  await writeFile(path.join(cwd, 'essay.yaml'), DOCUMENT);
  await writeFile(path.join(cwd, 'policy.yaml'), POLICY);
  await writeFile(path.join(cwd, 'broken.yaml'), 'roles: { viewer: [reed] }\ntenants: {}\n');
});
afterAll(() => rm(cwd, { recursive: true, force: true }));

let baton: Baton;
beforeEach(async () => {
  baton = await startBaton({ control: false });
});
const as = (actor: string, policy = 'policy.yaml') => ({
  cwd,
  env: {
    TEMPORAL_ADDRESS: baton.address,
    BATON_TENANT: baton.tenant,
    BATON_ACTOR: actor,
    BATON_TASK_QUEUE: baton.taskQueue,
    BATON_STORE: baton.storeUrl,
    BATON_POLICY: policy,
  },
});

const HELD = ['r', 'a', '--lease', 'x.y'];
const WHY = ['--reason', 'x'];
/** Every command, and what it is judged as. */
const COMMANDS: Readonly<Record<string, readonly [action: string, args: readonly string[]]>> = {
  publish: ['publish', ['essay.yaml']],
  accept: ['accept', ['workflow/essay@1']],
  launch: ['launch', ['essay']],
  list: ['list', []],
  show: ['show', ['r']],
  watch: ['show', ['r']],
  export: ['export', ['r', '--out', 'bundle']],
  report: ['report', ['r']],
  attempts: ['attempts', ['r']],
  artifacts: ['artifacts', ['r']],
  effects: ['effects', ['r']],
  recovery: ['recovery', ['r', 'a']],
  audit: ['audit', []],
  claim: ['claim', ['r', 'a', '--class', 'coder', '--worker', 'w']],
  heartbeat: ['heartbeat', HELD],
  save: ['save', [...HELD, '--kind', 'source', '--name', 'x', 'essay.yaml']],
  complete: ['complete', HELD],
  fail: ['fail', [...HELD, '--code', 'X', '--message', 'x']],
  release: ['release', [...HELD, ...WHY]],
  reassign: ['reassign', ['r', 'a', '--class', 'coder', ...WHY]],
  hold: ['hold', ['r', 'a', ...WHY]],
  'release-hold': ['releaseHold', ['r', 'a', ...WHY]],
  revoke: ['revoke', ['r', 'a', ...WHY]],
  cancel: ['cancelRun', ['r', ...WHY]],
  'resolve-effect': ['resolveEffect', ['r', 'a', 'pay', '--absent', ...WHY]],
  doctor: ['doctor', []],
  gc: ['collect', ['--older-than', '30d']],
};

test('every command but those that run a server or worker is judged, and refused with exit code 3', async () => {
  const program = await buildProgram(['help']);
  const names = program.commands.map((command) => command.name()).filter((name) => name !== 'help');
  expect(names.sort()).toEqual([...Object.keys(COMMANDS), 'demo', 'dev', 'verify', 'worker'].sort());
  await pMap(
    Object.entries(COMMANDS),
    async ([name, [action, args]]) => {
      const { exitCode, json } = await batonJson<ErrorJson>([name, ...args], as('eve'));
      expect({ name, exitCode, code: json.error.code }).toEqual({ name, exitCode: 3, code: 'NotAuthorized' });
      expect(json.error.details).toMatchObject({ command: action, actor: 'eve' });
    },
    { concurrency: 2 },
  );
  const { json } = await batonJson<AuditView[]>(['audit', '--refused', '--by', 'eve'], as('ada'));
  expect(json.map(({ command }) => command).sort()).toEqual(
    Object.values(COMMANDS)
      .map(([action]) => action)
      .sort(),
  );
  for (const { verdict, code } of json) expect([verdict, code]).toEqual(['refused', 'NotAuthorized']);
}, 120_000);

test('a role may do what it lists; the audit shows who did, for people and page by page', async () => {
  const { run: id } = await launchDirect(baton);
  expect((await batonJson(['attempts', id], as('vera'))).exitCode).toBe(0);
  expect((await batonJson(['publish', 'essay.yaml'], as('vera'))).exitCode).toBe(3);
  expect((await batonJson(['audit'], as('vera'))).exitCode).toBe(3);
  expect((await batonJson(['publish', 'essay.yaml'], as('ada'))).exitCode).toBe(0);
  const { stdout } = await run(['audit', '--limit', '3'], as('ada'));
  const lines = stdout.split('\n');
  expect(lines).toHaveLength(4);
  expect(lines[1]).toMatch(/^\d+ +\S+Z +ada +publish +– +accepted/);
  expect(lines[2]).toMatch(/ vera +audit +– +refused +NotAuthorized +vera may not audit/);
  const last = Number.parseInt(lines[3] ?? '', 10);
  const next = await batonJson<AuditView[]>(['audit', '--before', String(last)], as('ada'));
  expect(next.json.map(({ command, run: of }) => [command, of])).toEqual([
    ['launch', id],
    ['publish', null],
  ]);
  const of = await batonJson<AuditView[]>(['audit', id, '--since', '1h'], as('ada'));
  expect(of.json.map(({ command }) => command)).toEqual(['launch']);
  expect(
    (await batonJson<AuditView[]>(['audit', '--since', '2999-01-01T00:00:00Z'], as('ada'))).json,
  ).toEqual([]);
  for (const [name, value] of [
    ['since', 'yesterday'],
    ['since', '2026-99-99'],
    ['limit', '5000'],
    ['before', 'x'],
  ] as const) {
    const wrong = await batonJson<ErrorJson>(['audit', `--${name}`, value], as('ada'));
    expect([name, wrong.exitCode, wrong.json.error.details['field']]).toEqual([name, 2, name]);
  }
}, 60_000);

test('a policy that is not valid stops every command as wrong usage, a worker at its start, and doctor says so', async () => {
  for (const args of [['show', 'r'], ['worker'], ['hold', 'r', 'a', ...WHY]]) {
    const { exitCode, json } = await batonJson<ErrorJson>(args, as('ada', 'broken.yaml'));
    expect({ args, exitCode, code: json.error.code }).toEqual({ args, exitCode: 2, code: 'InvalidCommand' });
    expect(json.error.details).toMatchObject({ file: 'broken.yaml', field: 'roles.viewer[0]' });
  }
  type Checks = { checks: { check: string; status: string; message: string }[] };
  const policyLine = async (policy: string) =>
    (await batonJson<Checks>(['doctor'], as('ada', policy))).json.checks.find(
      ({ check }) => check === 'policy',
    );
  expect(await policyLine('broken.yaml')).toMatchObject({
    status: 'failed',
    message: expect.stringContaining('roles.viewer[0] is no command'),
  });
  expect(await policyLine('policy.yaml')).toMatchObject({ status: 'ok', message: 'policy.yaml' });
}, 60_000);
