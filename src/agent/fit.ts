/** Fits a document of several lists into a number of bytes: of each list the newest stay, and what is left out is named. Pure. */
import { bytesOf } from './markdown.js';

export interface Part {
  readonly heading: string;
  /** What stands before the items, whatever is left out. */
  readonly before?: string;
  /** The most important first: newest, or unsettled. */
  readonly items: readonly string[];
  /** Between items; a table's rows have one line break, blocks two. */
  readonly between: string;
  /** Noun for what was left out: `older attempts`. */
  readonly rest: string;
  /** Instead of items when there are none. */
  readonly empty?: string;
  /** Parts of a lower number get room first; those of one number share it item by item. */
  readonly rank: number;
}

/**
 * @param parts in the order of the document
 * @param maxBytes the document has at most as many bytes, as long as its headings alone fit
 */
export function fit(parts: readonly Part[], maxBytes: number): string {
  const kept = parts.map(() => 0);
  const open = new Set(parts.keys());
  let used = parts.reduce((sum, part) => sum + bytesOf(rendered(part, 0)) + SEPARATOR.length, 0);
  for (const rank of [...new Set(parts.map((part) => part.rank))].sort((a, b) => a - b)) {
    const sharing = [...parts.keys()].filter((index) => parts[index]?.rank === rank);
    while (sharing.some((index) => open.has(index))) {
      for (const index of sharing.filter((one) => open.has(one))) {
        const part = parts[index] as Part;
        const item = part.items[kept[index] ?? 0];
        // The line that names what is left out is counted from the start, so taking an item never costs more than it.
        const cost = item === undefined ? 0 : bytesOf(item) + part.between.length;
        if (item === undefined || used + cost > maxBytes) {
          open.delete(index);
          continue;
        }
        used += cost;
        kept[index] = (kept[index] ?? 0) + 1;
      }
    }
  }
  return `${parts.map((part, index) => rendered(part, kept[index] ?? 0)).join(SEPARATOR)}\n`;
}

const SEPARATOR = '\n\n';

function rendered({ heading, before, items, between, rest, empty }: Part, count: number): string {
  const left = items.length - count;
  const list = [before, items.slice(0, count).join(between)].filter(Boolean).join('\n');
  const body = items.length === 0 ? (empty ?? before) : list;
  const note = left > 0 ? `Left out: ${left} ${rest}.` : undefined;
  return [heading, body, note].filter(Boolean).join('\n\n');
}
