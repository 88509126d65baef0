/** What the benchmark found, as JSON and as rows of the table. Figures that are expected stand beside what was measured. */
import type { Beats } from './beats.js';
import type { Kills } from './kills.js';
import type { Launches } from './launches.js';
import type { Machine } from './machine.js';
import type { Updates } from './updates.js';
import type { Row } from './table.js';

/** Each is null when its measurement failed; `problems` says why. */
export interface Measured {
  readonly launches: Launches | null;
  readonly updates: Updates | null;
  readonly beats: Beats | null;
  readonly kills: Kills | null;
}

export interface Report {
  readonly eventsPerAttempt: number | null;
  readonly eventsPer200Beats: number | null;
  readonly eventsPerRefusal: number | null;
  readonly launchToResultRatio: number | null;
  readonly reassignAcceptedRatio: number | null;
  readonly reassignRefusedRatio: number | null;
  readonly killToRetryWaitOverTtlMs: number | null;
  readonly measured: Measured;
  readonly machine: Machine;
  readonly settings: readonly string[];
  readonly problems: Readonly<Record<string, string>>;
}

export const BEATS = 200;

export function reportOf(
  measured: Measured,
  about: Pick<Report, 'machine' | 'settings' | 'problems'>,
): Report {
  const { launches, updates, beats, kills } = measured;
  return {
    eventsPerAttempt: launches?.sides.baton.events.median ?? null,
    eventsPer200Beats: beats?.batonEvents ?? null,
    eventsPerRefusal: updates?.eventsPerRefusal.baton ?? null,
    launchToResultRatio: launches?.totalRatio ?? null,
    reassignAcceptedRatio: updates?.accepted.ratio ?? null,
    reassignRefusedRatio: updates?.refused.ratio ?? null,
    killToRetryWaitOverTtlMs: kills?.overTtlMs.median ?? null,
    measured,
    ...about,
  };
}

/** Rows of the table, of those measurements that did not fail. */
export function rowsOf({ launches, updates, beats, kills }: Measured): readonly Row[] {
  const rows: Row[] = [];
  if (launches) {
    const { baton, bare3, bare1 } = launches.sides;
    const of = (name: 'events' | 'totalMs' | 'beforeStartMs' | 'workflowMs' | 'afterEndMs') => ({
      baton: baton[name].median,
      bare3: bare3[name].median,
      bare1: bare1[name].median,
    });
    const plain = { ratio: null, limit: null };
    rows.push({
      what: 'history events per attempt',
      ...of('events'),
      ratio: null,
      limit: { of: 'baton', most: 18 },
    });
    rows.push({
      what: 'launch → result, ms',
      ...of('totalMs'),
      ratio: launches.totalRatio,
      limit: { of: 'ratio', most: 1.2 },
    });
    rows.push({ what: '  before the workflow starts, ms', ...of('beforeStartMs'), ...plain });
    rows.push({
      what: '  workflow start → end, ms',
      ...of('workflowMs'),
      ratio: launches.workflowRatio,
      limit: null,
    });
    rows.push({ what: '  after the workflow has ended, ms', ...of('afterEndMs'), ...plain });
  }
  if (updates) {
    const pair = (what: string, { batonMs, bareMs, ratio }: Updates['accepted']): Row => ({
      what,
      baton: batonMs.median,
      bare3: bareMs.median,
      bare1: null,
      ratio,
      limit: null,
    });
    rows.push(pair('accepted reassign / bare update, ms', updates.accepted));
    rows.push(pair('  that takes an offer back first, ms', updates.withdrawing));
    rows.push(pair('refused reassign / refused update, ms', updates.refused));
    rows.push({
      what: 'events per refused command',
      baton: updates.eventsPerRefusal.baton,
      bare3: updates.eventsPerRefusal.bare,
      bare1: null,
      ratio: null,
      limit: { of: 'baton', most: 0 },
    });
  }
  if (beats) {
    rows.push({
      what: `events of ${beats.beats} heartbeats`,
      baton: beats.batonEvents,
      bare3: beats.bareEvents,
      bare1: null,
      ratio: null,
      limit: { of: 'baton', most: 0 },
    });
  }
  if (kills) {
    const alone = { bare3: null, bare1: null, ratio: null };
    const limit = { of: 'baton', most: 1_000 } as const;
    rows.push({
      what: 'SIGKILL → retry-wait − TTL, ms, median',
      baton: kills.overTtlMs.median,
      ...alone,
      limit,
    });
    rows.push({ what: '  the slowest', baton: kills.overTtlMs.max, ...alone, limit });
    rows.push({
      what: '  last beat → retry-wait − TTL, ms, median',
      baton: kills.afterDeadlineMs.median,
      ...alone,
      limit: null,
    });
  }
  return rows;
}
