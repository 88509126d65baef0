/** The table that people read. */
import Table from 'cli-table3';
import pc from 'picocolors';

export interface Row {
  readonly what: string;
  readonly baton: number | null;
  /** The bare workflow of three activities; in the rows of updates, the bare update. */
  readonly bare3: number | null;
  readonly bare1: number | null;
  /** Baton to bare 3. */
  readonly ratio: number | null;
  /** The expected figure: the most that this cell of the row should be. */
  readonly limit: { readonly of: 'baton' | 'ratio'; readonly most: number } | null;
}

/** Null when nothing is expected of the row or nothing was measured. */
export function isMet(row: Row): boolean | null {
  const value = row.limit && row[row.limit.of];
  return row.limit === null || value === null ? null : value <= row.limit.most;
}

const number = (value: number | null, digits = 2): string =>
  value === null ? '–' : Number.isInteger(value) ? String(value) : value.toFixed(digits);

export function tableText(rows: readonly Row[]): string {
  const table = new Table({
    head: ['', 'Baton', 'bare 3', 'bare 1', 'ratio', 'expected', 'met'],
    colAligns: ['left', 'right', 'right', 'right', 'right', 'right', 'left'],
    style: { head: [], border: [], compact: true },
  });
  for (const row of rows) {
    const met = isMet(row);
    const limit = row.limit ? `≤ ${row.limit.most}${row.limit.of === 'ratio' ? ' ×' : ''}` : '–';
    table.push([
      row.what,
      number(row.baton),
      number(row.bare3),
      number(row.bare1),
      number(row.ratio),
      limit,
      met === null ? '' : met ? pc.green('yes') : pc.red('no'),
    ]);
  }
  return table.toString();
}
