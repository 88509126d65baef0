/** A collection for people. */
import type { CollectView } from '../client/collect.js';
import { line, or, table } from './render.js';

/** The rest is counted; `--json` has all of them. */
const LISTED = 50;

export function collectText(view: CollectView): string {
  const { dryRun, before, runs, rows, bytes, kept, skipped } = view;
  const would = dryRun ? 'Would remove' : 'Removed';
  const counted = Object.entries(rows).map(([part, count]) => many(count, WORDS[part] ?? part));
  const parts = [
    `${would} ${many(runs.length, 'runs')} that ended before ${before} (${counted.join(', ')}).`,
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
    parts.push(`${would} ${many(objects, 'objects')}, ${many(size, 'bytes')}, in ${line(place)}.`);
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

const WORDS: Readonly<Record<string, string>> = { audit: 'audit entries', voidClaims: 'void claims' };

const many = (count: number, words: string): string =>
  `${count} ${count === 1 ? words.replace(/ies$/, 'y').replace(/s$/, '') : words}`;

function listed(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const more = rows.length - LISTED;
  const shown = table(head, rows.slice(0, LISTED));
  return more > 0 ? `${shown}\n… ${more} more` : shown;
}
