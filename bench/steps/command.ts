/** `bench steps`: what a step costs beside a bare call of the same function. */
import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { checkWritable, count, onProgress } from '../command-line.js';
import { loadNow, machineOf, machineText, type Machine } from '../overhead/machine.js';
import type { Spread } from '../overhead/statistics.js';
import { bareTable, figure } from '../tables.js';
import { measureSteps, type StepsMeasured } from './measure.js';

interface Options {
  readonly json?: string;
  readonly steps: number;
}

interface Report extends StepsMeasured {
  readonly machine: Machine;
  readonly settings: readonly string[];
}

const SETTINGS = [
  'Results of 1 KiB; SQLite file, WAL, synchronous=FULL. A first run makes two synced writes: the bytes, then the row that is fenced by the lease.',
  'SQLite row: better-sqlite3, one insert of the same JSON, synced. Its ratio column says how many such rows a call is worth.',
];

export function registerSteps(program: Command): void {
  program
    .command('steps')
    .description('ctx.step, first run and reuse, beside a bare call')
    .option('--json <file>', 'write the figures, their spreads and the machine to this file')
    .option('--steps <n>', 'calls of each kind', count, 1_000)
    .action(steps);
}

async function steps(options: Options, command: Command): Promise<void> {
  await checkWritable(options.json, command, '--json');
  const loadBefore = loadNow();
  onProgress(`${options.steps} calls of each kind …`);
  const measured = await measureSteps(options.steps);
  const report: Report = { ...measured, machine: machineOf(null, loadBefore), settings: SETTINGS };
  console.log(reportText(report));
  if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(report, null, 2)}\n`);
}

function reportText({ us, atOnceUs, machine, settings }: Report): string {
  const row = (what: string, { median, p10, p90 }: Spread): string[] => [
    what,
    figure(median),
    figure(p10),
    figure(p90),
    figure(median / us.sqliteRow.median),
  ];
  return [
    bareTable(
      ['', 'median µs', 'p10', 'p90', '× SQLite row'],
      [
        row('bare call', us.bare),
        row('bare call and one SQLite row', us.sqliteRow),
        row('step, first run', us.first),
        row('  inside of another step', us.nested),
        ['  16 at once, each', figure(atOnceUs), '', '', figure(atOnceUs / us.sqliteRow.median)],
        row('step, again in one attempt', us.again),
        row('step, in a successor', us.successor),
      ],
    ),
    ...settings,
    machineText(machine),
  ].join('\n');
}
