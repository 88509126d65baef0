/** `bench effects`: what the effect boundary, the authority check and the effect-owner kit cost. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Command } from 'commander';
import { checkWritable, count, onProgress } from '../command-line.js';
import { loadNow, machineOf, machineText } from '../overhead/machine.js';
import { measureKit } from './kit.js';
import { rowsOf, tableText, type Report } from './report.js';
import { measureRun } from './run.js';

interface Options {
  readonly json?: string;
  readonly times: number;
}

export function registerEffects(program: Command): void {
  program
    .command('effects')
    .description('effects: the boundary beside a bare call, the check, the kit beside a bare transaction')
    .option('--json <file>', 'write the figures, their spreads and the machine to this file')
    .option('--times <n>', 'calls of each kind', count, 400)
    .action(effects);
}

async function effects({ json, times }: Options, command: Command): Promise<void> {
  await checkWritable(json, command, '--json');
  const loadBefore = loadNow();
  const folder = await mkdtemp(path.join(os.tmpdir(), 'baton-bench-'));
  try {
    onProgress(`${times} commits beside bare transactions …`);
    const kit = await measureKit(folder, times);
    const run = await measureRun(folder, times, onProgress);
    const settings = [
      'Each pair interleaved, in turns which first, after a tenth of the calls that do not count. More: over the bare call.',
      'All databases: SQLite files, WAL, synchronous=FULL. Server, control worker, host and owner on this machine; host and owner in one process.',
    ];
    const report: Report = { kit, run, machine: machineOf(run.serverVersion, loadBefore), settings };
    console.log([tableText(rowsOf(report)), ...settings, machineText(report.machine)].join('\n'));
    if (json !== undefined) await writeFile(json, `${JSON.stringify(report, null, 2)}\n`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
