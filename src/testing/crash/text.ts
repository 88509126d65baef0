/** A report to read: for a terminal, and as Markdown. */
import Table from 'cli-table3';
import { pointText } from './points.js';
import type { CrashCell, CrashReport } from './types.js';

const HEAD = ['killed', 'point', 'run', 'attempts', 'repeated', 'effects', 'held'];

/** For a terminal or a test's message; no colours. */
export function crashReportText(report: CrashReport): string {
  const table = new Table({ head: HEAD, style: { head: [], border: [] } });
  for (const cell of report.cells) table.push(row(cell));
  return [headline(report), table.toString(), ...problems(report), ...skipped(report)].join('\n');
}

/** The same as Markdown, for a pull request or a build's summary. */
export function crashReportMarkdown(report: CrashReport): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
  const table = [line(HEAD), line(HEAD.map(() => '---')), ...report.cells.map((cell) => line(row(cell)))];
  const rest = [...problems(report), ...skipped(report)].map((text) => `- ${text.replaceAll('\n', '\n  ')}`);
  return [headline(report), '', ...table, ...(rest.length > 0 ? ['', ...rest] : []), ''].join('\n');
}

function headline({ package: name, points, cells }: CrashReport): string {
  const held = cells.filter(({ problem }) => problem === null).length;
  return `Crashes of ${name}: ${points.length} points, ${cells.length} kills, ${held} held.`;
}

function row({ when, point, finished, attempts, repeated, effects, problem }: CrashCell): string[] {
  const again = repeated.map(({ slot, step, times }) => {
    const where = slot === point.slot ? '' : ` of slot ${slot}`;
    return `${step}${where} ×${times}`;
  });
  return [
    when,
    pointText(point),
    finished ? 'finished' : 'not finished',
    String(attempts),
    again.join(', ') || 'nothing',
    effects.map(({ effect, times }) => `${effect} ×${times ?? '?'}`).join(', ') || 'none',
    problem === null ? 'yes' : 'NO',
  ];
}

const problems = ({ cells }: CrashReport): readonly string[] =>
  cells.flatMap(({ when, point, problem }) =>
    problem === null ? [] : [`Killed ${when} ${pointText(point)}: ${problem}`],
  );

const skipped = (report: CrashReport): readonly string[] =>
  report.skipped.map(({ slot, why }) => `Not explored: slot ${slot} ${why}.`);
