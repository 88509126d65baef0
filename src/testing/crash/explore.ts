/** The crash explorer: kills a user's agent at every point at which it saves something, and looks at what comes of it. */
import { BatonError } from '../../domain/errors.js';
import { withLab, type Lab } from './lab.js';
import { planFor, readAll } from './plan.js';
import { pointText } from './points.js';
import { runUndisturbed, runWithKill, type Exploration, type Undisturbed } from './runs.js';
import { settingsOf } from './settings.js';
import type { CrashCell, CrashPoint, CrashReport, ExploreOptions } from './types.js';

/**
 * Runs the agent once to list its points (every step, checkpoint, artifact and result that it saves), then once per point
 * with a SIGKILL of its host right before that save and once right after it. Another host goes on when the lease has
 * expired; a slot that waits for a reassign gets one. All of it is real: server, processes, kills, leases.
 *
 * An agent holds when every run succeeds, without a failed attempt, with the results of the undisturbed run. Which steps
 * were repeated is reported, not judged: a step that was killed before its save must run again.
 *
 * @returns the report; `ok` says whether the agent held everywhere, {@link crashReportText} shows it
 * @throws BatonError `InvalidCommand` for options, a module without an agent, or a package without a slot for the agents;
 *   `AgentError` when the run does not succeed undisturbed; `TemporalUnavailable`
 */
export async function exploreCrashes(options: ExploreOptions): Promise<CrashReport> {
  const settings = settingsOf(options);
  options.signal?.throwIfAborted();
  const definitions = await readAll(options, settings.ttlMs);
  return withLab(options, settings, async (lab, classes) => {
    const { nodeOf, skipped } = await planFor(lab.store, definitions, options.package, classes);
    const exploration = { lab, options, settings, nodeOf };
    const [first] = lab.lanes;
    if (!first) throw new RangeError('there is at least one lane');
    settings.say('running undisturbed');
    const undisturbed = await runUndisturbed(exploration, first);
    const points = undisturbed.points.filter(options.only ?? (() => true));
    if (points.length === 0)
      throw BatonError.of('InvalidCommand', '`only` leaves none of the run’s points', {
        field: 'only',
        points: undisturbed.points.map(pointText).join(', '),
      });
    const cells = await runAll(exploration, points, undisturbed);
    const ok = cells.every(({ problem }) => problem === null);
    return { package: options.package, points, cells, skipped, results: undisturbed.results, ok };
  });
}

/** Each lane takes the next kill when it is done with one; the first error ends them all. */
async function runAll(
  exploration: Exploration,
  points: readonly CrashPoint[],
  undisturbed: Undisturbed,
): Promise<readonly CrashCell[]> {
  const failed = new AbortController();
  const signal = AbortSignal.any([exploration.lab.signal, failed.signal]);
  const lab: Lab = { ...exploration.lab, signal };
  const kills = points.flatMap((point) => [
    { point, when: 'before' } as const,
    { point, when: 'after' } as const,
  ]);
  const cells: CrashCell[] = [];
  let next = 0;
  const work = async (lane: Lab['lanes'][number]): Promise<void> => {
    for (let index = next++; index < kills.length; index = next++) {
      const kill = kills[index] as (typeof kills)[number];
      const cell = await runWithKill({ ...exploration, lab }, lane, kill, undisturbed);
      cells[index] = cell;
      const verdict = cell.problem === null ? 'held' : `did not hold: ${cell.problem}`;
      exploration.settings.say(
        `${index + 1} of ${kills.length}: killed ${kill.when} ${pointText(kill.point)}, ${verdict}`,
      );
    }
  };
  await Promise.allSettled(
    lab.lanes.map((lane) =>
      work(lane).catch((error: unknown) => {
        failed.abort(error);
      }),
    ),
  );
  signal.throwIfAborted();
  return cells;
}
