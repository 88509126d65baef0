/** A small load for real: runs, hosts, a kill; then each check finds its violation in the records, and the exit code says so. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { CHECKS, judge, type CheckName } from '../../load/checks.js';
import { SLOTS } from '../../load/definitions.js';
import { figuresOf } from '../../load/figures.js';
import { play } from '../../load/play.js';
import type { LoadRecords, RunRecords } from '../../load/records.js';
import { exitCodeOf, reportText, type LoadReport } from '../../load/report.js';
import { packageRoot } from '../../src/cli/demo/stage.js';
import { sharedServer } from '../support/server.js';

let report: LoadReport;
let records: LoadRecords;

beforeAll(async () => {
  const { address, namespace } = await sharedServer();
  const { records: read, ...rest } = await play({
    ...{ runs: 20, hosts: 4, kills: 1, atOnce: 20, places: 1 },
    // Long enough for a busy machine, short enough for the test that waits for one expiry.
    ...{ stepMs: 30, ttlMs: 5_000, limitMs: 150_000 },
    ...{ address, namespace },
    onProgress: () => undefined,
  });
  report = rest;
  if (read === null) throw new Error(reportText(rest));
  records = read;
}, 180_000);

test('twenty runs on four hosts, one of them killed: nothing is lost', () => {
  expect(reportText(report)).toContain('Nothing was lost.');
  expect(exitCodeOf(report)).toBe(0);
  expect(records.runs).toHaveLength(20);
  expect(records.kills).toHaveLength(1);
  const { figures } = report;
  // 100 slots, and one attempt more for the killed one.
  expect(figures).toMatchObject({ runs: 20, attempts: 101, kills: 1 });
  expect(figures?.killToExpiryMs?.median).toBeGreaterThan(0);
  expect(figures?.launchToResultMs?.n).toBe(20);
  expect(figures?.hostMemoryMiB?.n ?? 4).toBe(4);
});

test('the table has the figures and what they were measured with', () => {
  const text = reportText(report);
  for (const row of ['runs per second', 'launch → result, ms', 'SIGKILL → lease expired, ms', 'memory'])
    expect(text).toContain(row);
  expect(text).toContain('4 host processes');
});

/** The run of the killed attempt, and that attempt. */
const struck = (): { run: RunRecords; attempt: string; slot: string } => {
  const attempt = records.kills[0]?.attempts[0] ?? '';
  const run = records.runs.find(({ attempts }) => attempts.some((row) => row.attempt === attempt))!;
  return { run, attempt, slot: run.attempts.find((row) => row.attempt === attempt)!.slot };
};
const withRun = (run: RunRecords, change: Partial<RunRecords>): LoadRecords => ({
  ...records,
  runs: records.runs.map((one) => (one === run ? { ...one, ...change } : one)),
});

/** Each kind of loss, put into the records of the load that lost nothing. */
const BROKEN: Readonly<Record<CheckName, () => LoadRecords>> = {
  'every run closed as succeeded': () => withRun(records.runs[3]!, { status: 'running' }),
  'every slot has one succeeded attempt, and lost ones only of killed hosts': () => ({
    ...records,
    kills: [],
  }),
  'no two leases of a slot at once': () => {
    const { run, attempt } = struck();
    const late = (endedAt: number) =>
      run.attempts.map((row) => (row.attempt === attempt ? { ...row, endedAt } : row));
    return withRun(run, { attempts: late(Number.MAX_SAFE_INTEGER) });
  },
  'no two agents of a slot at work at once': () => ({
    ...records,
    work: records.work.filter(({ what }) => what !== 'killed'),
  }),
  'every step saved once, and repeated only if it was killed before its save': () => {
    const first = records.work.find((line) => line.what === 'step')!;
    return { ...records, work: [first, ...records.work] };
  },
  'every artifact is there with its bytes': () => {
    const run = records.runs[5]!;
    return withRun(run, { artifacts: run.artifacts.filter(({ kind }) => kind !== 'source') });
  },
  'results were handed on': () => {
    const run = records.runs[7]!;
    const merge = { ...(run.results!['merge'] as object), upstream: [] };
    return withRun(run, { results: { ...run.results, merge } });
  },
  'no workflow task failed': () => withRun(records.runs[0]!, { failedTasks: ['nondeterminism'] }),
  'as many hosts were killed as planned': () => ({ ...records, killsPlanned: 2 }),
};

test.each(Object.keys(CHECKS) as CheckName[])('a load in which it does not hold that %s', (name) => {
  const broken = BROKEN[name]();
  expect(CHECKS[name](broken)).not.toEqual([]);
  const problems = judge(broken);
  expect(Object.keys(problems)).toContain(name);
  const told: LoadReport = { ...report, ok: false, problems };
  expect(exitCodeOf(told)).toBe(1);
  expect(reportText(told)).toContain(`FAILED ${name}:`);
});

test('a run, an attempt, bytes and a second success that are missing or too many are each told', () => {
  const run = records.runs[2]!;
  const lost: Partial<RunRecords>[] = [
    { temporal: 'RUNNING' },
    { problem: 'OutcomeUnknown' },
    { attempts: run.attempts.filter(({ slot }) => slot !== SLOTS[1]) },
    { attempts: [...run.attempts, run.attempts[0]!] },
    { unreadable: ['abc'] },
    { results: { ...run.results, plan: null } },
  ];
  for (const change of lost)
    expect(judge(withRun(run, change)), JSON.stringify(Object.keys(change))).not.toEqual({});
});

test('figures are of the records alone', () => {
  const { run, attempt } = struck();
  const kill = records.kills[0]!;
  const row = run.attempts.find((one) => one.attempt === attempt)!;
  const figures = figuresOf(records, { control: 100, hosts: [10, 20] });
  expect(figures.killToExpiryMs?.max).toBe(row.endedAt! - kill.at);
  expect(figures.hostMemoryMiB).toEqual({ n: 2, median: 15, p95: 19.5, max: 20 });
});

test('the command refuses wrong usage before it starts anything', async () => {
  const main = path.join(packageRoot(), 'dist/load/main.js');
  const ran = promisify(execFile)(process.execPath, [main, '--ttl', 'soon']);
  await expect(ran).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining('duration') });
});
