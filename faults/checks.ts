/** What must hold, each judged from the records of one cell alone. Pure: a test shows that each one can fail. */
import { isTerminalLease, isTerminalWorker } from '../src/domain/types.js';
import { digestOf } from '../src/store/canonical.js';
import type { AttemptRow } from '../src/store/port.js';
import { SECOND, WORK } from './definitions.js';
import { asked, handed, once, receipt } from './effect-checks.js';
import { MUSTS, type AttemptEnd, type Cell, type Must } from './model.js';
import { startedWith, failedTasks } from './history.js';
import type { Records } from './records.js';
import { repeatedSteps, twoAtWork } from './work.js';

/** Why it does not hold, or null. */
type Check = (records: Records, cell: Cell) => string | null;

const ofWork = ({ attempts }: Records): readonly AttemptRow[] => attempts.filter((row) => row.slot === WORK);
const same = (a: unknown, b: unknown): boolean => digestOf(a) === digestOf(b);
const none = (problems: readonly string[]): string | null =>
  problems.length > 0 ? problems.join('; ') : null;

const reached: Check = ({ observed, work }, { at, point }) => {
  const saved = observed.savedBefore.flatMap((row) =>
    row.slot === WORK && row.step !== null ? [row.step] : [],
  );
  if (observed.leaseBefore !== at.lease || !same(saved, at.saved))
    return `the lease was ${observed.leaseBefore}, saved ${saved.join(', ') || 'nothing'}`;
  const { effect, commits } = observed.effectBefore;
  if (effect !== at.effect || commits !== at.commits)
    return `the effect was recorded as ${effect ?? 'nothing'}, committed ${commits} times`;
  const ran = work.some((line) => line.what === 'step' && line.step === 'two');
  return point === 'after a tool result, before it is saved' && !ran ? 'the step had no result' : null;
};

const identity: Check = ({ tenant, run, pins, row, attempts, executions, work }) => {
  const problems: string[] = [];
  const digest = digestOf(pins);
  if (row === null || digestOf(row.pins) !== digest) problems.push('the run’s row has other pins');
  for (const events of executions) {
    const input = startedWith(events);
    if (input?.tenant !== tenant || input.run !== run) problems.push('an execution is of another run');
    else if (digestOf(input.pins) !== digest) problems.push('an execution has other pins');
  }
  for (const row of attempts)
    if (row.tenant !== tenant || row.run !== run) problems.push(`attempt ${row.attempt} is of another run`);
  for (const line of work) {
    if (line.what !== 'start') continue;
    const known = attempts.find((row) => row.attempt === line.attempt);
    if (line.tenant !== tenant || line.run !== run || known?.slot !== line.slot)
      problems.push(`the agent of ${line.attempt} was given another run or slot`);
    if (line.pins !== digest) problems.push(`the agent of ${line.attempt} was given other pins`);
  }
  return none(problems);
};

const epochs: Check = ({ raw, attempts }) => {
  const all = raw.leases.map((row) => (JSON.parse(row) as { epoch: number }).epoch);
  if (new Set(all).size !== all.length) return `epochs of the slot: ${all.join(', ')}`;
  const late = attempts.filter((row, index) => {
    const before = attempts.slice(0, index).findLast((earlier) => earlier.slot === row.slot);
    return before !== undefined && (row.epoch <= before.epoch || row.number !== before.number + 1);
  });
  return none(
    late.map((row) => `epoch ${row.epoch} of attempt ${row.number} does not follow its predecessor’s`),
  );
};

/** Start and end are times of the Temporal server: a lease that starts before the one before has ended was a second one. */
const leases: Check = ({ attempts }) => {
  const problems = attempts.flatMap((row, index) => {
    const before = attempts.slice(0, index).findLast((earlier) => earlier.slot === row.slot);
    if (!isTerminalLease(row.leaseStatus)) return [`the lease of ${row.attempt} is still ${row.leaseStatus}`];
    if (before === undefined || row.startedAt === null) return [];
    const ended = before.endedAt ?? Number.POSITIVE_INFINITY;
    return row.startedAt < ended
      ? [`the lease of ${row.attempt} began before that of ${before.attempt} ended`]
      : [];
  });
  return none(problems);
};

const work: Check = (records) => none(twoAtWork(records.work));

const steps: Check = (records, { repeated }) => {
  const problems: string[] = [];
  const results = records.results?.[WORK] as Readonly<Record<string, unknown>> | null | undefined;
  for (const step of ['one', 'two', 'three']) {
    const runs = records.work.flatMap((line) =>
      line.what === 'step' && line.slot === WORK && line.step === step ? [line.attempt] : [],
    );
    const saved = records.artifacts.filter((row) => row.slot === WORK && row.step === step);
    if (saved.length !== 1 || saved[0]?.attempt !== runs.at(-1))
      problems.push(
        `step ${step} ran in ${runs.join(', ') || 'none'}, saved by ${saved.map((row) => row.attempt).join(', ') || 'none'}`,
      );
    if (results?.[step] !== saved[0]?.attempt)
      problems.push(`the result does not use what was saved for step ${step}`);
  }
  const twice = repeatedSteps(records.work, WORK);
  if (!same(twice, repeated))
    problems.push(`repeated: ${twice.join(', ') || 'none'}, expected ${repeated.join(', ') || 'none'}`);
  return none(problems);
};

const ENDS: Readonly<Record<AttemptEnd, string>> = {
  lost: 'lost/expired',
  failed: 'failed/released',
  succeeded: 'succeeded/released',
};
const attempts: Check = (records, cell) => {
  const found = ofWork(records).map((row) => `${row.workerStatus}/${row.leaseStatus}`);
  const stated = cell.attempts.map((end) => ENDS[end]);
  return same(found, stated) ? null : `${found.join(', ') || 'none'}, expected ${stated.join(', ')}`;
};

const ended: Check = ({ row, results }) =>
  row?.status === 'succeeded' && results !== null ? null : `the run is ${row?.status ?? 'unknown'}`;

const tasks: Check = ({ executions }) => none(executions.flatMap((events) => failedTasks(events)));

const kept: Check = (records) => {
  const rows = ofWork(records);
  const problems: string[] = [];
  for (const row of rows.slice(0, -1)) {
    if (!isTerminalWorker(row.workerStatus) || row.endedAt === null || row.failure === null)
      problems.push(`the end of ${row.attempt} is not on record`);
    for (const later of rows.filter((one) => one.number > row.number)) {
      const start = records.work.find((line) => line.what === 'start' && line.attempt === later.attempt);
      if (start?.what === 'start' && !start.predecessors.includes(row.attempt))
        problems.push(`the agent of ${later.attempt} was not told of ${row.attempt}`);
    }
  }
  const gone = records.observed.savedBefore.filter((row) => !records.artifacts.some((one) => same(one, row)));
  for (const row of gone) problems.push(`what ${row.attempt} saved as ${row.name} is gone`);
  for (const digest of records.unreadable) problems.push(`the bytes ${digest} cannot be read`);
  return none(problems);
};

const reassign: Check = ({ observed: { beforeReassign, afterReassign } }) => {
  if (beforeReassign === null || afterReassign === null) return 'nobody reassigned the slot';
  return same(beforeReassign, afterReassign)
    ? null
    : 'rows of attempts or leases differ before and after the reassign';
};

const claim: Check = (records) => {
  const before = records.observed.afterReassign;
  if (before === null) return 'nobody reassigned the slot';
  const added = (table: 'attempts' | 'leases'): number => records.raw[table].length - before[table].length;
  if (added('attempts') !== 1 || added('leases') !== 1)
    return `${added('attempts')} attempts and ${added('leases')} leases came after the reassign`;
  const rows = ofWork(records);
  const row = rows.at(-1);
  const fits = row?.spec === SECOND && row.workerClass === SECOND && row.reassign?.toSpec === SECOND;
  if (!row || !fits) return `the successor has class ${row?.workerClass} and specification ${row?.spec}`;
  return row.reassign.predecessor === rows.at(-2)?.attempt ? null : 'the reassign names another predecessor';
};

const unsettled: Check = ({ observed }) => {
  if (observed.unsettled?.code !== 'LeaseNotTerminal')
    return `a reassign got ${observed.unsettled?.code ?? 'no answer'}`;
  return observed.unsettled.unchanged ? null : 'the refused reassign changed run state or rows';
};

const timer: Check = (records) => {
  const { retryTime } = records.observed;
  const claimed = ofWork(records).at(-1)?.claimedAt;
  if (retryTime === null || claimed === undefined) return 'the slot had no retry time';
  return claimed >= retryTime ? null : `claimed ${retryTime - claimed} ms before the retry time`;
};

const rolled: Check = ({ executions }) => (executions.length > 1 ? null : 'the run has not continued as new');

const CHECKS: Readonly<Record<Must, Check>> = {
  reached,
  identity,
  epochs,
  leases,
  work,
  steps,
  attempts,
  ended,
  tasks,
  kept,
  reassign,
  claim,
  unsettled,
  timer,
  rolled,
  once,
  asked,
  handed,
  receipt,
};

/** All that does not hold of what the cell states, in words; null when all of it holds. */
export function judge(cell: Cell, records: Records): string | null {
  return none(
    cell.must.flatMap((must) => {
      const problem = CHECKS[must](records, cell);
      return problem === null ? [] : [`${MUSTS[must]}: ${problem}`];
    }),
  );
}
