/** The matrix for people: a table for the terminal, and the same as Markdown. Pure. */
import { clean, table } from '../src/cli/render.js';
import { colours } from '../src/cli/colours.js';
import { POINTS, VICTIMS, type CellResult } from './model.js';
import { REASSIGN_ROWS } from './plan.js';
import type { Report } from './report.js';

type Mark = (result: CellResult) => string;

export function headline({ cells, seconds }: Report): string {
  const missing = cells.planned - cells.ran;
  const counted = [`${cells.held} of ${cells.planned} cells hold`, `${cells.failed} failed`];
  if (missing > 0) counted.push(`${missing} did not run`);
  return `Fault matrix: ${counted.join(', ')}, ${seconds} s.`;
}

/** Point by victim; a point of which nothing was planned is left out. */
function interruptions(report: Report, mark: Mark, notRun: string): string[][] {
  const cellOf = (point: string, victim: string): string => {
    const result = report.rows.find((row) => row.row === point && row.victim === victim);
    if (result) return mark(result);
    return report.meaningless.some((cell) => cell.row === point && cell.victim === victim) ? '–' : notRun;
  };
  return POINTS.filter((point) => report.rows.some((row) => row.row === point)).map((point) => [
    point,
    ...VICTIMS.map((victim) => cellOf(point, victim)),
  ]);
}

function reassigns(report: Report): string[][] {
  return Object.values(REASSIGN_ROWS).flatMap((name) => {
    const rows = report.rows.filter((row) => row.row === name);
    if (rows.length === 0) return [];
    return [[name, String(rows.length), String(rows.filter((row) => row.held).length)]];
  });
}

const problems = (report: Report): string[] =>
  report.rows
    .filter((row) => !row.held)
    .map((row) => `${row.row} × ${row.victim}: ${row.problem ?? 'does not hold'}`);

const footnotes = (report: Report): string[] => [
  ...report.meaningless.map((cell) => `– ${cell.row} × ${cell.victim}: ${cell.why}`),
  ...report.notes,
];

export function reportText(report: Report): string {
  const mark: Mark = ({ held, seconds }) =>
    `${held ? colours.green('holds') : colours.red('FAILED')} ${seconds.toFixed(0)} s`;
  const points = interruptions(report, mark, 'not run');
  const commands = reassigns(report);
  return [
    headline(report),
    ...(points.length > 0 ? ['', table(['interrupted', ...VICTIMS], points)] : []),
    ...(commands.length > 0 ? ['', table(['reassign', 'cells', 'hold'], commands)] : []),
    '',
    ...footnotes(report),
    ...problems(report).map((problem) => `${colours.red('FAILED')} ${clean(problem)}`),
  ].join('\n');
}

export function reportMarkdown(report: Report): string {
  const mark: Mark = ({ held }) => (held ? 'holds' : '**FAILED**');
  const points = interruptions(report, mark, 'not run');
  const commands = reassigns(report);
  const musts = [...new Set(report.rows.flatMap((row) => row.must))];
  return [
    '# Fault matrix',
    '',
    headline(report),
    '',
    ...(points.length > 0 ? [markdown(['interrupted', ...VICTIMS], points), ''] : []),
    ...(commands.length > 0 ? [markdown(['reassign', 'cells', 'hold'], commands), ''] : []),
    'Checked from store rows, Temporal’s histories, the agents’ own work log and the effect owner’s own account, each where it applies:',
    '',
    ...musts.map((must) => `- ${must}`),
    '',
    ...footnotes(report).flatMap((note) => [note, '']),
    ...(problems(report).length > 0
      ? ['## Failed', '', ...problems(report).map((line) => `- ${oneLine(line)}`), '']
      : []),
  ].join('\n');
}

const oneLine = (text: string): string => clean(text).replace(/\s+/g, ' ');

function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => oneLine(cell).replace(/\|/g, '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
