/** The demo's last words: checks, slots, attempts, notes and where to look, as one JSON document or for people. */
import Table from 'cli-table3';
import { shownAddress } from '../../store/location.js';
import type { AttemptView } from '../../agent/types.js';
import type { SlotShown } from '../../client/show.js';
import { colours as pc } from '../colours.js';
import type { Check } from './checks.js';
import { countNotes, type Accident, type NoteCounts } from './facts.js';
import type { Stage } from './stage.js';
import type { Told } from './story.js';

export interface DemoSummary {
  readonly ok: boolean;
  readonly project: string;
  readonly tenant: string;
  readonly run: string;
  readonly workflowId: string;
  readonly pins: Told['run']['pins'];
  readonly report: { readonly path: string; readonly digest: string };
  readonly notes: NoteCounts;
  /** By the publisher's own database. */
  readonly publication: {
    readonly publications: number;
    readonly sends: number;
    readonly lookups: number;
  };
  /** Leases that expired by accident: the machine stood still for longer than they lasted. */
  readonly accidents: readonly Accident[];
  readonly killToRetryWaitMs: number;
  readonly seconds: number;
  readonly slots: readonly SlotShown[];
  readonly attempts: readonly AttemptView[];
  /** `running`: whether it can still be looked at when this is read. */
  readonly server: { readonly address: string; readonly ui: string | null; readonly running: boolean };
  readonly store: { readonly url: string; readonly kept: boolean };
  readonly checks: readonly Check[];
}

export function summarise(
  told: Told,
  checks: readonly Check[],
  stage: Stage,
  at: {
    readonly project: string;
    readonly keep: boolean;
    readonly storeKept: boolean;
    readonly seconds: number;
  },
): DemoSummary {
  const { run, facts } = told;
  return {
    ok: checks.every((check) => check.passed),
    project: at.project,
    tenant: run.tenant,
    run: run.run,
    workflowId: run.workflowId,
    pins: run.pins,
    report: facts.report,
    notes: countNotes(facts),
    publication: countPublication(facts),
    accidents: facts.accidents,
    killToRetryWaitMs: facts.killToRetryWaitMs,
    seconds: at.seconds,
    slots: facts.end.shown.slots,
    attempts: facts.end.attempts,
    server: {
      address: stage.server.address,
      ui: run.ui ?? stage.server.uiUrl,
      running: at.keep || !stage.server.owned,
    },
    store: { url: shownAddress(stage.storeUrl), kept: at.storeKept },
    checks,
  };
}

function countPublication({ published }: Told['facts']): DemoSummary['publication'] {
  const { publications, requests } = published.ownerAtEnd;
  const lookups = requests.filter(({ path }) => path.endsWith('/lookup')).length;
  return { publications: publications.length, sends: requests.length - lookups, lookups };
}

/** For people; ends with the lines that they need next. */
export function renderSummary(summary: DemoSummary): string {
  const { notes, publication, accidents, server, report, checks } = summary;
  const mark = (passed: boolean): string => (passed ? pc.green('✓') : pc.red('✗'));
  const failed = checks.filter((check) => !check.passed).length;
  const ui = server.ui ?? 'unknown';
  return [
    '',
    pc.bold('Checked in the records of store, Temporal and publisher'),
    ...checks.map((check) => `${mark(check.passed)} ${check.name}\n  ${pc.dim(check.detail)}`),
    '',
    pc.bold('Slots'),
    slotTable(summary.slots),
    pc.bold('Attempts'),
    attemptTable(summary.attempts),
    `${pc.bold('Notes')}        ${notes.total}: ${notes.reused} reused, ${notes.rest} done by the successor, ${notes.repeated} done twice`,
    ...accidents.map(
      ({ slot, worker }) =>
        `${pc.bold('By accident')}  the lease of ${worker} on ${slot} expired; reassigned`,
    ),
    `${pc.bold('Published')}    ${publication.publications} by the publisher’s own count: sent ${publication.sends}, asked for ${publication.lookups}`,
    `${pc.bold('Report')}       ${report.path}`,
    `${pc.bold('Temporal UI')}  ${ui}${server.running ? '' : pc.dim(' (ended with the demo; --keep leaves it running)')}`,
    '',
    failed === 0
      ? pc.green(`All ${checks.length} checks hold, ${summary.seconds.toFixed(0)} s.`)
      : pc.red(`${failed} of ${checks.length} checks do not hold.`),
  ].join('\n');
}

const table = (head: string[]): Table.Table =>
  new Table({ head, style: { head: [], border: [], compact: true } });

function slotTable(slots: readonly SlotShown[]): string {
  const shown = table(['slot', 'state', 'spec', 'claims', 'failures', 'losses', 'releases']);
  for (const { slot, state, spec, counts } of slots) {
    shown.push([slot, state, spec.id, counts.claims, counts.failures, counts.losses, counts.releases]);
  }
  return shown.toString();
}

function attemptTable(attempts: readonly AttemptView[]): string {
  const shown = table(['slot', 'no.', 'epoch', 'worker', 'class', 'worker is', 'lease is', 'ended by']);
  for (const one of attempts) {
    const ended = one.failure?.code ?? (one.reassignedBy ? 'success, after reassign' : 'success');
    shown.push([
      one.slot,
      one.number,
      one.epoch,
      one.worker.id,
      one.workerClass,
      one.worker.status,
      one.lease.status,
      ended,
    ]);
  }
  return shown.toString();
}
