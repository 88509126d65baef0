/** A collection for people. */
import type { CollectView } from '../client/collect.js';
import { counted } from '../domain/text.js';
import { line, or, table } from './render.js';

/** The rest is counted; `--json` has all of them. */
const LISTED = 50;

export function collectText(view: CollectView): string {
  const { dryRun, before, runs, rows, bytes, kept, skipped } = view;
  const would = dryRun ? 'Would remove' : 'Removed';
  const parted = Object.entries(rows).map(([part, count]) => counted(count, ...wordsOf(part)));
  const parts = [
    `${would} ${counted(runs.length, 'run')} that ended before ${before} (${parted.join(', ')}).`,
  ];
  if (runs.length > 0)
    parts.push(
      listed(
        ['run', 'status', 'ended'],
        runs.map(({ run, status, endedAt }) => [line(run), status, or(endedAt)]),
      ),
    );
  if (bytes.length === 0) parts.push(`${would} no bytes.`);
  for (const { place, objects, bytes: size } of bytes)
    parts.push(`${would} ${counted(objects, 'object')}, ${counted(size, 'byte')}, in ${line(place)}.`);
  for (const { place, why } of skipped) parts.push(`Left ${line(place)} alone: ${why}.`);
  if (kept.length > 0)
    parts.push(
      'Kept though old:',
      listed(
        ['run', 'status', 'why', ''],
        kept.map(({ run, status, why, message }) => [line(run), status, why, message]),
      ),
    );
  return parts.join('\n');
}

/** One row of a part, and where it is not that with an `s`, several. */
function wordsOf(part: string): [one: string, many?: string] {
  if (part === 'audit') return ['audit entry', 'audit entries'];
  if (part === 'voidClaims') return ['void claim'];
  return [part.slice(0, -1)];
}

function listed(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const more = rows.length - LISTED;
  const shown = table(head, rows.slice(0, LISTED));
  return more > 0 ? `${shown}\n… ${more} more` : shown;
}
