/** The demo's story, act by act. It gives the commands and collects what the records say; judging is checks.ts. */
import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LaunchedRun } from '../../client/client.js';
import { BatonError } from '../../domain/errors.js';
import { sha256 } from '../../store/canonical.js';
import { Accidents } from './accidents.js';
import { NOTES, type Facts } from './facts.js';
import { killInTheMiddle } from './kill.js';
import { answerLost, killPublishing, publicationAtEnd } from './publish.js';
import { endOf, isWaiting, quietSnapshot, savedNotes } from './records.js';
import { bar, type Reporter } from './reporter.js';
import { FIRST_CLASS, packageRoot, PUBLISHER_CLASS, SECOND_CLASS, type Stage } from './stage.js';

/** Nobody in the example's binding admits it. */
const WRONG_CLASS = 'accountant';
const REASON = 'its host was killed';
/** Longest wait for the lease to expire and for the end of the run, in milliseconds: for machines that are much too busy. */
const EXPIRY_LIMIT_MS = 3 * 60_000;
const END_LIMIT_MS = 15 * 60_000;

export interface Told {
  readonly run: LaunchedRun;
  readonly facts: Facts;
}

/** @throws BatonError when an act cannot go on; the signal's reason when it is interrupted */
export async function tellStory(
  stage: Stage,
  reporter: Reporter,
  project: string,
  workdir: string,
): Promise<Told> {
  const { baton } = stage;
  const published = await baton.publish({
    files: [path.join(packageRoot(), 'examples/dependency-report/baton.yaml')],
  });
  reporter.step(`published ${published.map(({ kind, ref }) => `${kind} ${ref}`).join(', ')}`);
  const run = await baton.launch({
    package: 'dependency-report',
    input: { project, publisher: stage.publisher.url },
  });
  reporter.step(`launched run ${run.run}${run.ui ? `: ${run.ui}` : ''}`);

  const accidents = new Accidents(stage, run, reporter);
  const { killed, packages } = await killInTheMiddle({
    stage,
    run,
    accidents,
    onProgress: (saved, of, worker) => reporter.progress(`notes ${bar(saved, of)} by ${worker}`),
  });
  reporter.step(`SIGKILL to the ${FIRST_CLASS} host after ${killed.saved} of ${packages} notes`);

  await until(
    () => isWaiting(stage, run),
    EXPIRY_LIMIT_MS,
    'the lease of the killed host did not expire',
    stage,
    () => reporter.progress('nobody beats the lease any more; waiting for it to expire …'),
  );
  const killToRetryWaitMs = Date.now() - killed.at;
  const waiting = await quietSnapshot(stage, run);
  reporter.step(
    `the lease expired ${(killToRetryWaitMs / 1_000).toFixed(1)} s after the kill: worker lost, slot ${NOTES} waits for a reassign`,
  );

  const refused = await reassignWrongly(stage, run);
  reporter.step(`reassign to ${WRONG_CLASS}: refused, ${refused.code}`);

  const commandId = randomUUID();
  const answer = await run.slot(NOTES).reassign({ workerClass: SECOND_CLASS, reason: REASON, commandId });
  reporter.step(
    `reassign to ${SECOND_CLASS}: slot ${NOTES} is open again, with the same run, pins and history`,
  );

  const kill = await publishIntoSilence(stage, run, packages, accidents, reporter);
  await finish(stage, run, accidents, reporter);
  const publication = { ...kill, ...(await publicationAtEnd(stage, run)) };
  const end = await endOf(stage, run);
  const report = await writeReport(run, end, workdir);
  const facts: Facts = {
    project,
    pins: run.pins,
    packages,
    killed,
    accidents: accidents.all,
    waiting,
    killToRetryWaitMs,
    refused,
    reassign: { commandId, reason: REASON, answer },
    end,
    published: publication,
    report,
  };
  return { run, facts };
}

async function reassignWrongly(stage: Stage, run: LaunchedRun): Promise<Facts['refused']> {
  const commandId = randomUUID();
  const answer = await run
    .slot(NOTES)
    .reassign({ workerClass: WRONG_CLASS, reason: REASON, commandId })
    .then(
      () => ({ code: 'accepted', message: 'the command was accepted' }),
      (error: unknown) => {
        if (error instanceof BatonError) return { code: error.code, message: error.message };
        throw error;
      },
    );
  return { commandId, ...answer, after: await quietSnapshot(stage, run) };
}

/** Until the publisher has committed and lost its answer; then the host that waits for it dies. */
async function publishIntoSilence(
  stage: Stage,
  run: LaunchedRun,
  packages: number,
  accidents: Accidents,
  reporter: Reporter,
): Promise<Awaited<ReturnType<typeof killPublishing>>> {
  let lost = false;
  const silence = answerLost(stage, END_LIMIT_MS).then(() => void (lost = true));
  const done = async (): Promise<boolean> => {
    await accidents.mend();
    const saved = await savedNotes(stage, run);
    const noting = saved < packages;
    reporter.progress(
      noting ? `notes ${bar(saved, packages)}, now by the ${SECOND_CLASS} host` : 'writing and publishing …',
    );
    return lost;
  };
  await Promise.race([
    until(done, END_LIMIT_MS, 'the report was not published', stage),
    silence.then(() => new Promise<void>(() => undefined)),
  ]);
  const kill = await killPublishing(stage, run);
  reporter.step(
    `the publisher has committed, and its answer is lost: SIGKILL to the ${PUBLISHER_CLASS} host that waits for it`,
  );
  await stage.startPublishing(`${PUBLISHER_CLASS}-2`);
  reporter.step(`another ${PUBLISHER_CLASS} host is up; once the lease has expired it may claim by itself`);
  return kill;
}

/** Waits for the end of the run. */
async function finish(
  stage: Stage,
  run: LaunchedRun,
  accidents: Accidents,
  reporter: Reporter,
): Promise<void> {
  let over = false;
  const ended = run.result().then(
    () => void (over = true),
    (error: unknown) => {
      // A failed run is no reason to stop here: the checks say what failed.
      if (!(error instanceof BatonError && error.code === 'RunFailed')) throw error;
      over = true;
    },
  );
  const done = async (): Promise<boolean> => {
    await accidents.mend();
    reporter.progress('waiting for the successor, who has to ask the publisher …');
    return over;
  };
  await Promise.race([
    until(done, END_LIMIT_MS, 'the run did not end', stage),
    // Only its rejection is of interest here.
    ended.then(() => new Promise<void>(() => undefined)),
  ]);
}

async function until(
  condition: () => Promise<boolean>,
  limitMs: number,
  otherwise: string,
  stage: Stage,
  meanwhile: () => void = () => undefined,
): Promise<void> {
  const end = performance.now() + limitMs;
  while (!(await condition())) {
    stage.signal.throwIfAborted();
    if (performance.now() > end) {
      throw new BatonError(
        'Internal',
        `${otherwise} within ${limitMs / 1_000} s. See the logs of the processes.`,
      );
    }
    meanwhile();
    await sleep(100);
  }
}

/** Copies the report out of the store, so that it outlives the demo. */
async function writeReport(run: LaunchedRun, end: Facts['end'], workdir: string): Promise<Facts['report']> {
  const row = end.artifacts.findLast((one) => one.slot === 'report' && one.name === 'report.md');
  if (!row) {
    const failure = end.attempts.findLast((one) => one.failure !== null)?.failure;
    throw new BatonError('RunFailed', `the run left no report${failure ? `: ${failure.message}` : ''}`);
  }
  const file = path.join(workdir, 'dependency-report.md');
  await writeFile(file, await run.read(row));
  return { path: file, digest: sha256(await readFile(file)) };
}
