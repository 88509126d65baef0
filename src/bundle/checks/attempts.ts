/** Attempts by the rules that hold of every run: epochs only grow, one at a time, one success, ends as they can be. Pure. */
import { ENDS } from '../../domain/attempt.js';
import { isTerminalWorker, type PlanNode } from '../../domain/types.js';
import { bytesPath } from '../layout.js';
import type { Parsed } from '../parse.js';
import type { Problems } from '../problems.js';
import { digestIfAny, teller, type Checked, type Tell } from './checked.js';

type Attempt = Parsed['attempts'][number];

/** Statuses of worker and lease that go together: while it is under way, and by how it can end. */
const PAIRS = new Set([
  'claimed provisional',
  'running live',
  ...Object.values(ENDS).map(({ worker, lease }) => `${worker} ${lease}`),
]);

export function checkAttempts(checked: Checked, problems: Problems): void {
  const { attempts } = checked.records;
  if (!attempts) return;
  const tell = teller(problems, 'attempts');
  const nodes = new Map(
    checked.plan?.nodes.flatMap((node) => node.slots.map((slot) => [slot, node] as const)),
  );
  const results = resultsIn(checked.records);
  const known = new Map<string, Attempt>();
  const leases = new Set<string>();
  const last = new Map<string, Attempt>();
  const done = new Map<string, Attempt>();
  for (const [at, attempt] of attempts.entries()) {
    const { slot, epoch, number, worker, lease } = attempt;
    const say: Tell = (field, message) => tell(`[${at}].${field}`, `${attempt.attempt}: ${message}`);
    if (known.has(attempt.attempt)) say('attempt', 'is there twice');
    if (leases.has(lease.id)) say('lease.id', `${lease.id} is another attempt's`);
    const before = last.get(slot);
    if (before && epoch <= before.epoch)
      say('epoch', `${epoch} of slot ${slot} follows ${before.epoch} of ${before.attempt}: epochs only grow`);
    if (before && number <= before.number)
      say('number', `${number} of slot ${slot} follows ${before.number} of ${before.attempt}`);
    if (before && !isTerminalWorker(before.worker.status))
      say('slot', `${before.attempt} of slot ${slot} had not ended`);
    if (!PAIRS.has(`${worker.status} ${lease.status}`))
      say('lease.status', `a worker that is ${worker.status} has no lease that is ${lease.status}`);
    if (worker.status === 'succeeded') {
      const first = done.get(slot);
      if (first) say('worker.status', `slot ${slot} was completed by ${first.attempt} already`);
      done.set(slot, attempt);
    }
    checkOrigin(attempt, nodes.get(slot), known, checked, say);
    checkResult(attempt, checked, results, say);
    known.set(attempt.attempt, attempt);
    leases.add(lease.id);
    last.set(slot, attempt);
  }
  checkShown(checked, { last, done }, teller(problems, 'run'));
}

/** Slot, specification and class are the pins'; a reassign follows an attempt of the same slot. */
function checkOrigin(
  attempt: Attempt,
  node: PlanNode | undefined,
  before: ReadonlyMap<string, Attempt>,
  { plan }: Checked,
  say: Tell,
): void {
  const { slot, spec, workerClass, predecessor, reassignedBy } = attempt;
  if (plan && !node) return say('slot', `the pinned workflow has no slot ${slot}`);
  if (node) {
    if (node.node !== attempt.node) say('node', `slot ${slot} is of node ${node.node}`);
    const pinned = node.launch.find(({ id }) => id === spec);
    if (!pinned) say('spec', `the binding has no specification ${spec} for ${node.node}`);
    else if (!pinned.workerClasses.includes(workerClass))
      say('workerClass', `specification ${spec} does not admit ${workerClass}`);
  }
  if ((predecessor === null) !== (reassignedBy === null)) say('predecessor', 'does not fit reassignedBy');
  if (predecessor !== null && before.get(predecessor)?.slot !== slot)
    say('predecessor', `no earlier attempt of slot ${slot} is ${predecessor}`);
  return undefined;
}

/** A success is one whose result was given and is there, as an artifact of that very attempt. */
function checkResult(
  attempt: Attempt,
  { sizes }: Checked,
  results: ReadonlySet<string> | null,
  say: Tell,
): void {
  const { staged, worker } = attempt;
  if (staged?.result != null && !sizes.has(staged.result))
    say('staged.result', `${bytesPath(staged.result)} is not there`);
  if (worker.status !== 'succeeded') return;
  if (attempt.endedAt === null) say('endedAt', 'is null of an attempt that succeeded');
  if (staged?.kind !== 'completion')
    return say('staged', 'its worker succeeded and has staged no completion');
  if (results && !results.has(`${attempt.attempt} ${staged.result}`))
    say('staged.result', 'is no artifact of it');
}

/** The results that were saved, each as attempt and digest. */
function resultsIn({ artifacts }: Checked['records']): ReadonlySet<string> | null {
  if (!artifacts) return null;
  const results = artifacts.filter(({ kind }) => kind === 'result');
  return new Set(results.map(({ attempt, digest }) => `${attempt} ${digest}`));
}

/** What `run.json` says of the slots against the attempts that it follows from. */
function checkShown(
  { records }: Checked,
  { last, done }: { last: ReadonlyMap<string, Attempt>; done: ReadonlyMap<string, Attempt> },
  tell: Tell,
): void {
  for (const [at, { slot, state, epoch, result }] of (records.run?.slots ?? []).entries()) {
    const [newest, by] = [last.get(slot), done.get(slot)];
    // Of an open run the attempts are read after the slots, and there may be newer ones.
    if (newest && records.run?.snapshot === false && newest.epoch > (epoch ?? 0))
      tell(`slots[${at}].epoch`, `is ${epoch}, ${newest.attempt} of slot ${slot} has ${newest.epoch}`);
    if (state !== 'succeeded') continue;
    if (!by) tell(`slots[${at}].state`, `slot ${slot} succeeded without an attempt that did`);
    else if (by.staged && digestIfAny(result ?? null) !== by.staged.result)
      tell(`slots[${at}].result`, `is not the one that ${by.attempt} gave, sha256 ${by.staged.result}`);
  }
}
