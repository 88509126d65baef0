/** `npm run load`: many runs and many hosts on one machine, hosts killed meanwhile, and whether anything was lost. */
import { writeFile } from 'node:fs/promises';
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { checkWritable, count, onProgress } from '../bench/command-line.js';
import { durationInput } from '../src/cli/input.js';
import { stopSignal } from '../src/cli/signals.js';
import { play } from './play.js';
import { exitCodeOf, reportText } from './report.js';

interface Options {
  readonly runs: number;
  readonly hosts: number;
  readonly kills: number;
  readonly atOnce?: number;
  readonly places: number;
  readonly step: number;
  readonly ttl: number;
  readonly limit: number;
  readonly json?: string;
  readonly store?: string;
  readonly address?: string;
  readonly namespace?: string;
}

const none = (text: string): number => (text === '0' ? 0 : count(text));
const duration = (text: string): number => {
  try {
    return durationInput('duration', text);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
};

const program = new Command('load')
  .description(
    'Launches many runs for many hosts, kills some of the hosts, and checks from the records that nothing was lost.',
  )
  .option('--runs <n>', 'runs to launch', count, 200)
  .option('--hosts <n>', 'host processes', count, 20)
  .option('--kills <n>', 'hosts that are killed at work; each is replaced', none, 5)
  .option('--at-once <n>', 'runs that are open at once (default: all)', count)
  .option('--places <n>', 'agents that a host runs at once', count, 1)
  .option('--step <duration>', 'how long each of a slot’s three steps takes', duration, 100)
  .option('--ttl <duration>', 'TTL of the leases', duration, 10_000)
  .option('--limit <duration>', 'longest time for all of it', duration, 1_200_000)
  .option('--json <file>', 'write settings, figures, problems and the machine to this file')
  .option('--store <url>', 'where attempts and artifacts are kept (default: a SQLite file of its own)')
  .option('--address <host:port>', 'Temporal server (default: one of its own)')
  .option('--namespace <name>', 'Temporal namespace')
  .allowExcessArguments(false)
  .exitOverride()
  .action(load);

async function load(options: Options, command: Command): Promise<void> {
  const { runs, hosts, kills, places, json, store, address, namespace } = options;
  await checkWritable(json, command, '--json');
  const stop = stopSignal();
  const interrupt = new AbortController();
  void stop.asked.then((signal) => interrupt.abort(new Error(`stopped by ${signal}`)));
  try {
    const given = { runs, hosts, kills, places, store, address, namespace, onProgress };
    const { records: _records, ...report } = await play({
      ...given,
      atOnce: options.atOnce ?? runs,
      ...{ stepMs: options.step, ttlMs: options.ttl, limitMs: options.limit },
      signal: interrupt.signal,
    });
    console.log(reportText(report));
    if (json !== undefined) await writeFile(json, `${JSON.stringify(report, null, 2)}\n`);
    process.exitCode = interrupt.signal.aborted ? 130 : exitCodeOf(report);
  } finally {
    stop.dispose();
  }
}

try {
  await program.parseAsync(process.argv);
} catch (error) {
  // Help is an answer; whatever else commander throws is wrong usage, and told by it already.
  if (!(error instanceof CommanderError)) console.error(error);
  process.exitCode = error instanceof CommanderError ? (error.exitCode === 0 ? 0 : 2) : 1;
}
// Everything that was started has been ended by now. At once: a call that was interrupted would go on trying.
process.exit();
