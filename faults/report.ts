/** The matrix as JSON and in numbers, and which exit code it gives. Pure. */
import type { CellResult, Meaningless } from './model.js';

export interface Report {
  /** `planned` minus `ran` did not run, because of an interruption or because what they need did not start. */
  readonly cells: {
    readonly planned: number;
    readonly ran: number;
    readonly held: number;
    readonly failed: number;
  };
  readonly rows: readonly CellResult[];
  /** Combinations that say nothing of their own, and why. */
  readonly meaningless: readonly { readonly row: string; readonly victim: string; readonly why: string }[];
  /** Other things worth knowing: why it was broken off. */
  readonly notes: readonly string[];
  readonly seconds: number;
}

export function reportOf(
  rows: readonly CellResult[],
  about: {
    readonly planned: number;
    readonly meaningless: readonly Meaningless[];
    readonly notes: readonly string[];
    readonly seconds: number;
  },
): Report {
  const held = rows.filter((row) => row.held).length;
  const { planned, meaningless, notes, seconds } = about;
  return {
    cells: { planned, ran: rows.length, held, failed: rows.length - held },
    rows,
    meaningless: meaningless.map(({ point, victim, why }) => ({ row: point, victim, why })),
    notes,
    seconds: Math.round(seconds),
  };
}

/** 0 only when every cell ran and held, and there was one. */
export function exitCodeOf({ cells }: Report): 0 | 1 {
  return cells.planned > 0 && cells.ran === cells.planned && cells.failed === 0 ? 0 : 1;
}
