/**
 * A run as one HTML page that needs nothing else: no network, no script, no other file. Everything that people or agents wrote
 * is escaped, cut and shown as text; of inputs, results and receipts the page has a beginning, of artifacts no byte. Pure.
 */
import type { AttemptRecord, RunRecord, RunRecords } from '../bundle/records.js';
import { counted } from '../domain/text.js';
import { html, type Html } from './html.js';
import { limitsFor, type Limits } from './limits.js';
import { slotPages, slotSection } from './slots.js';
import { STYLE } from './style.js';
import { scaleOf, timeline } from './timeline.js';
import { badge, clip, preview, when } from './words.js';

/** Slots of up to so many are shown unfolded. */
const UNFOLDED = 20;

/** By it a report is told from any other page. */
export const GENERATOR = 'temporal-baton report';

/** No source is allowed but the page's own style, whatever a text in it tries. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/** @returns the page: a few MB of a run of 2,000 slots, at most 15 however long and hostile its texts are */
export function reportHtml(records: RunRecords): string {
  const { run, attempts } = records;
  const limits = limitsFor(run.slots.length);
  const pages = slotPages(records, limits);
  const scale = scaleOf(run, attempts);
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="generator" content="${GENERATOR}" />
        <meta http-equiv="Content-Security-Policy" content="${POLICY}" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Run ${run.run}: ${run.status}</title>
        <style>
          ${STYLE}
        </style>
      </head>
      <body>
        <header>
          <h1>${run.run}</h1>
          <p>
            ${badge(run.status)}
            <span class="dim"
              >tenant ${run.tenant} · ${run.snapshot ? 'still open, ' : ''}as of ${when(run.exportedAt)}
              UTC</span
            >
          </p>
          ${notes(run)}
        </header>
        <main>
          ${facts(records, limits)} ${timeline(pages, scale)}
          <section aria-labelledby="slots">
            <h2 id="slots">Slots</h2>
            ${pages.map((page) => slotSection(page, scale, limits, pages.length <= UNFOLDED))}
          </section>
        </main>
      </body>
    </html> `.toString();
}

function notes({ source, server, failure, snapshot }: RunRecord): readonly Html[] {
  const told: string[] = [];
  if (failure) told.push(`${failure.code}: ${failure.message}`);
  if (snapshot && source === 'store')
    told.push('No control worker answered: gates and deadlines are not known.');
  if (snapshot && !server) told.push('No Temporal server was asked: whether leases are over is not known.');
  return told.map((text) => html`<p class="note">${clip(text, 600)}</p>`);
}

function facts({ run, attempts, artifacts, effects }: RunRecords, limits: Limits): Html {
  const pins = (['package', 'workflow', 'binding'] as const).map((kind) => {
    const { ref, digest } = run.pins[kind];
    return [`Pinned ${kind}`, html`${ref} <code title="${digest}">${digest.slice(0, 12)}…</code>`] as const;
  });
  const rows: readonly (readonly [string, Html | string])[] = [
    ['Launched', when(run.createdAt)],
    ['Ended', when(run.endedAt)],
    ...(run.deadline ? [['Deadline', when(run.deadline)] as const] : []),
    ...pins,
    ['Slots', tally(run.slots.map(({ state }) => state))],
    ['Attempts', tally(attempts.map(({ worker }: AttemptRecord) => worker.status))],
    ['Saved', `${counted(artifacts.length, 'artifact')}, ${counted(effects.length, 'effect')}`],
    ['Input', preview(run.input, limits.text)],
  ];
  return html`<section aria-label="Facts">
    <dl>
      ${rows.map(
        ([name, value]) =>
          html`<div>
            <dt>${name}</dt>
            <dd>${value}</dd>
          </div>`,
      )}
    </dl>
  </section>`;
}

/** `3: 2 succeeded, 1 lost`. */
function tally(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const each = [...counts].map(([name, count]) => `${count} ${name}`);
  return each.length === 0 ? 'none' : `${names.length}: ${each.join(', ')}`;
}
