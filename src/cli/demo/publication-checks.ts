/** The demo's claims about its one effect: what the owner's own database says, against what the run believes. Pure. */
import { digestOf } from '../../store/canonical.js';
import type { Check } from './checks.js';
import { attemptsOf, PUBLISH, type Facts } from './facts.js';

/** Every check of the last node, in the order of the story. */
export function judgePublication(facts: Facts): Check[] {
  return [
    killedAfterCommit(facts),
    askedAndNotSentAgain(facts),
    publishedOnce(facts),
    receiptIsTheOwners(facts),
  ];
}

const SEND = '/publications';
const LOOKUP = '/publications/lookup';

function killedAfterCommit({ published }: Facts): Check {
  const { killed, ownerAtKill } = published;
  // One that lost its lease by accident before it sent leaves a successor who asks first.
  const sends = ownerAtKill.requests.filter(({ path }) => path === SEND);
  const sent = ownerAtKill.requests.at(-1);
  const passed =
    killed.exit.signal === 'SIGKILL' &&
    ownerAtKill.publications.length === 1 &&
    sends.length === 1 &&
    sent?.path === SEND &&
    sent.status === null;
  const detail = `process ${killed.pid} ended by ${killed.exit.signal ?? `code ${killed.exit.code}`}; the publisher had ${ownerAtKill.publications.length} publication, its answer ${sent?.status === null ? 'lost' : 'sent'}`;
  return {
    name: 'the publishing host was killed after the publisher committed and before it knew',
    passed,
    detail,
  };
}

function askedAndNotSentAgain({ published }: Facts): Check {
  const later = published.ownerAtEnd.requests.slice(published.ownerAtKill.requests.length);
  const asked = later.filter(({ path }) => path === LOOKUP).length;
  const sent = later.filter(({ path }) => path === SEND).length;
  const keys = new Set(published.ownerAtEnd.requests.map(({ key }) => key)).size;
  return {
    name: 'the successor asked the publisher by the same key, and did not send again',
    passed: asked >= 1 && sent === 0 && keys === 1,
    detail: `asked ${asked} times, sent ${sent} times, ${keys} key`,
  };
}

function publishedOnce({ published, report }: Facts): Check {
  const { publications } = published.ownerAtEnd;
  const passed =
    publications.length === 1 &&
    publications[0]?.digest === report.digest &&
    published.served === report.digest;
  return {
    name: 'by the publisher’s own count the report was published once',
    passed,
    detail: `${publications.length} publication, ${published.served === report.digest ? 'serving the report' : 'serving something else'}`,
  };
}

function receiptIsTheOwners({ published, end }: Facts): Check {
  const [effect] = published.ownerAtEnd.effects;
  const rows = attemptsOf({ end }, PUBLISH);
  const result = end.shown.slots.find((slot) => slot.slot === PUBLISH)?.result as
    Readonly<Record<string, unknown>> | null | undefined;
  const receipt = effect?.receipt as Readonly<Record<string, unknown>> | null | undefined;
  const killed = rows.find((row) => row.attempt === published.killed.attempt);
  const last = rows.at(-1);
  const { recorded } = published;
  const passed =
    published.ownerAtEnd.effects.length === 1 &&
    effect?.state === 'committed' &&
    effect.attempt === published.killed.attempt &&
    typeof receipt?.['publication'] === 'number' &&
    result?.['publication'] === receipt['publication'] &&
    recorded.length === 1 &&
    recorded[0]?.state === 'committed' &&
    recorded[0].key === effect.key &&
    digestOf(recorded[0].receipt) === digestOf(receipt) &&
    killed?.workerStatus === 'lost' &&
    // The node retries by itself: a lease that expires by accident is one more that was lost.
    rows.slice(0, -1).every((row) => row.workerStatus === 'lost') &&
    last?.workerStatus === 'succeeded';
  const detail = `committed for ${killed?.worker} (${killed?.workerStatus}), told by ${last?.worker ?? 'nobody'}: publication ${String(result?.['publication'])}, the publisher’s ${String(receipt?.['publication'])}`;
  return {
    name: 'the run’s record and result are the publisher’s receipt for the one who died',
    passed,
    detail,
  };
}
