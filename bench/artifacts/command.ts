/** `bench artifacts`: what an artifact costs beside a plain file and beside a row of a bare SQLite database. */
import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { checkWritable, count, onProgress } from '../command-line.js';
import { bareTable, figure, sizeText } from '../tables.js';
import { loadNow, machineOf, machineText, type Machine } from '../overhead/machine.js';
import { measureSize, SIZES, type SizeMeasured, type Timed } from './measure.js';

interface Options {
  readonly json?: string;
  readonly rounds: number;
}

interface Report {
  readonly sizes: readonly SizeMeasured[];
  readonly machine: Machine;
  readonly settings: readonly string[];
}

const SETTINGS = [
  'The bytes come from one file for all sides, other ones in each round; the sides take turns in all orders.',
  'Baton: ctx.save({file}) and ctx.readStream: digest made and checked, bytes and row synced (in the row up to 64 KiB, a file beyond), the row fenced by the lease.',
  'fs: stream to a file, fsync, rename, fsync of the folder; read as a stream, unchecked. SQLite: better-sqlite3, WAL, synchronous=FULL, one row; read whole, unchecked.',
  'Memory: growth of the peak of a process of its own that writes and reads one artifact, after one of 1 MiB.',
];

export function registerArtifacts(program: Command): void {
  program
    .command('artifacts')
    .description('artifacts of 1 KiB to 100 MiB beside plain files and bare SQLite')
    .option('--json <file>', 'write the figures, their spreads and the machine to this file')
    .option('--rounds <n>', 'writes and reads of each small size and side', count, 60)
    .action(artifacts);
}

async function artifacts(options: Options, command: Command): Promise<void> {
  await checkWritable(options.json, command, '--json');
  const loadBefore = loadNow();
  const sizes: SizeMeasured[] = [];
  for (const size of SIZES) {
    onProgress(`${sizeText(size)} …`);
    sizes.push(await measureSize(size, options.rounds));
  }
  const report: Report = { sizes, machine: machineOf(null, loadBefore), settings: SETTINGS };
  console.log(reportText(report));
  if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(report, null, 2)}\n`);
}

function reportText({ sizes, machine, settings }: Report): string {
  const row = (what: string, { ms, toFs, toSqlite }: Timed): string[] => [
    what,
    ...[ms.baton, ms.fs, ms.sqlite].map(({ median }) => figure(median)),
    figure(toFs),
    figure(toSqlite),
  ];
  const rows = sizes.flatMap(({ size, write, read, peakMiB }) => [
    row(`write ${sizeText(size)}, ms`, write),
    row(`read ${sizeText(size)}, ms`, read),
    ...(peakMiB === null
      ? []
      : [
          [
            `  memory for ${sizeText(size)}, MiB`,
            ...[peakMiB.baton, peakMiB.fs, peakMiB.sqlite].map((mib) => figure(mib)),
            '',
            '',
          ],
        ]),
  ]);
  return [
    bareTable(['', 'Baton', 'fs', 'SQLite', '× fs', '× SQLite'], rows),
    'Medians; ratios are medians of the ratios round by round.',
    ...settings,
    machineText(machine),
  ].join('\n');
}
