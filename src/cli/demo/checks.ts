/** The demo's claims, each judged from recorded facts alone: pure, so that a test can show that each one can fail. */
import { effectsOf } from './history.js';
import { attemptsOf, countNotes, notesBy, NOTES, type Facts } from './facts.js';
import { judgePublication } from './publication-checks.js';

export interface Check {
  readonly name: string;
  readonly passed: boolean;
  /** The recorded facts that it was judged by. */
  readonly detail: string;
}

/** Every check, in the order of the story. */
export function judge(facts: Facts): Check[] {
  return [
    killedInTheMiddle(facts),
    leaseExpired(facts),
    wrongReassignRefused(facts),
    refusalChangedNothing(facts),
    reassignRecorded(facts),
    reassignReopenedOnly(facts),
    successorClaimed(facts),
    notesReused(facts),
    onlyTheRest(facts),
    pinsKept(facts),
    predecessorKept(facts),
    ...judgePublication(facts),
    runSucceeded(facts),
    reportSaved(facts),
  ];
}

const check = (name: string, passed: boolean, detail: string): Check => ({ name, passed, detail });
const rowOf = (facts: Facts, attempt: string) => facts.end.rows.find((row) => row.attempt === attempt);
/** The attempt after the one that was killed; others there may be by {@link Facts.accidents} alone. */
const successorOf = (facts: Facts) => {
  const killed = rowOf(facts, facts.killed.attempt);
  return killed && attemptsOf(facts, NOTES).find((row) => row.number === killed.number + 1);
};

/** Whether all attempts but the killed one and the last were lost, and are known as accidents. */
function onlyAccidentsElse(facts: Facts): boolean {
  const known = new Set(facts.accidents.map((one) => one.attempt));
  const others = attemptsOf(facts, NOTES).slice(0, -1);
  return others.every(
    (row) => row.workerStatus === 'lost' && (row.attempt === facts.killed.attempt || known.has(row.attempt)),
  );
}

function killedInTheMiddle({ killed, packages }: Facts): Check {
  const passed = killed.exit.signal === 'SIGKILL' && killed.saved > 0 && killed.saved < packages;
  const detail = `process ${killed.pid} ended by ${killed.exit.signal ?? `code ${killed.exit.code}`}, ${killed.saved} of ${packages} notes saved`;
  return check('the first host was killed in the middle of the notes', passed, detail);
}

function leaseExpired(facts: Facts): Check {
  const slot = facts.waiting.state.slots[NOTES];
  const row = facts.waiting.attempts.find((one) => one.attempt === facts.killed.attempt);
  const lost = facts.waiting.attempts.filter((one) => one.slot === NOTES && one.workerStatus === 'lost');
  const passed =
    slot?.state === 'retry-wait' &&
    slot.gate === 'reassign' &&
    slot.counts.losses === lost.length &&
    slot.counts.failures === 0 &&
    row?.leaseStatus === 'expired' &&
    row.workerStatus === 'lost' &&
    row.failure?.code === 'LeaseExpired';
  const detail = `${facts.killToRetryWaitMs} ms after the kill: slot ${slot?.state} (gate ${slot?.gate}), worker ${row?.workerStatus}, lease ${row?.leaseStatus}, ${row?.failure?.code}`;
  return check('its lease expired and the slot waits for a reassign', passed, detail);
}

function wrongReassignRefused({ refused }: Facts): Check {
  const passed = refused.code === 'NoCompatibleLaunchSpec';
  return check('a reassign to a class that nothing admits was refused', passed, refused.code);
}

function refusalChangedNothing({ waiting, refused, end }: Facts): Check {
  const recorded = end.history.some((event) => event.updateId?.startsWith(`${refused.commandId}.`));
  const passed =
    waiting.digest === refused.after.digest && waiting.events === refused.after.events && !recorded;
  const detail = `state and rows ${waiting.digest === refused.after.digest ? 'equal' : 'differ'}, history ${waiting.events} → ${refused.after.events} events`;
  return check('the refusal changed nothing', passed, detail);
}

function reassignRecorded(facts: Facts): Check {
  const found = facts.end.attempts.find((one) => one.attempt === successorOf(facts)?.attempt)?.reassignedBy;
  const passed =
    found?.reason === facts.reassign.reason && found.fromSpec === 'fast' && found.toSpec === 'senior';
  const detail = found
    ? `by ${found.actor}, ${found.fromSpec} → ${found.toSpec}, "${found.reason}"`
    : 'no record';
  return check('the right reassign is recorded with reason, actor and specifications', passed, detail);
}

/** A claim id is the execution's run id and the offer's activity id. */
const activityOf = (claimId: string) => claimId.slice(claimId.indexOf(':') + 1);

function reassignReopenedOnly(facts: Facts): Check {
  const { answer, commandId } = facts.reassign;
  const claim = activityOf(successorOf(facts)?.claimId ?? '');
  const effects = effectsOf(facts.end.history, commandId, claim);
  const offered = effects.scheduled.length === 1 && effects.scheduled[0]?.type === 'claimSlot';
  const passed =
    answer.state === 'retry-wait' &&
    answer.gate === 'open' &&
    effects.found &&
    offered &&
    effects.events.every((event) => /^ActivityTaskScheduled\(claimSlot\)$|^Timer/.test(event));
  const detail = `slot ${answer.state} (gate ${answer.gate}); in history: ${effects.events.join(', ') || 'nothing'}`;
  return check(
    'it reopened the slot and nothing else: an offer, no attempt, worker or lease',
    passed,
    detail,
  );
}

function successorClaimed(facts: Facts): Check {
  const first = rowOf(facts, facts.killed.attempt);
  const next = successorOf(facts);
  const passed =
    first !== undefined &&
    next !== undefined &&
    next.slot === first.slot &&
    next.workerClass === 'senior-researcher' &&
    next.worker !== first.worker &&
    next.epoch > first.epoch &&
    onlyAccidentsElse(facts) &&
    attemptsOf(facts, NOTES).at(-1)?.workerStatus === 'succeeded';
  const accidents = facts.accidents.filter((one) => one.slot === NOTES).length;
  const detail = next
    ? `${next.worker} (${next.workerClass}), epoch ${first?.epoch} → ${next.epoch}${accidents > 0 ? `; ${accidents} more lost by accident` : ''}`
    : 'no successor';
  return check('a worker of the other class claimed the same slot under a higher epoch', passed, detail);
}

function notesReused(facts: Facts): Check {
  const { reused } = countNotes(facts);
  const until = rowOf(facts, facts.killed.attempt)?.number ?? 0;
  const before = notesBy(facts, (attempt) => (rowOf(facts, attempt)?.number ?? Infinity) <= until).size;
  const said = resultField(facts, 'reused');
  const passed = before > 0 && before === facts.killed.saved && said === reused;
  return check(
    'the successor reused every saved note',
    passed,
    `${before} saved when the first died, ${String(said)} of ${reused} saved before reused by the one that finished`,
  );
}

function onlyTheRest(facts: Facts): Check {
  const { reused, rest, repeated, total } = countNotes(facts);
  const said = resultField(facts, 'written');
  const passed =
    repeated === 0 && total === facts.packages && rest === facts.packages - reused && said === rest;
  return check(
    'it repeated only the rest',
    passed,
    `${rest} new, ${repeated} done twice, ${total} of ${facts.packages} in all`,
  );
}

function resultField(facts: Facts, field: string): unknown {
  const result = facts.end.shown.slots.find((slot) => slot.slot === NOTES)?.result;
  return typeof result === 'object' && result !== null
    ? (result as Record<string, unknown>)[field]
    : undefined;
}

function pinsKept({ pins, end }: Facts): Check {
  const passed = JSON.stringify(pins) === JSON.stringify(end.shown.pins);
  return check('the pins are those of the launch', passed, end.shown.pins.binding.ref);
}

function predecessorKept(facts: Facts): Check {
  const row = rowOf(facts, facts.killed.attempt);
  const passed =
    row?.workerStatus === 'lost' && row.leaseStatus === 'expired' && row.worker === facts.killed.worker;
  return check(
    'the dead worker stays in the records as it ended',
    passed,
    `${row?.worker}: ${row?.workerStatus}, ${row?.leaseStatus}`,
  );
}

function runSucceeded({ end }: Facts): Check {
  const slots = end.shown.slots.map((slot) => `${slot.slot} ${slot.state}`);
  const counts = end.shown.slots.find((slot) => slot.slot === NOTES)?.counts;
  const claims = attemptsOf({ end }, NOTES).length;
  const passed =
    end.shown.status === 'succeeded' &&
    end.temporalStatus === 'COMPLETED' &&
    end.shown.slots.every((slot) => slot.state === 'succeeded') &&
    claims >= 2 &&
    counts?.claims === claims &&
    counts.losses === claims - 1;
  return check('the run succeeded', passed, `${slots.join(', ')}; Temporal says ${end.temporalStatus}`);
}

function reportSaved({ report, end }: Facts): Check {
  const row = end.artifacts.findLast((one) => one.slot === 'report' && one.name === 'report.md');
  const result = end.shown.slots.find((slot) => slot.slot === 'report')?.result;
  const named =
    typeof result === 'object' && result !== null ? (result as Record<string, unknown>)['report'] : undefined;
  const passed = row !== undefined && row.digest === report.digest && named === report.digest;
  return check('the report on disk is the artifact that the result names', passed, report.digest);
}
