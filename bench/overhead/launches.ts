/**
 * Launch to result, side by side. Baton: `BatonClient.launch` (pins resolved in the store, the run's row written, the workflow
 * started) until `result()` has the slot's JSON. Bare: `client.workflow.execute`. Both also by the server's clock alone.
 */
import { randomUUID } from 'node:crypto';
import { workflowIdOf } from '../../src/domain/wire.js';
import type { BareInput } from './bare-workflows.js';
import { LAUNCH, SLOT } from './definitions.js';
import { eventsBeyondTheRun, phases, span, type HistoryEvent } from './history.js';
import { eventsOf, type Lab } from './lab.js';
import { medianOfRatios, orders, ratioOfMedians, spread, type Spread } from './statistics.js';

export const SIDES = ['baton', 'bare3', 'bare1'] as const;
export type Side = (typeof SIDES)[number];

interface Timed {
  readonly workflowId: string;
  /** Milliseconds since the epoch, by this process. */
  readonly sentAt: number;
  readonly answeredAt: number;
}

export interface SideOfLaunches {
  readonly events: Spread;
  readonly totalMs: Spread;
  /** Before the run's start by the server's clock, from start to end, and after the end. */
  readonly beforeStartMs: Spread;
  readonly workflowMs: Spread;
  readonly afterEndMs: Spread;
  /** Where the time from start to end went, medians in milliseconds. */
  readonly phasesMs: Readonly<Record<string, number>>;
  readonly samplesMs: readonly number[];
}

export interface Launches {
  readonly sides: Readonly<Record<Side, SideOfLaunches>>;
  readonly totalRatio: number | null;
  readonly pairRatio: number | null;
  readonly workflowRatio: number | null;
}

export const now = (): number => performance.timeOrigin + performance.now();

/** @param rounds each side is run once in a round, in every order in turn; `warmUp` rounds before count for nothing */
export async function measureLaunches(lab: Lab, rounds: number, warmUp: number): Promise<Launches> {
  const all = orders(SIDES);
  const timed: Record<Side, Timed[]> = { baton: [], bare3: [], bare1: [] };
  for (let round = -warmUp; round < rounds; round += 1) {
    for (const side of all[(round + warmUp) % all.length] ?? []) {
      const sample = await run(lab, side);
      if (round >= 0) timed[side].push(sample);
    }
  }
  // Only now: reading histories between the measurements would disturb them.
  const workflowMs: Record<Side, readonly number[]> = { baton: [], bare3: [], bare1: [] };
  const sides: Partial<Record<Side, SideOfLaunches>> = {};
  for (const side of SIDES) {
    const read = await Promise.all(
      timed[side].map(async (sample) => ({ sample, events: await eventsOf(lab.client, sample.workflowId) })),
    );
    workflowMs[side] = read.map(({ events }) => lengthOf(events));
    sides[side] = summary(read);
  }
  const totals = (side: Side): number[] => timed[side].map(({ sentAt, answeredAt }) => answeredAt - sentAt);
  return {
    sides: sides as Record<Side, SideOfLaunches>,
    totalRatio: ratioOfMedians(totals('baton'), totals('bare3')),
    pairRatio: medianOfRatios(totals('baton'), totals('bare3')),
    workflowRatio: ratioOfMedians(workflowMs.baton, workflowMs.bare3),
  };
}

async function run(lab: Lab, side: Side): Promise<Timed> {
  const id = `${side}-${randomUUID()}`;
  if (side === 'baton') {
    const sentAt = now();
    const launched = await lab.baton.launch({ package: LAUNCH.package, run: id });
    const result = await launched.result();
    const answeredAt = now();
    if (result[SLOT] !== 1) throw new Error(`run ${id} gave ${JSON.stringify(result)}`);
    return { workflowId: workflowIdOf(lab.tenant, id), sentAt, answeredAt };
  }
  const { classQueue, hostQueue, taskQueue } = lab.bare;
  const input: BareInput = { queues: side === 'bare3' ? [classQueue, hostQueue, null] : [classQueue] };
  const sentAt = now();
  const result: unknown = await lab.client.workflow.execute('bareSteps', {
    workflowId: id,
    taskQueue,
    args: [input],
  });
  const answeredAt = now();
  if (result !== input.queues.length) throw new Error(`workflow ${id} gave ${JSON.stringify(result)}`);
  return { workflowId: id, sentAt, answeredAt };
}

function lengthOf(events: readonly HistoryEvent[]): number {
  const { startedAt, endedAt } = span(events);
  return endedAt - startedAt;
}

function summary(read: readonly { sample: Timed; events: readonly HistoryEvent[] }[]): SideOfLaunches {
  const of = (value: (item: (typeof read)[number]) => number): Spread => spread(read.map(value));
  const all = read.map(({ events }) => phases(events));
  const names = [...(all[0]?.keys() ?? [])];
  return {
    events: of(({ events }) => eventsBeyondTheRun(events)),
    totalMs: of(({ sample }) => sample.answeredAt - sample.sentAt),
    beforeStartMs: of(({ sample, events }) => span(events).startedAt - sample.sentAt),
    workflowMs: of(({ events }) => lengthOf(events)),
    afterEndMs: of(({ sample, events }) => sample.answeredAt - span(events).endedAt),
    phasesMs: Object.fromEntries(
      names.map((name) => [name, spread(all.map((one) => one.get(name) ?? 0)).median]),
    ),
    samplesMs: read.map(({ sample }) => Math.round((sample.answeredAt - sample.sentAt) * 100) / 100),
  };
}
