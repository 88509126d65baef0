/** `bench overhead`: what Baton costs beside a bare Temporal workflow that does the same work. */
import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { checkWritable, count, onProgress } from '../command-line.js';
import { stopSignal } from '../../src/cli/signals.js';
import { DYNAMIC_CONFIG } from '../../src/server/dev-server.js';
import { measureBeats } from './beats.js';
import { KILL } from './definitions.js';
import { measureKills } from './kills.js';
import { measureLaunches } from './launches.js';
import { withLab, type Lab } from './lab.js';
import { loadNow, machineOf, machineText } from './machine.js';
import { PLACES } from './processes.js';
import { BEATS, reportOf, rowsOf, type Measured, type Report } from './report.js';
import { tableText } from './table.js';
import { measureUpdates } from './updates.js';

/** Rounds before the counted ones: workers run for days, and what is asked is what they cost then. */
const WARM_UP = 36;

interface Options {
  readonly json?: string;
  readonly pairs: number;
  readonly updates: number;
  readonly kills: number;
  readonly serverFile?: boolean;
}

export function registerOverhead(program: Command): void {
  program
    .command('overhead')
    .description('Baton beside a bare workflow of three activities (and of one) on the same kind of queues')
    .option('--json <file>', 'write the figures, their spreads and the machine to this file')
    .option('--pairs <n>', 'launches of each side', count, 40)
    .option('--updates <n>', 'reassigns and bare updates of each kind', count, 60)
    .option('--kills <n>', 'hosts that are killed', count, 7)
    .option('--server-file', 'keep the state of the Temporal server in a file (default: in memory)')
    .action(overhead);
}

async function overhead(options: Options, command: Command): Promise<void> {
  await checkWritable(options.json, command, '--json');
  const stop = stopSignal();
  try {
    const interrupted = stop.asked.then((signal) => Promise.reject(new Error(`stopped by ${signal}`)));
    interrupted.catch(() => undefined);
    const lab = { serverFile: options.serverFile ?? false, onProgress };
    const report = await withLab(lab, (opened) => measureAll(opened, options, interrupted));
    console.log(reportText(report));
    if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(report, null, 2)}\n`);
    if (Object.keys(report.problems).length > 0) process.exitCode = 1;
  } finally {
    stop.dispose();
  }
}

async function measureAll(lab: Lab, options: Options, interrupted: Promise<never>): Promise<Report> {
  const loadBefore = loadNow();
  const problems: Record<string, string> = {};
  const measure = async <T>(name: string, progress: string, work: () => Promise<T>): Promise<T | null> => {
    onProgress(`${progress} …`);
    const failed = (error: unknown): null => {
      problems[name] = error instanceof Error ? error.message : String(error);
      return null;
    };
    // A measurement that fails takes nothing from the others; an interruption ends all of them.
    return Promise.race([work().catch(failed), interrupted]);
  };
  const { pairs, updates, kills } = options;
  const measured: Measured = {
    launches: await measure('launches', `${pairs} launches of each side, interleaved`, () =>
      measureLaunches(lab, pairs, WARM_UP),
    ),
    updates: await measure('updates', `${updates} reassigns of each kind beside bare updates`, () =>
      measureUpdates(lab, updates),
    ),
    beats: await measure('beats', `${BEATS} heartbeats`, () => measureBeats(lab, BEATS)),
    kills: await measure('kills', `${kills} hosts killed`, () => measureKills(lab, kills)),
  };
  const settings = settingsOf(options);
  return reportOf(measured, { machine: machineOf(lab.serverVersion, loadBefore), settings, problems });
}

const settingsOf = ({ serverFile }: Options): string[] => [
  `Temporal dev server of this run, state ${serverFile ? 'in a file' : 'in memory'}, dynamic config ${Object.entries(
    DYNAMIC_CONFIG,
  )
    .map(([key, value]) => `${key}=${value}`)
    .join(' ')}`,
  'Store: SQLite file, WAL, synchronous=FULL. Control worker and host of each side are processes of their own.',
  `Both hosts: ${PLACES} places on the class queue, 2 pollers on the host queue. Bare activities: class, host, control queue; they return at once, as the agent does.`,
  `Launch → result, after ${WARM_UP} launches of each side that do not count: Baton from BatonClient.launch (resolves the pins, writes the run’s row, starts) to result() with the slot’s JSON; bare: client.workflow.execute.`,
  'Reassign: SlotHandle.reassign, which looks for an earlier answer in the store and keeps the new one; bare: executeUpdate. Bare updates stand in the column “bare 3”.',
  `SIGKILL: TTL ${KILL.ttlMs} ms. The last beat comes before the kill, so the time beyond the TTL may be below zero.`,
];

function reportText(report: Report): string {
  const { problems, settings, machine } = report;
  return [
    tableText(rowsOf(report.measured)),
    ...Object.entries(problems).map(([name, why]) => `FAILED ${name}: ${why}`),
    'Medians; latencies in ms.',
    ...settings,
    machineText(machine),
  ].join('\n');
}
