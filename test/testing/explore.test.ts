/** The crash explorer on the real server: real hosts, real SIGKILLs, real leases. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { crashReportText, exploreCrashes, type ExploreOptions } from '../../src/testing/index.js';
import { compileFixtures } from '../support/compiled.js';
import { documents, spec } from '../support/definitions.js';
import { sharedServer } from '../support/server.js';

const AGENTS = 'testing/fixtures/agents.ts';
let fixtures: Awaited<ReturnType<typeof compileFixtures>>;
let folder: string;
const before = process.env['TMPDIR'];
beforeAll(async () => {
  fixtures = await compileFixtures([AGENTS]);
});
afterAll(() => fixtures.remove());

/** Everything that an exploration puts into files is in a folder of the test's, whose name is in its processes' arguments. */
beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'baton-explore-test-'));
  process.env['TMPDIR'] = folder;
});
afterEach(async () => {
  if (before === undefined) delete process.env['TMPDIR'];
  else process.env['TMPDIR'] = before;
  await rm(folder, { recursive: true, force: true });
});

const nothingIsLeft = async (): Promise<void> => {
  expect((await readdir(folder)).filter((name) => name.startsWith('baton-crashes-'))).toEqual([]);
  const processes = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }).split('\n');
  expect(processes.filter((line) => line.includes(folder))).toEqual([]);
};

const nodes = (mode: 'auto' | 'manual') =>
  documents({
    write: { launch: [spec({ classes: ['writer'], dispatch: 'queue', ttl: '1h', retry: { mode } })] },
  });

async function explore(agent: string, options: Partial<ExploreOptions> = {}) {
  const { address } = await sharedServer();
  return exploreCrashes({
    agent: { module: fixtures.path(AGENTS), export: agent },
    documents: nodes('auto'),
    package: 'job',
    server: { address },
    // More than the default, since other tests run beside this one.
    ttlMs: 3_000,
    ...options,
  });
}

// Each kill takes two starts of a process and a lease's time: on a machine with other work to do that is a while.
describe('crash explorer', { timeout: 180_000 }, () => {
  it('lists every point of a run, kills before and after each, and reports what was repeated', async () => {
    const report = await explore('sound', { parallel: 4 });
    const point = (kind: string, name: string) => ({ slot: 'write', node: 'write', kind, name, nth: 1 });
    expect(report.points).toEqual([
      point('step', 'draft'),
      point('checkpoint', 'half'),
      point('artifact', 'notes.txt'),
      point('step', 'polish'),
      point('result', 'result'),
    ]);
    expect(report.results).toEqual({ write: { text: 'a draft, polished' } });
    expect(report.ok, crashReportText(report)).toBe(true);
    expect(report.cells.map(({ point: at, when, repeated }) => [at.name, when, repeated])).toEqual(
      report.points.flatMap(({ kind, name }) => [
        [name, 'before', kind === 'step' ? [{ slot: 'write', step: name, times: 2 }] : []],
        [name, 'after', []],
      ]),
    );
    for (const cell of report.cells)
      expect(cell).toMatchObject({
        finished: true,
        status: 'succeeded',
        attempts: 2,
        sameResults: true,
        problem: null,
      });
    await nothingIsLeft();
  });

  it('names an agent whose step needs what an earlier one left in memory', async () => {
    const report = await explore('forgetful', {
      only: ({ name }) => name === 'count',
      // Waits for a reassign, which the explorer gives.
      documents: nodes('manual'),
    });
    expect(report.ok).toBe(false);
    const [first, second] = report.cells;
    expect(first).toMatchObject({ when: 'before', finished: true, sameResults: true, problem: null });
    expect(second).toMatchObject({ when: 'after', finished: true, sameResults: false });
    expect(second?.problem).toContain('the result of slot write is 0, undisturbed it is 14');
    expect(crashReportText(report)).toContain('2 kills, 1 held');
  });

  /** Lines of an effect's key in the owner's book. */
  const commits: ExploreOptions['commits'] = async ({ run, key }) =>
    (await readFile(path.join(folder, run), 'utf8').catch(() => ''))
      .split('\n')
      .filter((line) => line === key).length;

  it('kills around what is recorded of an effect, and counts at its owner', async () => {
    const report = await explore('payer', { input: () => ({ folder }), commits, parallel: 3 });
    expect(report.points.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
      'effect-intent pay',
      'effect-outcome pay',
      'result result',
    ]);
    expect(report.ok, crashReportText(report)).toBe(true);
    for (const cell of report.cells)
      expect(cell).toMatchObject({
        attempts: 2,
        effects: [{ slot: 'write', effect: 'pay', state: 'committed', times: 1 }],
      });
  });

  it('names an effect that its owner has committed twice', async () => {
    const only: ExploreOptions['only'] = ({ kind }) => kind === 'effect-outcome';
    const report = await explore('carelessPayer', { input: () => ({ folder }), commits, only });
    expect(report.cells.map(({ effects }) => effects[0]?.times)).toEqual([2, 1]);
    expect(report.cells[0]?.problem).toBe(
      'effect pay of slot write is committed, and its owner has committed it 2 times',
    );
  });

  it('names an agent whose step cannot be run twice', async () => {
    const report = await explore('once', { only: ({ kind }) => kind === 'step', input: () => ({ folder }) });
    expect(report.ok).toBe(false);
    const [first, second] = report.cells;
    expect(first).toMatchObject({ when: 'before', finished: false, status: 'running', sameResults: null });
    expect(first?.problem).toBe(
      'attempt 2 of slot write failed with AgentError: step deploy: deployed already',
    );
    expect(first?.repeated).toEqual([{ slot: 'write', step: 'deploy', times: 2 }]);
    expect(second).toMatchObject({ when: 'after', finished: true, problem: null, repeated: [] });
  });

  it('says so when a run never comes to the point, for its names change', async () => {
    const report = await explore('restless', { only: ({ kind }) => kind === 'step' });
    expect(report.ok).toBe(false);
    for (const { problem, attempts } of report.cells) {
      expect(problem).toContain('nothing was killed');
      expect(attempts).toBe(1);
    }
  });

  it('refuses an agent that fails, or does not end, without a crash', async () => {
    const failing = explore('failing');
    await expect(failing).rejects.toMatchObject({
      code: 'AgentError',
      message: expect.stringMatching(/without a crash: attempt 1 .* failed with AgentError: no ink/),
    });
    const endless = explore('endless', { timeoutMs: 6_000 });
    await expect(endless).rejects.toMatchObject({
      code: 'AgentError',
      message: expect.stringContaining('it did not end in time: slot write is'),
    });
    await nothingIsLeft();
  });

  it('ends every process when the caller’s signal fires', async () => {
    const stop = new AbortController();
    const onProgress = (message: string): void => {
      if (message.startsWith('1 of')) stop.abort(new Error('enough'));
    };
    const exploring = explore('sound', { parallel: 1, onProgress, signal: stop.signal });
    await expect(exploring).rejects.toThrow('enough');
    await nothingIsLeft();
  });
});
