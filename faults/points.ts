/** How a run is brought to each interruption point, and who stands still there. */
import type { LaunchedRun } from '../src/client/client.js';
import type { Child } from '../src/server/processes.js';
import { NOISE, OTHER, WORK } from './definitions.js';
import type { Point } from './model.js';
import type { Stage } from './stage.js';
import { until } from './until.js';
import { readWork } from './work-log.js';
import type { Halt } from './worker-process.js';

export interface Placed {
  /** Who is halted at the point; null: nobody is, the run waits by itself. */
  readonly who: 'host' | 'control' | null;
  readonly halt: Halt | null;
}

const at = (when: Halt['when'], call: string, more: Partial<Halt> = {}): Halt => ({
  slot: WORK,
  nth: 1,
  ...more,
  call,
  when,
});
const host = (halt: Halt): Placed => ({ who: 'host', halt });
const control = (halt: Halt): Placed => ({ who: 'control', halt });
const nobody: Placed = { who: null, halt: null };

export const PLACED: Readonly<Record<Point, Placed>> = {
  'claimed, not attached': host(at('before', 'attempts.attach')),
  'attached, before the first line of work': host(at('after', 'attempts.attach')),
  'after a tool result, before it is saved': host(at('before', 'artifacts.save', { step: 'two' })),
  'after a tool result is saved': host(at('after', 'artifacts.save', { step: 'two' })),
  'effect, before its intent': host(at('before', 'effects.begin')),
  'effect, after its intent': host(at('after', 'effects.begin')),
  'effect, after the owner committed': host(at('before', 'effects.record', { state: 'committed' })),
  'effect, after its receipt': host(at('after', 'effects.record', { state: 'committed' })),
  'retry-wait, for an operator': nobody,
  'retry-wait, for the retry time': nobody,
  'retry-wait, reassigned and not claimed': nobody,
  'settle of a failure, before its write': control(at('before', 'attempts.settle')),
  'settle of a success, after its write': control(at('after', 'attempts.settle')),
  'continue-as-new, a claim under way': host(at('before', 'attempts.claim', { slot: OTHER })),
  'continue-as-new, lease not attached again': host(at('before', 'attempts.attach', { nth: 2 })),
};

const HALTED = /^halted /;
const READY_MS = 30_000;

/** Returns when the run is at the point. */
export async function reach(
  point: Point,
  stage: Stage,
  run: LaunchedRun,
  processes: { readonly host: Child; readonly control: Child },
): Promise<void> {
  const { who } = PLACED[point];
  if (point.startsWith('continue-as-new')) return reachRollOver(point, stage, run, processes.host);
  if (who !== null) {
    await processes[who].ready(HALTED, READY_MS);
    return;
  }
  await until('the slot waits after its first attempt', async () => {
    const slot = (await stage.state(run.run)).state.slots[WORK];
    return slot?.state === 'retry-wait' && slot.ending === null ? slot : null;
  });
}

async function reachRollOver(point: Point, stage: Stage, run: LaunchedRun, host: Child): Promise<void> {
  await until('the agent is at work', () =>
    readWork(stage.workLog).some((line) => line.what === 'step' && line.slot === WORK) ? true : null,
  );
  if (point === 'continue-as-new, a claim under way') {
    await host.ready(HALTED, READY_MS);
    return withNoise(stage, run, () =>
      until('the run wants to roll over', async () =>
        (await stage.state(run.run)).rollingOver ? true : null,
      ),
    );
  }
  return withNoise(stage, run, () => host.ready(HALTED, READY_MS));
}

/** Fills the run's history with commands on a slot beside until `reached` is done. */
async function withNoise(stage: Stage, run: LaunchedRun, reached: () => Promise<unknown>): Promise<void> {
  const over = new AbortController();
  const noise = stage.impatient().run(run.run).slot(NOISE);
  const commands = ['hold', 'releaseHold'] as const;
  // While the run rolls over a command is put off: nobody waits for the last one.
  const making = (async () => {
    for (let i = 0; !over.signal.aborted; i += 1)
      await noise[commands[i % 2] ?? 'hold']({ reason: 'to fill the history' }).catch(() => undefined);
  })();
  try {
    await reached();
  } finally {
    over.abort();
    stage.beforeClose(making);
  }
}
