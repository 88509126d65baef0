/** Tables and figures of benchmarks that stand beside bare sides. */
import Table from 'cli-table3';

/** @param rows as many cells as the head has; the first column is text, the others are figures */
export function bareTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const table = new Table({
    head: [...head],
    colAligns: head.map((_, index) => (index === 0 ? 'left' : 'right')),
    style: { head: [], border: [], compact: true },
  });
  for (const row of rows) table.push([...row]);
  return table.toString();
}

/** Three digits that count; `–` for what was not measured. */
export function figure(value: number | null): string {
  if (value === null) return '–';
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}

export const sizeText = (bytes: number): string =>
  bytes >= 2 ** 20 ? `${bytes / 2 ** 20} MiB` : `${bytes / 2 ** 10} KiB`;
