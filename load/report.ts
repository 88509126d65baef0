/** What the load test tells: a table for people, the same as JSON, and an exit code. Pure. */
import { bareTable, figure } from '../bench/tables.js';
import { machineText, type Machine } from '../bench/overhead/machine.js';
import { CHECKS, type CheckName } from './checks.js';
import type { Figures, Spread95 } from './figures.js';
import type { Settings } from './play.js';

export interface LoadReport {
  /** Whether everything held. */
  readonly ok: boolean;
  readonly settings: Settings;
  readonly figures: Figures | null;
  /** What did not hold, by check; also `broken off`, when the load did not come to its end. */
  readonly problems: Partial<Record<CheckName | 'broken off', readonly string[]>>;
  readonly machine: Machine;
}

const SHOWN = 10;

export function reportText({ settings, figures, problems, machine, ok }: LoadReport): string {
  const found = Object.entries(problems).flatMap(([name, all]) => [
    `FAILED ${name}:`,
    ...all.slice(0, SHOWN).map((problem) => `  ${problem}`),
    ...(all.length > SHOWN ? [`  … and ${all.length - SHOWN} more`] : []),
  ]);
  const held = Object.keys(CHECKS).filter((name) => !(name in problems));
  return [
    ...(figures === null ? [] : [bareTable(['', 'median', 'p95', 'most'], rowsOf(figures))]),
    ...settingsText(settings),
    machineText(machine),
    ...(figures === null ? [] : held.map((name) => `holds  ${name}`)),
    ...found,
    ok ? 'Nothing was lost.' : 'NOT everything held.',
  ].join('\n');
}

/** Whole numbers as they are: a figure has three digits that count. */
const count = (value: number | null): string => (Number.isInteger(value) ? String(value) : figure(value));

function rowsOf(figures: Figures): string[][] {
  const one = (what: string, value: number | null): string[] => [what, count(value), '', ''];
  const spread = (what: string, value: Spread95 | null): string[] =>
    value === null
      ? [what, '–', '–', '–']
      : [what, figure(value.median), figure(value.p95), figure(value.max)];
  return [
    one('runs', figures.runs),
    one('attempts', figures.attempts),
    one('artifacts', figures.artifacts),
    one('first launch → last result, s', figures.seconds),
    one('runs per second', figures.runsPerSecond),
    one('attempts per second', figures.attemptsPerSecond),
    spread('launch → result, ms', figures.launchToResultMs),
    spread('offer → lease live, ms', figures.offerToLeaseMs),
    one('hosts killed', figures.kills),
    spread('SIGKILL → lease expired, ms', figures.killToExpiryMs),
    spread('SIGKILL → successor’s lease, ms', figures.killToSuccessorMs),
    one('steps that ran again', figures.stepsRepeated),
    spread('history events of a run', figures.eventsPerRun),
    one('control worker’s peak memory, MiB', figures.controlMemoryMiB),
    spread('a host’s peak memory, MiB', figures.hostMemoryMiB),
  ];
}

const settingsText = ({ hosts, places, atOnce, slots, stepMs, ttlMs, store, server }: Settings): string[] => [
  `${hosts} host processes with ${places} place(s) each, one control worker process; at most ${atOnce} runs open at once.`,
  `${slots} slots a run; each has 3 steps of ${stepMs} ms, a saved result for each, and an artifact. TTL ${ttlMs} ms, retry auto after 500 ms.`,
  `Store: ${store}. Temporal: ${server}.`,
];

export const exitCodeOf = (report: LoadReport): number => (report.ok ? 0 : 1);
