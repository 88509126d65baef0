import { expect, test } from 'vitest';
import type { Launches } from '../../bench/overhead/launches.js';
import { reportOf, rowsOf, type Measured } from '../../bench/overhead/report.js';
import { spread } from '../../bench/overhead/statistics.js';
import { isMet, tableText, type Row } from '../../bench/overhead/table.js';

const nothing: Measured = { launches: null, updates: null, beats: null, kills: null };
const machine = {
  cores: 2,
  cpu: 'x',
  memoryGiB: 4,
  platform: 'linux',
  nodeVersion: 'v20',
  serverVersion: '1',
  load: { before: 0, after: 0 },
};
const about = { machine, settings: [], problems: {} };

const side = (totalMs: number): Launches['sides']['baton'] => ({
  events: spread([18]),
  totalMs: spread([totalMs]),
  beforeStartMs: spread([1]),
  workflowMs: spread([2]),
  afterEndMs: spread([3]),
  phasesMs: {},
  samplesMs: [totalMs],
});

const measured: Measured = {
  ...nothing,
  launches: {
    sides: { baton: side(150), bare3: side(100), bare1: side(50) },
    totalRatio: 1.5,
    pairRatio: 1.4,
    workflowRatio: 1,
  },
  beats: { beats: 200, batonEvents: 0, bareEvents: 0 },
  kills: { ttlMs: 2_000, overTtlMs: spread([-200, -100, 1_001]), afterDeadlineMs: spread([50]) },
};

test('the report has every figure by its name, and null for what failed', () => {
  expect(reportOf(measured, about)).toMatchObject({
    eventsPerAttempt: 18,
    eventsPer200Beats: 0,
    eventsPerRefusal: null,
    launchToResultRatio: 1.5,
    reassignAcceptedRatio: null,
    reassignRefusedRatio: null,
    killToRetryWaitOverTtlMs: -100,
  });
  expect(rowsOf(nothing)).toEqual([]);
});

test('the table says beside each expected figure whether it was met', () => {
  const rows = rowsOf(measured);
  const met = (what: string) => isMet(rows.find((row) => row.what.startsWith(what)) as Row);
  expect(met('history events per attempt')).toBe(true);
  expect(met('launch → result')).toBe(false);
  expect(met('events of 200 heartbeats')).toBe(true);
  expect(met('SIGKILL → retry-wait')).toBe(true);
  expect(met('  the slowest')).toBe(false);
  expect(met('  workflow start → end')).toBeNull();
  const line = tableText(rows)
    .split('\n')
    .find((text) => text.includes('launch → result'));
  expect(
    line
      ?.replace(/\u001b\[\d+m/g, '')
      .split('│')
      .map((cell) => cell.trim()),
  ).toEqual(['', 'launch → result, ms', '150', '100', '50', '1.50', '≤ 1.2 ×', 'no', '']);
});
