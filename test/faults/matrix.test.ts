/** The pure parts of the fault matrix: its cells, its table of expectations, its covering set, its report. */
import { expect, test } from 'vitest';
import { CELLS, MEANINGLESS } from '../../faults/cells.js';
import { POINTS, VICTIMS, type CellResult } from '../../faults/model.js';
import { planOf, REASSIGN_ROWS } from '../../faults/plan.js';
import { coveringSet, pairsIn, pairsOf, pairwise } from '../../faults/reassign/cover.js';
import { judgeDomain } from '../../faults/reassign/domain.js';
import { expected, REFUSALS } from '../../faults/reassign/expected.js';
import {
  combinationCount,
  everyCombination,
  FACTOR_NAMES,
  FACTORS,
  GOOD,
  worded,
  type Combination,
} from '../../faults/reassign/factors.js';
import { reportMarkdown, reportText } from '../../faults/render.js';
import { exitCodeOf, reportOf } from '../../faults/report.js';
import { repeatedSteps, twoAtWork } from '../../faults/work.js';
import type { WorkLine } from '../../faults/work-log.js';

test('every point is interrupted by everything, or says why not', () => {
  const cells = [...CELLS, ...MEANINGLESS].map(({ point, victim }) => `${point} × ${victim}`);
  expect(new Set(cells).size).toBe(cells.length);
  expect(cells).toHaveLength(POINTS.length * VICTIMS.length);
  for (const { why } of MEANINGLESS) expect(why).not.toBe('');
});

test('a filter takes part of the plan, in any case, and what nothing fits is nothing', () => {
  const all = planOf();
  expect(all.planned).toBe(CELLS.length + 1 + coveringSet().length);
  const some = planOf('RETRY-wait, for the retry time × store');
  expect(some.cells.map(({ point, victim }) => [point, victim])).toEqual([
    ['retry-wait, for the retry time', 'store'],
  ]);
  expect(some).toMatchObject({ domain: false, combinations: [], planned: 1 });
  expect(planOf('no such cell').planned).toBe(0);
});

test('the table of expectations names each guard of the design once, in its order', () => {
  expect(REFUSALS.map(({ code }) => code)).toEqual([
    'TooLarge',
    'RunNotFound',
    'RunClosed',
    'RunMismatch',
    'SlotNotFound',
    'SlotNotInRetryWait',
    'NoPriorWorker',
    'WorkerNotTerminal',
    'LeaseNotTerminal',
    'ReasonRequired',
    'OwnerActorMismatch',
    'NoCompatibleLaunchSpec',
  ]);
  expect(expected(GOOD)).toEqual({ accepted: 'two' });
  expect(expected({ ...GOOD, workerClass: 'one and two' })).toEqual({ accepted: 'one' });
  expect(expected({ ...GOOD, slot: 'open', reason: 'blank' })).toEqual({ refused: 'SlotNotInRetryWait' });
});

test('all combinations are different, and the domain answers each as expected', () => {
  const seen = new Set([...everyCombination()].map((combination) => Object.values(combination).join()));
  expect(seen.size).toBe(combinationCount());
  expect(judgeDomain()).toEqual({ combinations: combinationCount(), accepted: 120, wrong: 0, examples: [] });
}, 120_000);

test('a verdict other than expected is found', () => {
  const wrong = (combination: Combination) =>
    worded(combination) === 'owner: another actor' ? { accepted: 'two' } : expected(combination);
  const found = judgeDomain(wrong);
  expect(found.wrong).toBe(1);
  expect(found.examples).toEqual([
    'owner: another actor: OwnerActorMismatch, expected accepted with specification two',
  ]);
}, 120_000);

test('the covering set has every pair of levels and, alone, every level', () => {
  const levels = { ...FACTORS, lease: FACTORS.lease.filter((level) => level !== 'being recorded') };
  const missing = new Set(pairsOf(levels));
  for (const combination of pairwise(levels)) for (const pair of pairsIn(combination)) missing.delete(pair);
  expect([...missing]).toEqual([]);
  const cover = coveringSet().map(worded);
  expect(new Set(cover).size).toBe(cover.length);
  for (const factor of FACTOR_NAMES)
    for (const level of levels[factor].slice(1)) expect(cover).toContain(`${factor}: ${level}`);
  expect(coveringSet().filter((combination) => 'accepted' in expected(combination)).length).toBeGreaterThan(
    15,
  );
});

const result = (changes: Partial<CellResult> = {}): CellResult => ({
  row: POINTS[0],
  victim: VICTIMS[0],
  must: ['no epoch used twice'],
  held: true,
  problem: null,
  seconds: 4.2,
  ...changes,
});
const about = { planned: 2, meaningless: MEANINGLESS, notes: [], seconds: 9.6 };

test('the exit code is 0 only when every cell ran and held', () => {
  const held = [result(), result({ victim: VICTIMS[1] })];
  const failed = [result(), result({ held: false, problem: 'twice' })];
  expect(exitCodeOf(reportOf(held, about))).toBe(0);
  expect(exitCodeOf(reportOf(failed, about))).toBe(1);
  expect(exitCodeOf(reportOf(held.slice(1), about))).toBe(1);
  expect(exitCodeOf(reportOf([], { ...about, planned: 0 }))).toBe(1);
});

test('the report counts, shows what failed and why, what did not run, and why it was broken off', () => {
  const rows = [
    result(),
    result({ victim: 'store', held: false, problem: 'epochs 1, 1 | of \u001b[31mthe slot' }),
    result({ row: REASSIGN_ROWS.server, victim: 'tenant: foreign (raw)' }),
  ];
  const report = reportOf(rows, { ...about, planned: 5, notes: ['Stopped by SIGINT.'] });
  expect(report.cells).toEqual({ planned: 5, ran: 3, held: 2, failed: 1 });
  const text = reportText(report);
  expect(text.split('\n')[0]).toBe('Fault matrix: 2 of 5 cells hold, 1 failed, 2 did not run, 10 s.');
  expect(text).toMatch(/claimed, not attached +holds 4 s +not run +not run +FAILED 4 s/);
  expect(text).toContain('FAILED claimed, not attached × store: epochs 1, 1 | of \\x1b[31mthe slot');
  expect(text).toContain(`– ${MEANINGLESS[0]?.point ?? ''} × agent host: `);
  expect(text).toContain('Stopped by SIGINT.');
  const markdown = reportMarkdown(report);
  expect(markdown).toContain('| claimed, not attached | holds | not run | not run | **FAILED** |');
  expect(markdown).toContain(`| ${REASSIGN_ROWS.server} | 1 | 1 |`);
  expect(markdown).toContain('- no epoch used twice');
});

const line = (what: WorkLine['what'], attempt: string, pid: number, step = ''): WorkLine =>
  ({ what, slot: 'work', attempt, pid, at: 0, step }) as unknown as WorkLine;

test('the work log shows two agents at work, a second start, and work after being told to stop', () => {
  const first = [line('start', 'a', 1), line('step', 'a', 1, 'one')];
  expect(twoAtWork([...first, line('killed', '', 1), line('start', 'b', 2), line('end', 'b', 2)])).toEqual(
    [],
  );
  expect(twoAtWork([...first, line('start', 'b', 2)])).toEqual(['b began while a was at work']);
  expect(twoAtWork([...first, line('end', 'a', 1), line('start', 'a', 2)])).toEqual([
    'the agent of a was started twice',
  ]);
  expect(twoAtWork([...first, line('told', 'a', 1), line('step', 'a', 1, 'two')])).toEqual([
    'a ran step two after it was told to stop',
  ]);
  expect(repeatedSteps([...first, line('step', 'b', 2, 'one'), line('step', 'b', 2, 'two')], 'work')).toEqual(
    ['one'],
  );
});
