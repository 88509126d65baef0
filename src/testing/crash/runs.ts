/** The runs of an exploration: the undisturbed one, and one for each kill. */
import { randomBytes } from 'node:crypto';
import type { LaunchedRun } from '../../client/client.js';
import { BatonError } from '../../domain/errors.js';
import type { RunState } from '../../domain/types.js';
import type { Json } from '../../store/port.js';
import { endedByItself, follow, type FollowEnd } from './follow.js';
import { lastLines, type ExplorerHost, type Lab, type Lane } from './lab.js';
import { countCommits, effectPoints, wrongEffects } from './effects.js';
import { listPoints } from './points.js';
import { recordsOf } from './records.js';
import type { Settings } from './settings.js';
import type { CrashCell, CrashPoint, ExploreOptions } from './types.js';
import { countSteps, differences, repeatedSteps, type StepCounts } from './verdict.js';

export interface Exploration {
  readonly lab: Lab;
  readonly options: ExploreOptions;
  readonly settings: Settings;
  /** Node of each slot that is explored. */
  readonly nodeOf: ReadonlyMap<string, string>;
}

export interface Undisturbed {
  readonly points: readonly CrashPoint[];
  readonly results: Readonly<Record<string, Json>>;
  readonly steps: StepCounts;
}

/**
 * Runs the agents once without a crash.
 *
 * @throws BatonError `AgentError` when the run does not end, or an attempt of it fails
 */
export async function runUndisturbed(exploration: Exploration, lane: Lane): Promise<Undisturbed> {
  const { lab, nodeOf } = exploration;
  return withRun(exploration, lane, async (run, until) => {
    const host = await lab.startHost(lane, null);
    const end = await follow({ lab, lane, run, slots: [...nodeOf.keys()], host, until, crashed: false });
    await host.end();
    if (end.kind !== 'succeeded') {
      const why = end.kind === 'problem' ? end.why : endedByItself(host);
      throw new BatonError(
        'AgentError',
        `The run does not succeed even without a crash: ${why}. Make it succeed first (\`timeoutMs\` is how long it may take).`,
      );
    }
    const rows = await lab.store.artifacts.list(run.tenant, run.run);
    const results = await resultsOf(exploration, end.state);
    const effects = effectPoints(await lab.store.effects.list(run.tenant, run.run), nodeOf);
    const points = listPoints(rows, nodeOf, effects);
    return { value: { points, results, steps: countSteps(host.records()) }, end };
  });
}

/** Runs the agents with a host that dies at the point, and another that goes on. */
export function runWithKill(
  exploration: Exploration,
  lane: Lane,
  kill: Pick<CrashCell, 'point' | 'when'>,
  undisturbed: Undisturbed,
): Promise<CrashCell> {
  const { lab, nodeOf, options } = exploration;
  return withRun(exploration, lane, async (run, until) => {
    const common = { lab, lane, run, slots: [...nodeOf.keys()], until };
    const victim = await lab.startHost(lane, kill);
    const killed = await follow({ ...common, host: victim, crashed: false });
    let end = killed;
    let problem = problemBefore(killed, victim);
    let heir: ExplorerHost | null = null;
    if (problem === null) {
      heir = await lab.startHost(lane, null);
      end = await follow({ ...common, host: heir, crashed: true });
      if (end.kind === 'problem') problem = end.why;
      if (end.kind === 'host-ended') problem = endedByItself(heir);
    }
    await Promise.all([victim.end(), heir?.end()]);
    const finished = end.kind === 'succeeded';
    const wrong =
      end.kind === 'succeeded'
        ? differences(undisturbed.results, await resultsOf(exploration, end.state), options.equal)
        : [];
    const effects = await countCommits(await lab.store.effects.list(run.tenant, run.run), options.commits);
    // One that was done twice is worth telling whatever else went wrong.
    const all = [...(problem === null ? wrong : [problem]), ...wrongEffects(effects)];
    problem = all.length > 0 ? all.join('; ') : null;
    const records = [...victim.records(), ...(heir?.records() ?? [])];
    const cell: CrashCell = {
      ...kill,
      finished,
      status: end.state?.status ?? 'running',
      attempts: end.state?.slots[kill.point.slot]?.number ?? 0,
      repeated: repeatedSteps(countSteps(records), undisturbed.steps),
      effects,
      sameResults: finished ? wrong.length === 0 : null,
      problem,
    };
    return { value: cell, end };
  });
}

/** What went wrong before the kill, or instead of it; null when the host died as it should. */
function problemBefore(end: FollowEnd, victim: ExplorerHost): string | null {
  const apart = 'do runs disturb each other? (give each its own `input`, which may be a function)';
  if (end.kind === 'problem') return `before the kill, ${end.why}; ${apart}`;
  if (end.kind === 'succeeded')
    return 'nothing was killed, for the run never came to this point: steps and saves must have the same names in every run';
  if (recordsOf(victim.records(), 'kill').length === 0) return endedByItself(victim);
  const signal = victim.exit()?.signal;
  return signal === 'SIGKILL'
    ? null
    : `the host ended by ${signal}, not by its kill; ${lastLines(victim.child)}`;
}

/** Launches a run for `use`, and leaves none behind that is open: the lane's next run has its queue for itself. */
async function withRun<T>(
  { lab, options, settings }: Exploration,
  lane: Lane,
  use: (run: LaunchedRun, until: number) => Promise<{ value: T; end: FollowEnd }>,
): Promise<T> {
  const { input } = options;
  const given = typeof input === 'function' ? await input() : (input ?? null);
  const id = `crash-${randomBytes(6).toString('hex')}`;
  const run = await lane.baton.launch({ package: options.package, run: id, input: given });
  let open = true;
  try {
    const { value, end } = await use(run, performance.now() + settings.timeoutMs);
    open = end.state?.status !== 'succeeded';
    return value;
  } finally {
    if (open) await terminate(lab, run);
  }
}

async function terminate({ temporal }: Lab, { workflowId }: LaunchedRun): Promise<void> {
  const end = (): Promise<unknown> =>
    temporal.client.workflow.getHandle(workflowId).terminate('the crash explorer is done with it');
  // One that has ended meanwhile, or a server that has, needs none.
  await temporal.client.withDeadline(Date.now() + 5_000, end).catch(() => undefined);
}

async function resultsOf(
  { lab: { store }, nodeOf }: Exploration,
  { slots }: RunState,
): Promise<Readonly<Record<string, Json>>> {
  const results = [...nodeOf.keys()].map(async (slot): Promise<[string, Json]> => {
    const digest = slots[slot]?.result ?? null;
    if (digest === null) return [slot, null];
    return [slot, JSON.parse(new TextDecoder().decode(await store.artifacts.readBytes(digest))) as Json];
  });
  return Object.fromEntries(await Promise.all(results));
}
