/** `baton demo`: a real job on a real Temporal server, with a host killed in the middle of it. */
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Command } from 'commander';
import { BatonError } from '../domain/errors.js';
import { judge } from './demo/checks.js';
import { Reporter } from './demo/reporter.js';
import { packageRoot, setStage, type Stage } from './demo/stage.js';
import { tellStory } from './demo/story.js';
import { renderSummary, summarise } from './demo/summary.js';

interface DemoFlags {
  readonly project?: string;
  readonly keep?: boolean;
  readonly json?: boolean;
  readonly tenant?: string;
  readonly actor?: string;
  readonly store?: string;
  readonly address?: string;
  readonly namespace?: string;
}

const REPORT = 'dependency-report.md';

/** Adds `demo` to the program. */
export function registerDemo(program: Command): void {
  program
    .command('demo')
    .description(
      "report on a project's dependencies, kill the host in the middle, hand over, check that nothing was lost",
    )
    .option('--project <dir>', 'project to report on; needs a package-lock.json (default: this project)')
    .option('--keep', 'leave server, workers and store running to look at, until Ctrl-C')
    .action(async (_: unknown, command: Command) => {
      process.exitCode = await runDemo(command.optsWithGlobals<DemoFlags>());
    });
}

/** @returns the exit code: 0 only if every check holds, 130 when interrupted */
async function runDemo(flags: DemoFlags): Promise<number> {
  const started = performance.now();
  const project = projectFolder(flags.project);
  const reporter = new Reporter(flags.json === true);
  const workdir = await mkdtemp(path.join(os.tmpdir(), 'baton-demo-'));
  const interrupt = new AbortController();
  const stopOn = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const onSignal = (signal: NodeJS.Signals): void =>
    interrupt.abort(new BatonError('Internal', `the demo was stopped by ${signal}`));
  for (const signal of stopOn) process.on(signal, onSignal);
  let stage: Stage | undefined;
  let tidy = false;
  try {
    reporter.say(`Dependencies of ${project}: who works on them may die, the work goes on.\n`);
    stage = await setStage({
      workdir,
      tenant: flags.tenant ?? 'demo',
      actor: flags.actor,
      address: flags.address,
      namespace: flags.namespace,
      store: flags.store,
      signal: interrupt.signal,
      reporter,
    });
    const told = await tellStory(stage, reporter, project, workdir);
    const checks = judge(told.facts);
    const seconds = (performance.now() - started) / 1_000;
    const storeKept = flags.keep === true || flags.store !== undefined;
    const summary = summarise(told, checks, stage, {
      project,
      keep: flags.keep === true,
      storeKept,
      seconds,
    });
    reporter.done();
    if (flags.keep !== true) await stage.close();
    if (flags.json === true) process.stdout.write(`${JSON.stringify(summary, null, 2)}\n`);
    else reporter.say(renderSummary(summary));
    if (flags.keep === true) await keepOpen(stage, reporter, summary.run, interrupt.signal);
    tidy = summary.ok;
    return summary.ok ? 0 : 1;
  } catch (error) {
    reporter.done();
    if (interrupt.signal.aborted) {
      reporter.say('Stopped; ending all processes.');
      tidy = true;
      return 130;
    }
    reporter.say(`Logs of the processes: ${workdir}`);
    throw error;
  } finally {
    await stage?.close();
    for (const signal of stopOn) process.off(signal, onSignal);
    if (tidy) await removeAllButReport(workdir);
  }
}

/** The stated folder; else this package's own when it is a checkout, else where the user is. */
function projectFolder(stated: string | undefined): string {
  const root = packageRoot();
  const hasLock = (folder: string): boolean =>
    ['package-lock.json', 'npm-shrinkwrap.json'].some((name) => existsSync(path.join(folder, name)));
  const folder = path.resolve(stated ?? (hasLock(root) ? root : process.cwd()));
  if (hasLock(folder)) return folder;
  throw BatonError.of(
    'InvalidCommand',
    '`--project` must be a folder with a package-lock.json; `npm install` there writes one',
    {
      field: 'project',
      folder,
    },
  );
}

async function keepOpen(stage: Stage, reporter: Reporter, run: string, signal: AbortSignal): Promise<void> {
  const { temporal, storeUrl, baton } = stage;
  const at = `--address ${temporal.address} --namespace ${temporal.namespace} --store ${storeUrl} --tenant ${baton.tenant}`;
  reporter.say(
    `\nAll of it runs on. Look at it in the UI, or with\n  baton show ${run} ${at}\nCtrl-C ends everything.`,
  );
  if (!signal.aborted)
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  reporter.say('Ending all processes.');
}

/** The report outlives the demo; databases and logs of one that went well are of no use to anybody. */
async function removeAllButReport(workdir: string): Promise<void> {
  const names = await readdir(workdir);
  await Promise.all(
    names
      .filter((name) => name !== REPORT)
      .map((name) => rm(path.join(workdir, name), { recursive: true, force: true })),
  );
  if (!names.includes(REPORT)) await rm(workdir, { recursive: true, force: true });
}
