/** `npm run faults`: the fault matrix, on a real Temporal server, with real processes and real SIGKILL. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Command, CommanderError } from 'commander';
import { checkWritable, count, onProgress } from '../bench/command-line.js';
import { stopSignal } from '../src/cli/signals.js';
import { withEnds } from './ends.js';
import type { CellResult } from './model.js';
import { planOf, REASSIGN_ROWS } from './plan.js';
import { reportMarkdown, reportText } from './render.js';
import { exitCodeOf, reportOf } from './report.js';
import { runPlan } from './run.js';

interface Options {
  readonly json?: string;
  readonly markdown?: string;
  readonly only?: string;
  readonly atOnce: number;
}

const program = new Command('faults')
  .description(
    'Interrupts runs at every point by taking something away, and checks from records that every rule held.',
  )
  .option('--json <file>', 'write the cells to this file')
  .option('--markdown <file>', 'write the matrix as Markdown to this file')
  .option('--only <text>', 'only cells whose “row × victim” has this text')
  .option('--at-once <n>', 'cells that are played at once', count, 3)
  .allowExcessArguments(false)
  .exitOverride()
  .action(faults);

async function faults(options: Options, command: Command): Promise<void> {
  const plan = planOf(options.only);
  if (plan.planned === 0) command.error(`error: --only: no cell has “${options.only ?? ''}” in its name`);
  for (const file of [options.json, options.markdown]) await checkWritable(file, command);
  const from = performance.now();
  const results: CellResult[] = [];
  const interrupt = new AbortController();
  const stop = stopSignal();
  const stopped = stop.asked.then((signal) => {
    interrupt.abort();
    return signal;
  });
  const onResult = (result: CellResult): void => {
    // What breaks off because everything is being ended is no result.
    if (interrupt.signal.aborted) return;
    results.push(result);
    const line = progressOf(result);
    if (line !== null) onProgress(`[${results.length}/${plan.planned}] ${line}`);
  };
  const notes: string[] = [];
  await withEnds((atEnd) => {
    const { atOnce } = options;
    const running = runPlan({ plan, atOnce, atEnd, signal: interrupt.signal, onProgress, onResult });
    // What an interruption leaves behind fails while everything is being ended; nobody is to hear of it.
    running.catch(() => undefined);
    return Promise.race([running, stopped]);
  }).catch((error: unknown) => {
    notes.push(`Broken off: ${error instanceof Error ? error.message : String(error)}`);
  });
  if (interrupt.signal.aborted) notes.push(`Stopped by ${await stopped}.`);
  const { planned, meaningless } = plan;
  const seconds = (performance.now() - from) / 1_000;
  const report = reportOf(results, { planned, meaningless, notes, seconds });
  console.log(reportText(report));
  await put(options.json, `${JSON.stringify(report, null, 2)}\n`);
  await put(options.markdown, reportMarkdown(report));
  process.exitCode = interrupt.signal.aborted ? 130 : exitCodeOf(report);
}

/** Of the many reassigns only those that fail are worth a line. */
function progressOf({ row, victim, held, problem, seconds }: CellResult): string | null {
  if (held && row === REASSIGN_ROWS.server) return null;
  const why = problem === null ? '' : `: ${problem}`;
  return `${held ? 'holds ' : 'FAILED'} ${row} × ${victim}, ${seconds.toFixed(1)} s${why}`;
}

async function put(file: string | undefined, text: string): Promise<void> {
  if (file === undefined) return;
  await writeFile(file, text);
  console.log(`Written: ${path.resolve(file)}`);
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
