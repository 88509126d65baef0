/** The audit for people. */
import type { AuditView } from '../client/audit.js';
import { colours as pc } from './colours.js';
import { line, or, table } from './render.js';

const COLOUR = { accepted: pc.green, refused: pc.red, unknown: pc.yellow } as const;

export function auditText(entries: readonly AuditView[]): string {
  if (entries.length === 0) return 'No entries.';
  const rows = entries.map(({ entry, at, actor, command, run, slot, verdict, code, reason }) => [
    String(entry),
    at,
    line(actor),
    command,
    or(run === null ? null : [run, slot].filter((part) => part !== null).join(' ')),
    COLOUR[verdict](verdict),
    or(code),
    or(reason),
  ]);
  return table(['entry', 'at', 'actor', 'command', 'run, slot', 'verdict', 'code', 'why'], rows);
}
