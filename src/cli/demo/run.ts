/** Runs the demo from empty hands to tidy folder: working folder, signals, stage, story, verdict, end of all processes. */
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { shownAddress } from '../../store/location.js';
import { BatonError } from '../../domain/errors.js';
import { DEFAULT_STORE, type Context } from '../context.js';
import { jsonText, write } from '../output.js';
import { stopSignal } from '../signals.js';
import { judge } from './checks.js';
import { Reporter } from './reporter.js';
import { packageRoot, setStage, type Stage } from './stage.js';
import { tellStory } from './story.js';
import { renderSummary, summarise } from './summary.js';

const REPORT = 'dependency-report.md';

/**
 * @returns the exit code: 0 only if every check holds, 130 when interrupted
 * @throws BatonError `InvalidCommand` for a folder without a lock, and whatever stops the story
 */
export async function runDemo(
  context: Context,
  options: { readonly project?: string; readonly keep?: boolean },
): Promise<number> {
  const started = performance.now();
  const project = projectFolder(options.project);
  const keep = options.keep === true;
  const reporter = new Reporter(context.json);
  const workdir = await mkdtemp(path.join(os.tmpdir(), 'baton-demo-'));
  const interrupt = new AbortController();
  const stop = stopSignal();
  void stop.asked.then((signal) =>
    interrupt.abort(new BatonError('Internal', `the demo was stopped by ${signal}`)),
  );
  // The demo's own store goes with it; a stated one is the user's.
  const storeUrl = context.storeUrl === DEFAULT_STORE ? undefined : context.storeUrl;
  let stage: Stage | undefined;
  let tidy = false;
  try {
    reporter.say(`Dependencies of ${project}: who works on them may die, the work goes on.\n`);
    stage = await setStage({ context, workdir, store: storeUrl, signal: interrupt.signal, reporter });
    const told = await tellStory(stage, reporter, project, workdir);
    const seconds = (performance.now() - started) / 1_000;
    const storeKept = keep || storeUrl !== undefined;
    const summary = summarise(told, judge(told.facts), stage, { project, keep, storeKept, seconds });
    reporter.done();
    if (!keep) await stage.close();
    if (context.json) await write(jsonText(summary));
    else reporter.say(renderSummary(summary));
    if (keep) await keepOpen(stage, reporter, summary.run, interrupt.signal);
    tidy = summary.ok;
    return summary.ok ? 0 : 1;
  } catch (error) {
    reporter.done();
    if (!interrupt.signal.aborted) {
      reporter.say(`Logs of the processes: ${workdir}`);
      throw error;
    }
    reporter.say('Stopped; ending all processes.');
    tidy = true;
    return 130;
  } finally {
    await stage?.close();
    stop.dispose();
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
  const { temporal, baton } = stage;
  const storeUrl = shownAddress(stage.storeUrl);
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
