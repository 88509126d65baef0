/** Attempts of all slots on one scale of time. Pure. */
import type { AttemptRecord, RunRecord } from '../bundle/records.js';
import { html, type Html } from './html.js';
import type { SlotPage } from './slots.js';
import { badge, duration, endOf, sign, when } from './words.js';

export interface Scale {
  readonly from: number;
  readonly to: number;
}

/** From the launch to the run's end, or to now of an open one. */
export function scaleOf(run: RunRecord, attempts: readonly AttemptRecord[]): Scale {
  let from = Date.parse(run.createdAt);
  let to = Date.parse(run.snapshot ? run.exportedAt : (run.endedAt ?? run.createdAt));
  // The clocks of several processes: what lies before the launch or after the end must not fall off the page.
  for (const { claimedAt, endedAt } of attempts) {
    from = Math.min(from, Date.parse(claimedAt));
    to = Math.max(to, Date.parse(endedAt ?? claimedAt));
  }
  return { from, to: Math.max(to, from + 1) };
}

const percent = ({ from, to }: Scale, at: number): number =>
  Math.round(Math.min(1, Math.max(0, (at - from) / (to - from))) * 100_000) / 1_000;

/** When the attempt was over: its recorded end, else its lease's, else it goes on. */
export function spanOf(
  attempt: AttemptRecord,
  scale: Scale,
): { readonly start: number; readonly end: number } {
  const start = Date.parse(attempt.startedAt ?? attempt.claimedAt);
  const over = attempt.endedAt ?? (attempt.worker.status === 'lost' ? attempt.lease.deadline : null);
  return { start, end: over === null ? scale.to : Date.parse(over) };
}

const TICKS = 5;

export function timeline(pages: readonly SlotPage[], scale: Scale): Html {
  const ticks = Array.from(
    { length: TICKS },
    (_, at) => scale.from + ((scale.to - scale.from) * at) / (TICKS - 1),
  );
  return html`<section aria-labelledby="timeline">
    <h2 id="timeline">Attempts on a time line</h2>
    <p>
      From <span>${when(new Date(scale.from).toISOString())}</span> to
      ${when(new Date(scale.to).toISOString())} (UTC), ${duration(scale.to - scale.from)}. ◆ is a reassign.
    </p>
    <div class="axis" aria-hidden="true">
      <span></span>
      <div class="ticks">${ticks.map((at) => html`<span>${`+${duration(at - scale.from)}`}</span>`)}</div>
    </div>
    <ol class="lanes">
      ${pages.map((page) => lane(page, scale))}
    </ol>
  </section> `;
}

const lane = ({ id, shown, attempts }: SlotPage, scale: Scale): Html =>
  html`<li>
    <div class="name"><a href="#${id}">${shown.slot}</a> ${badge(shown.state)}</div>
    <div class="track">
      ${attempts.shown.map((attempt) => [reassign(attempt, scale), bar(attempt, scale)])}
    </div>
  </li> `;

function bar(attempt: AttemptRecord, scale: Scale): Html {
  const { start, end } = spanOf(attempt, scale);
  const [left, right] = [percent(scale, start), percent(scale, end)];
  const { status, id } = attempt.worker;
  const told = `Attempt ${attempt.number} by ${id}: ${endOf(status, attempt.lease.status)}, after ${duration(end - start)}`;
  return html`<a
    class="bar ${status}"
    href="#${attempt.attempt}"
    style="left:${left}%;width:${Math.round((right - left) * 1_000) / 1_000}%"
    title="${told}"
    aria-label="${told}"
    ><span aria-hidden="true">${attempt.number}</span> ${sign(status)}
    <span aria-hidden="true">${status}</span></a
  >`;
}

/** Its reason stands in the slot's table; here only when it was. */
const reassign = ({ reassignedBy }: AttemptRecord, scale: Scale): Html | null =>
  reassignedBy &&
  html`<span class="mark" style="left:${percent(scale, Date.parse(reassignedBy.at))}%" aria-hidden="true"
    >◆</span
  >`;
