/** The figures of a load, from its records. Pure. */
import { quantile, round } from '../bench/overhead/statistics.js';
import type { LoadRecords } from './records.js';

/** Median, 95th percentile and greatest value; null when nothing was measured. */
export interface Spread95 {
  readonly n: number;
  readonly median: number;
  readonly p95: number;
  readonly max: number;
}

export interface Memory {
  /** Peaks in MiB; null where the system does not tell. */
  readonly control: number | null;
  readonly hosts: readonly number[];
}

export interface Figures {
  readonly runs: number;
  readonly attempts: number;
  readonly artifacts: number;
  /** From the first launch to the last result. */
  readonly seconds: number;
  readonly runsPerSecond: number;
  readonly attemptsPerSecond: number;
  readonly launchToResultMs: Spread95 | null;
  /** From the making of the offer that was taken until the lease is live: the wait for a free host above all. */
  readonly offerToLeaseMs: Spread95 | null;
  readonly kills: number;
  /** From SIGKILL to the end of the lease: the time to live less the age of the last beat. */
  readonly killToExpiryMs: Spread95 | null;
  /** From SIGKILL until the successor holds the lease: with the backoff, and the wait for a free host. */
  readonly killToSuccessorMs: Spread95 | null;
  readonly stepsRepeated: number;
  readonly eventsPerRun: Spread95 | null;
  readonly controlMemoryMiB: number | null;
  readonly hostMemoryMiB: Spread95 | null;
}

export function figuresOf(records: LoadRecords, memory: Memory): Figures {
  const { runs, kills, work } = records;
  const attempts = runs.flatMap((run) => run.attempts);
  const from = Math.min(...runs.map((run) => run.sentAt));
  const seconds = (Math.max(...runs.map((run) => run.answeredAt)) - from) / 1_000;
  const struck = kills.flatMap(({ at, attempts: lost }) => lost.map((attempt) => ({ at, attempt })));
  const afterKill = struck.flatMap(({ at, attempt }) => {
    const run = runs.find((one) => one.attempts.some((row) => row.attempt === attempt));
    const row = run?.attempts.find((one) => one.attempt === attempt);
    if (!run || !row?.endedAt) return [];
    const next = run.attempts.find((one) => one.slot === row.slot && one.number === row.number + 1);
    return next?.startedAt ? [{ expiry: row.endedAt - at, successor: next.startedAt - at }] : [];
  });
  const started = attempts.flatMap((row) => (row.startedAt === null ? [] : [row.startedAt - row.claimedAt]));
  const ran = work.flatMap((line) => (line.what === 'step' ? [`${line.slot} ${line.step}`] : []));
  return {
    runs: runs.length,
    attempts: attempts.length,
    artifacts: runs.flatMap((run) => run.artifacts).length,
    seconds: round(seconds),
    runsPerSecond: round(runs.length / seconds),
    attemptsPerSecond: round(attempts.length / seconds),
    launchToResultMs: spread95(runs.map((run) => run.answeredAt - run.sentAt)),
    offerToLeaseMs: spread95(started),
    kills: kills.length,
    killToExpiryMs: spread95(afterKill.map(({ expiry }) => expiry)),
    killToSuccessorMs: spread95(afterKill.map(({ successor }) => successor)),
    stepsRepeated: ran.length - new Set(ran).size,
    eventsPerRun: spread95(runs.map((run) => run.events)),
    controlMemoryMiB: memory.control === null ? null : round(memory.control),
    hostMemoryMiB: spread95(memory.hosts),
  };
}

function spread95(samples: readonly number[]): Spread95 | null {
  if (samples.length === 0) return null;
  const at = (q: number): number => round(quantile(samples, q));
  return { n: samples.length, median: at(0.5), p95: at(0.95), max: at(1) };
}
