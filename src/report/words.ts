/** How times, sizes, values and statuses are written in the report. Pure. */
import type { LeaseStatus, RunStatus, SlotState, WorkerStatus } from '../domain/types.js';
import { html, type Html } from './html.js';

/** A sign beside each word, so that nothing is told by colour alone. */
const SIGNS: Readonly<Record<WorkerStatus | SlotState | RunStatus, string>> = {
  claimed: '○',
  running: '▶',
  succeeded: '✓',
  failed: '✕',
  released: '↩',
  lost: '⚠',
  cancelled: '■',
  terminated: '■',
  blocked: '⋯',
  open: '○',
  claiming: '○',
  active: '▶',
  'on-hold': '‖',
  'retry-wait': '↻',
};

export type Status = keyof typeof SIGNS;

/** Signs are for the eye: the word beside them is what is read out. */
export const sign = (status: Status): Html => html`<span aria-hidden="true">${SIGNS[status]}</span>`;

export const badge = (status: Status): Html =>
  html`<span class="badge ${status}">${sign(status)} ${status}</span>`;

/** The worker's end and what became of its lease, where that says more. */
export const endOf = (worker: WorkerStatus, lease: LeaseStatus): string =>
  worker === 'lost' || worker === 'cancelled' ? `${worker}, lease ${lease}` : worker;

/** UTC to the second: `2026-01-31 12:00:00`. */
export const when = (iso: string | null): Html | string =>
  iso === null ? '–' : html`<time datetime="${iso}">${iso.slice(0, 19).replace('T', ' ')}</time>`;

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

/** The two largest units: `2h 5m`; below ten seconds with a decimal. */
export function duration(ms: number): string {
  if (ms < 10_000) return `${(Math.max(0, ms) / 1_000).toFixed(1)}s`;
  const parts: string[] = [];
  let rest = Math.round(ms / 1_000) * 1_000;
  for (const [name, size] of UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count}${name}`);
  }
  return parts.slice(0, 2).join(' ');
}

export function bytes(size: number): string {
  if (size < 1_024) return `${size} B`;
  for (const [name, unit] of [
    ['KiB', 1_024],
    ['MiB', 1_024 ** 2],
    ['GiB', 1_024 ** 3],
  ] as const)
    if (size < unit * 1_024) return `${(size / unit).toFixed(1)} ${name}`;
  return `${(size / 1_024 ** 4).toFixed(1)} TiB`;
}

/** At most so many code points. */
export function clip(text: string, most: number): string {
  // A code point is two units at most, so that this has one more than is shown, if there is one.
  const chars = Array.from(text.slice(0, 2 * most + 2));
  return chars.length > most ? `${chars.slice(0, most).join('')}…` : text;
}

/** The beginning of a value's JSON; what it holds is for the run's people, the page may go further. */
export const preview = (value: unknown, most: number): Html | string =>
  value === null || value === undefined ? '–' : html`<code>${clip(JSON.stringify(value), most)}</code>`;
