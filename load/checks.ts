/** What must hold after the load, each judged from the records alone. Pure: a test shows that each one can fail. */
import { isTerminalLease } from '../src/domain/types.js';
import type { AttemptRow } from '../src/store/port.js';
import { repeatedSteps, twoAtWork } from '../faults/work.js';
import { SLOTS, STEPS, type SlotResult } from './definitions.js';
import type { LoadRecords, RunRecords } from './records.js';

/** Everything that does not hold, in words. */
type Check = (records: LoadRecords) => readonly string[];

const everyRun =
  (check: (run: RunRecords, records: LoadRecords) => readonly string[]): Check =>
  (records) =>
    records.runs.flatMap((run) => check(run, records).map((problem) => `${run.run}: ${problem}`));
const ofSlot = ({ attempts }: RunRecords, slot: string): readonly AttemptRow[] =>
  attempts.filter((row) => row.slot === slot);
const killedAttempts = ({ kills }: LoadRecords): ReadonlySet<string> =>
  new Set(kills.flatMap((kill) => kill.attempts));

const closed = everyRun(({ temporal, status, results, problem }) => {
  if (problem !== null) return [`its caller was told: ${problem}`];
  const succeeded = temporal === 'COMPLETED' && status === 'succeeded' && results !== null;
  return succeeded ? [] : [`${temporal} in Temporal, ${status ?? 'unknown'} in the store`];
});

const oneSuccess = everyRun((run, records) => {
  const killed = killedAttempts(records);
  const strange = run.attempts.filter(({ slot }) => !(SLOTS as readonly string[]).includes(slot));
  return [
    ...strange.map((row) => `attempt ${row.attempt} is of a slot ${row.slot}`),
    ...SLOTS.flatMap((slot) => {
      const rows = ofSlot(run, slot);
      const before = rows.slice(0, -1);
      const problems = before.flatMap((row) => {
        const lost = row.workerStatus === 'lost' && row.leaseStatus === 'expired';
        return lost && killed.has(row.attempt)
          ? []
          : [`attempt ${row.attempt} of ${slot} is ${row.workerStatus}, and nobody killed its host`];
      });
      const last = rows.at(-1);
      return last?.workerStatus === 'succeeded' && last.leaseStatus === 'released'
        ? problems
        : [...problems, `the last attempt of ${slot} is ${last?.workerStatus ?? 'missing'}`];
    }),
  ];
});

/** By the store's times, which are the server's. */
const oneLease = everyRun((run) =>
  SLOTS.flatMap((slot) =>
    ofSlot(run, slot).flatMap((row, index, rows) => {
      const before = rows[index - 1];
      if (!isTerminalLease(row.leaseStatus))
        return [`the lease of ${row.attempt} is still ${row.leaseStatus}`];
      if (before === undefined) return [];
      const ended = before.endedAt ?? Number.POSITIVE_INFINITY;
      return (row.startedAt ?? 0) < ended || row.epoch <= before.epoch
        ? [`the lease of ${row.attempt} began before that of ${before.attempt} had ended`]
        : [];
    }),
  ),
);

/** By the agents' own account. */
const oneAtWork: Check = ({ work }) => twoAtWork(work);

const steps = everyRun((run, records) => {
  const killed = killedAttempts(records);
  return SLOTS.flatMap((slot) => {
    const where = `${run.run}/${slot}`;
    const lines = records.work.flatMap((line) => (line.what === 'step' && line.slot === where ? [line] : []));
    const problems: string[] = [];
    for (const step of STEPS) {
      const saved = run.artifacts.filter((row) => row.slot === slot && row.step === step);
      const ran = lines.filter((line) => line.step === step).map((line) => line.attempt);
      if (saved.length !== 1 || saved[0]?.attempt !== ran.at(-1))
        problems.push(
          `step ${step} of ${slot} was saved ${saved.length} times, run by ${ran.join(', ') || 'nobody'}`,
        );
    }
    for (const step of repeatedSteps(lines, where)) {
      const earlier = lines.filter((line) => line.step === step).slice(0, -1);
      // A reason is a kill within this very step, before its result was saved: nothing ran after it in that attempt.
      const unfounded = earlier.filter(
        ({ attempt }) =>
          !killed.has(attempt) || lines.findLast((line) => line.attempt === attempt)?.step !== step,
      );
      for (const { attempt } of unfounded)
        problems.push(`step ${step} of ${slot} was repeated after ${attempt}`);
    }
    return problems;
  });
});

const artifacts = everyRun((run) => [
  ...run.unreadable.map((digest) => `the bytes of ${digest} are gone or differ`),
  ...SLOTS.flatMap((slot) => {
    const result = run.results?.[slot] as SlotResult | null | undefined;
    if (!result) return [`slot ${slot} has no result`];
    const { digest, size } = result.artifact;
    const found = run.artifacts.some(
      (row) => row.slot === slot && row.kind === 'source' && row.digest === digest && row.size === size,
    );
    return found ? [] : [`the artifact of ${slot} is not in the store`];
  }),
]);

const handed = everyRun(({ results }) => {
  const merged = results?.['merge'] as SlotResult | null | undefined;
  const given = merged?.upstream.length ?? 0;
  return merged && given !== 3 ? [`merge was handed ${given} results instead of 3`] : [];
});

const tasks = everyRun((run) => run.failedTasks);

const kills: Check = ({ kills: done, killsPlanned }) =>
  done.length === killsPlanned ? [] : [`${done.length} hosts were killed instead of ${killsPlanned}`];

/** By what each one says when it holds. */
export const CHECKS = {
  'every run closed as succeeded': closed,
  'every slot has one succeeded attempt, and lost ones only of killed hosts': oneSuccess,
  'no two leases of a slot at once': oneLease,
  'no two agents of a slot at work at once': oneAtWork,
  'every step saved once, and repeated only if it was killed before its save': steps,
  'every artifact is there with its bytes': artifacts,
  'results were handed on': handed,
  'no workflow task failed': tasks,
  'as many hosts were killed as planned': kills,
} as const satisfies Record<string, Check>;

export type CheckName = keyof typeof CHECKS;

/** What each check found wrong; checks that hold are left out. */
export function judge(records: LoadRecords): Partial<Record<CheckName, readonly string[]>> {
  const found = Object.entries(CHECKS).map(([name, check]) => [name, check(records)] as const);
  return Object.fromEntries(found.filter(([, problems]) => problems.length > 0));
}
