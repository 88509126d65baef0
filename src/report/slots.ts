/** Each slot with its attempts, what they saved, and its effects. Pure. */
import type { EffectView } from '../agent/types.js';
import type { ArtifactRecord, AttemptRecord, RunRecords } from '../bundle/records.js';
import type { SlotShown } from '../client/show.js';
import { effectLabel, isOpenEffect } from '../domain/effect.js';
import { counted } from '../domain/text.js';
import { html, type Html } from './html.js';
import { newest, type Cut, type Limits } from './limits.js';
import { spanOf, type Scale } from './timeline.js';
import { badge, bytes, clip, duration, endOf, preview, sign, when } from './words.js';

export interface SlotPage {
  /** Of its place on the page. */
  readonly id: string;
  readonly shown: SlotShown;
  readonly attempts: Cut<AttemptRecord>;
  readonly artifacts: Cut<ArtifactRecord>;
  readonly effects: Cut<EffectView>;
}

export function slotPages(
  { run, attempts, artifacts, effects }: RunRecords,
  limits: Limits,
): readonly SlotPage[] {
  const [attemptsOf, artifactsOf, effectsOf] = [group(attempts), group(artifacts), group(effects)];
  return run.slots.map((shown, at) => ({
    id: `slot-${at + 1}`,
    shown,
    attempts: newest(attemptsOf.get(shown.slot) ?? [], limits.attempts),
    artifacts: newest(artifactsOf.get(shown.slot) ?? [], limits.artifacts),
    effects: newest(effectsOf.get(shown.slot) ?? [], limits.effects),
  }));
}

function group<R extends { readonly slot: string }>(rows: readonly R[]): ReadonlyMap<string, readonly R[]> {
  const bySlot = new Map<string, R[]>();
  for (const row of rows) {
    const known = bySlot.get(row.slot);
    if (known) known.push(row);
    else bySlot.set(row.slot, [row]);
  }
  return bySlot;
}

export function slotSection(page: SlotPage, scale: Scale, limits: Limits, open: boolean): Html {
  const { id, shown, attempts, artifacts, effects } = page;
  const { claims, failures, losses, releases } = shown.counts;
  const facts: readonly (readonly [string, Html | string])[] = [
    ['Node', shown.node],
    ['Specification', `${shown.spec.id} (${shown.spec.workerClasses.join(', ')}, ${shown.spec.dispatch})`],
    ['Counts', `claims ${claims}, failures ${failures}, losses ${losses}, releases ${releases}`],
    ...(shown.waitsFor ? [['Waits for', clip(shown.waitsFor, limits.text)] as const] : []),
    ...(shown.hold
      ? [['Held by', clip(`${shown.hold.actor}: ${shown.hold.reason}`, limits.text)] as const]
      : []),
    ...(shown.reassignReason ? [['Reassigned', clip(shown.reassignReason, limits.text)] as const] : []),
    ...(shown.state === 'succeeded' ? [['Result', preview(shown.result, limits.text)] as const] : []),
    ...(shown.failure
      ? [['Failure', clip(`${shown.failure.code}: ${shown.failure.message}`, limits.text)] as const]
      : []),
  ];
  return html`<details class="slot" id="${id}" ${open ? OPEN : null}>
    <summary>
      <h3>${shown.slot}</h3>
      ${badge(shown.state)} ${shown.expired ? 'lease expired ' : ''}<span class="dim"
        >${counted(attempts.shown.length + attempts.left, 'attempt')}</span
      >
    </summary>
    <dl>
      ${facts.map(
        ([name, value]) =>
          html`<div>
            <dt>${name}</dt>
            <dd>${value}</dd>
          </div>`,
      )}
    </dl>
    ${table('Attempts', ['No.', 'Epoch', 'Worker', 'Specification', 'Started', 'Took', 'End', 'Why', 'Reassigned to it'], attempts, (row) => attemptRow(row, scale, limits))}
    ${table('Artifacts', ['Attempt', 'Kind', 'Name', 'Size', 'Type', 'Tags', 'sha256'], artifacts, (row) => artifactRow(row, limits))}
    ${table('Effects', ['Name', 'State', 'Receipt or failure', 'Settled by', 'Attempt'], effects, (row) => effectRow(row, limits))}
  </details> `;
}

const OPEN = html`open`;

/** Nothing for an empty list. */
function table<R>(caption: string, head: readonly string[], rows: Cut<R>, row: (of: R) => Html): Html | null {
  if (rows.shown.length === 0) return null;
  const left = rows.left > 0 ? `, the newest ${rows.shown.length} of ${rows.shown.length + rows.left}` : '';
  return html`<div class="scroll">
    <table>
      <caption>
        ${caption}${left}
      </caption>
      <thead>
        <tr>
          ${head.map((name) => html`<th scope="col">${name}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.shown.map(row)}
      </tbody>
    </table>
  </div>`;
}

function attemptRow(attempt: AttemptRecord, scale: Scale, limits: Limits): Html {
  const { worker, lease, failure, reassignedBy, ownerActor, workerClass } = attempt;
  const { start, end } = spanOf(attempt, scale);
  const by = reassignedBy && {
    who: `${reassignedBy.actor}, for ${reassignedBy.workerClass} (${reassignedBy.fromSpec} → ${reassignedBy.toSpec})`,
    why: clip(reassignedBy.reason, limits.text),
  };
  return html`<tr id="${attempt.attempt}">
    <td>${attempt.number}</td>
    <td>${attempt.epoch}</td>
    <td>
      ${worker.id}<br /><span class="dim">${workerClass}${ownerActor ? `, of ${ownerActor}` : ''}</span>
    </td>
    <td>${attempt.spec}</td>
    <td>${when(attempt.startedAt)}</td>
    <td>${duration(end - start)}</td>
    <td>${sign(worker.status)} ${endOf(worker.status, lease.status)}</td>
    <td>${failure ? clip(`${failure.code}: ${failure.message}`, limits.text) : '–'}</td>
    <td>${by ? html`${by.why}<br /><span class="dim">${by.who}, ${when(reassignedBy.at)}</span>` : '–'}</td>
  </tr> `;
}

function artifactRow(artifact: ArtifactRecord, limits: Limits): Html {
  const { number, kind, name, size, mediaType, tags, digest, trust } = artifact;
  const doubt =
    trust === 'committed'
      ? null
      : html`<br /><span class="dim">⚠ saved after its attempt’s last renewal</span>`;
  return html`<tr>
    <td>${number}</td>
    <td>${kind}</td>
    <td>${clip(name, limits.text)}${doubt}</td>
    <td>${bytes(size)}</td>
    <td>${mediaType}</td>
    <td>${clip(tags.join(', '), limits.text)}</td>
    <td><code title="${digest}">${digest.slice(0, 12)}…</code></td>
  </tr> `;
}

function effectRow(effect: EffectView, limits: Limits): Html {
  const { state, receipt, failure, resolvedBy } = effect;
  const said = resolvedBy && `${resolvedBy.actor}: ${resolvedBy.outcome}, ${resolvedBy.reason}`;
  const outcome = failure
    ? clip(`${failure.code}: ${failure.message}`, limits.text)
    : preview(receipt, limits.text);
  const open = isOpenEffect(state) ? '⚠ outcome not known: ' : '';
  return html`<tr>
    <td>${clip(effectLabel(effect), limits.text)}</td>
    <td>${open}${state}</td>
    <td>${outcome}</td>
    <td>${said ? clip(said, limits.text) : '–'}</td>
    <td><a href="#${effect.attempt}">${effect.attempt}</a></td>
  </tr> `;
}
