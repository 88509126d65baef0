/** What a run of the matrix consists of, and the part of it that a filter asks for. Pure. */
import { CELLS, MEANINGLESS } from './cells.js';
import { MUSTS, type Cell, type CellResult, type Meaningless } from './model.js';
import { coveringSet } from './reassign/cover.js';
import { worded, type Combination } from './reassign/factors.js';

export const REASSIGN_ROWS = {
  domain: 'reassign: all combinations, on the pure domain',
  server: 'reassign: a covering set, on the server',
} as const;

export const DOMAIN_MUST = [
  'the verdict of the table of expectations',
  'an accepted one only reopens the slot',
];
export const SERVER_MUST = [
  ...DOMAIN_MUST,
  'a refused one leaves run state and history as they were',
  'no attempt and no lease',
];

export interface Plan {
  readonly cells: readonly Cell[];
  readonly domain: boolean;
  readonly combinations: readonly Combination[];
  readonly meaningless: readonly Meaningless[];
  /** How many results are due. */
  readonly planned: number;
}

/** @param only part of `row × victim`, in any case; absent: everything */
export function planOf(only = ''): Plan {
  const wanted = (row: string, victim: string): boolean =>
    `${row} × ${victim}`.toLowerCase().includes(only.toLowerCase());
  const cells = CELLS.filter((cell) => wanted(cell.point, cell.victim));
  const domain = wanted(REASSIGN_ROWS.domain, '–');
  const combinations = coveringSet().filter((combination) =>
    wanted(REASSIGN_ROWS.server, worded(combination)),
  );
  const meaningless = MEANINGLESS.filter((cell) => wanted(cell.point, cell.victim));
  const planned = cells.length + Number(domain) + combinations.length;
  return { cells, domain, combinations, meaningless, planned };
}

/** The result of an interruption cell. */
export const resultOf = (cell: Cell, problem: string | null, seconds: number): CellResult => ({
  row: cell.point,
  victim: cell.victim,
  must: cell.must.map((must) => MUSTS[must]),
  held: problem === null,
  problem,
  seconds: round(seconds),
});

export const round = (seconds: number): number => Math.round(seconds * 100) / 100;
