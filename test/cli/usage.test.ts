/**
 * The command line without a server: what is wrong usage (2), what a rule refuses (3), what fails (1); errors in the form that
 * was asked for; publishing and accepting, which need the store only.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { baton, batonJson, batonUnread, type ErrorJson } from './cli.js';

/** Nothing listens there. */
const NOWHERE = '127.0.0.1:9';
const DOCUMENT = `
kind: workflow
name: essay
nodes: [{ node: write }]
`;

let cwd: string;
beforeAll(async () => {
  cwd = await mkdtemp(path.join(os.tmpdir(), 'baton-cli-'));
  await writeFile(path.join(cwd, 'essay.yaml'), DOCUMENT);
});
afterAll(() => rm(cwd, { recursive: true, force: true }));

describe('wrong usage is exit 2 with InvalidCommand', () => {
  it.each([
    ['an unknown flag', ['show', 'r', '--bogus'], 'bogus'],
    ['an unknown command', ['frobnicate'], 'frobnicate'],
    ['a missing argument', ['show'], 'run'],
    ['one argument too many', ['show', 'r', 's'], 'argument'],
    ['a missing required option', ['claim', 'r', 's', '--worker', 'w'], '--class'],
    ['an option without its value', ['claim', 'r', 's', '--class'], '--class'],
    ['a result that is no JSON', ['complete', 'r', 's', '--lease', 't', '--result', '{'], 'result'],
    ['an input file that is not there', ['launch', 'essay', '--input', '@missing.json'], 'input'],
    ['a number that is none', ['launch', 'essay', '--roll-over-events', 'few'], 'roll-over-events'],
    ['a host to listen on without a port', ['worker', '--authority-host', '0.0.0.0'], 'authority-port'],
    [
      'a deployment name that Temporal refuses',
      ['worker', '--deployment-name', 'a.b', '--build-id', '7'],
      'deployment-name',
    ],
    ['an empty deployment name', ['worker', '--deployment-name', '', '--build-id', '7'], 'deployment-name'],
    ['half of a deployment version', ['worker', '--build-id', '7'], 'deployment-name'],
    ['no duration at all', ['gc', '--older-than', ''], 'older-than'],
    ['a duration of nothing', ['gc', '--older-than', '0s'], 'older-than'],
    ['a duration without end', ['audit', '--since', `${'9'.repeat(200)}d`], 'since'],
    ['an actor that is none, under the name of its option', ['audit', '--by', ''], 'by'],
    ['an empty namespace', ['list', '--namespace', ''], 'namespace'],
    ['an empty policy', ['list', '--policy', ''], 'policy'],
    ['a server port that is none', ['dev', '--port', '65536'], 'port'],
    ['a port of the UI that is none', ['dev', '--ui-port', '99999'], 'ui-port'],
    ['a bundle without a name', ['verify', ''], 'bundle'],
    ['a folder that is no bundle', ['verify', '.'], 'bundle'],
    ['a port that is none', ['worker', '--authority-port', '65536'], 'authority-port'],
    ['a duration that is none', ['list', '--timeout', 'soon'], 'timeout'],
    ['a tenant that is no id', ['publish', 'essay.yaml', '--tenant', 'acme '], 'tenant'],
    ['a store that is no store', ['publish', 'essay.yaml', '--store', 'mongo:x'], 'store'],
    ['a file that is not there', ['publish', 'missing.yaml'], 'missing.yaml'],
    ['a collection without an age', ['gc', '--dry-run'], '--older-than'],
    ['a target of another form', ['accept', 'essay@1'], 'target'],
  ])('%s', async (_what, args, named) => {
    const { exitCode, json } = await batonJson<ErrorJson>(args, { cwd, env: { TEMPORAL_ADDRESS: NOWHERE } });
    expect({ exitCode, code: json.error.code }).toEqual({ exitCode: 2, code: 'InvalidCommand' });
    expect(`${json.error.message} ${JSON.stringify(json.error.details)}`).toContain(named);
  });
});

it('prints an error for people on stderr, and nothing on stdout', async () => {
  const { exitCode, stdout, stderr } = await baton(['show'], { cwd });
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toMatch(/^InvalidCommand: /);
});

it.each([
  ['a CI job’s log', { CI: 'true' }, /^InvalidCommand: /],
  ['a pipe that was promised colours', { FORCE_COLOR: '1' }, /^\u001b\[31mInvalidCommand/],
  ['NO_COLOR before all', { FORCE_COLOR: '1', NO_COLOR: '1' }, /^InvalidCommand: /],
])('colours an error only where somebody sees it: %s', async (_where, env, expected) => {
  expect((await baton(['show'], { cwd, env })).stderr).toMatch(expected);
});

it('says where the help of the command is that was mistyped', async () => {
  expect((await baton(['gc'], { cwd })).stderr).toContain('See `baton gc --help`.');
  expect((await baton(['frobnicate'], { cwd })).stderr).toContain('See `baton --help`.');
});

it.each([
  ['an answer', ['--help'], 'stdout', 0],
  ['an error as JSON', ['show', '--json'], 'stdout', 2],
  ['an error', ['show'], 'stderr', 2],
] as const)('says nothing of a reader that has gone: %s', async (_what, args, gone, exitCode) => {
  const result = await batonUnread(args, { cwd, gone });
  expect(result.exitCode).toBe(exitCode);
  if (gone === 'stdout') expect(result.stderr).toBe('');
});

it('says which server does not answer, as a failure (1)', async () => {
  const { exitCode, json } = await batonJson<ErrorJson>(['show', 'r', '--address', NOWHERE], { cwd });
  expect({ exitCode, code: json.error.code }).toEqual({ exitCode: 1, code: 'TemporalUnavailable' });
  expect(json.error.message).toContain(NOWHERE);
});

it('knows an absent run without asking a server, where the store is enough', async () => {
  const { exitCode, json } = await batonJson<ErrorJson>(['artifacts', 'nobody', '--address', NOWHERE], {
    cwd,
  });
  expect({ exitCode, code: json.error.code }).toEqual({ exitCode: 3, code: 'RunNotFound' });
});

it('prints its version, and its commands with the options that each takes', async () => {
  expect((await baton(['--version'], { cwd })).stdout).toMatch(/^\d+\.\d+\.\d+/);
  const help = await baton(['--help'], { cwd });
  expect(help.exitCode).toBe(0);
  for (const name of ['demo', 'dev', 'worker', 'publish', 'launch', 'reassign', 'doctor'])
    expect(help.stdout).toContain(name);
  const sub = await baton(['reassign', '--help'], { cwd });
  for (const option of ['--class', '--reason', '--dry-run', '--json', '--tenant', '--store'])
    expect(sub.stdout).toContain(option);
});

it('publishes and accepts with the store alone, and gives equal content the revision that exists', async () => {
  const options = { cwd, env: { BATON_TENANT: 'acme', BATON_ACTOR: 'ada' } };
  type Published = { kind: string; name: string; revision: number; ref: string; digest: string };
  const draft = await batonJson<Published[]>(['publish', 'essay.yaml', '--draft'], options);
  expect(draft.json).toEqual([
    {
      kind: 'workflow',
      name: 'essay',
      revision: 1,
      ref: 'essay@1',
      digest: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    },
  ]);
  const accepted = await batonJson(['accept', 'workflow/essay@1'], options);
  expect(accepted.json).toMatchObject({ ref: 'essay@1', accepted: { actor: 'ada' } });
  expect((await batonJson<Published[]>(['publish', 'essay.yaml'], options)).json).toEqual(draft.json);
  const unknown = await batonJson<ErrorJson>(['accept', 'workflow/essay@7'], options);
  expect({ exitCode: unknown.exitCode, code: unknown.json.error.code }).toEqual({
    exitCode: 3,
    code: 'UnknownRevision',
  });
});
