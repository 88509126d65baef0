/** The demo's claims, each judged from recorded facts alone: pure, so that a test can show that each one can fail. */
import { effectsOf } from './history.js';
import { countNotes, NOTES, type Facts } from './facts.js';
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
const successorOf = (facts: Facts) => {
  const rows = facts.end.rows.filter((row) => row.slot === NOTES && row.attempt !== facts.killed.attempt);
  return rows.length === 1 ? rows[0] : undefined;
};

function killedInTheMiddle({ killed, packages }: Facts): Check {
  const passed = killed.exit.signal === 'SIGKILL' && killed.saved > 0 && killed.saved < packages;
  const detail = `process ${killed.pid} ended by ${killed.exit.signal ?? `code ${killed.exit.code}`}, ${killed.saved} of ${packages} notes saved`;
  return check('the first host was killed in the middle of the notes', passed, detail);
}

function leaseExpired(facts: Facts): Check {
  const slot = facts.waiting.state.slots[NOTES];
  const row = facts.waiting.attempts.find((one) => one.attempt === facts.killed.attempt);
  const passed =
    slot?.state === 'retry-wait' &&
    slot.gate === 'reassign' &&
    slot.counts.losses === 1 &&
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
    next.number === first.number + 1;
  const detail = next
    ? `${next.worker} (${next.workerClass}), epoch ${first?.epoch} → ${next.epoch}`
    : 'no successor';
  return check('a worker of the other class claimed the same slot under a higher epoch', passed, detail);
}

function notesReused(facts: Facts): Check {
  const { reused } = countNotes(facts);
  const said = resultField(facts, 'reused');
  const passed = reused > 0 && reused === facts.killed.saved && said === reused;
  return check(
    'the successor reused every saved note',
    passed,
    `${reused} saved by the first, ${String(said)} reused by the second`,
  );
}

function onlyTheRest(facts: Facts): Check {
  const { rest, repeated, total } = countNotes(facts);
  const said = resultField(facts, 'written');
  const passed =
    repeated === 0 &&
    total === facts.packages &&
    rest === facts.packages - facts.killed.saved &&
    said === rest;
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
  const passed =
    end.shown.status === 'succeeded' &&
    end.temporalStatus === 'COMPLETED' &&
    end.shown.slots.every((slot) => slot.state === 'succeeded') &&
    counts?.claims === 2 &&
    counts.losses === 1;
  return check('the run succeeded', passed, `${slots.join(', ')}; Temporal says ${end.temporalStatus}`);
}

function reportSaved({ report, end }: Facts): Check {
  const row = end.artifacts.find((one) => one.slot === 'report' && one.name === 'report.md');
  const result = end.shown.slots.find((slot) => slot.slot === 'report')?.result;
  const named =
    typeof result === 'object' && result !== null ? (result as Record<string, unknown>)['report'] : undefined;
  const passed = row !== undefined && row.digest === report.digest && named === report.digest;
  return check('the report on disk is the artifact that the result names', passed, report.digest);
}
