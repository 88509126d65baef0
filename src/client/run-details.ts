/** What a run is, in words, for the Temporal UI: fixed at its start. */
import { head, row } from '../domain/markdown.js';
import type { RunPlan } from '../domain/types.js';
import { LISTED } from '../domain/waits.js';
import type { RunInput } from '../domain/wire.js';

/** Slots of one node that are named. */
const NAMED = 5;
/** Characters of the table, all of them ids. Temporal Cloud takes details of 20,000 bytes. */
const ROWS = 16_000;

export const runSummary = ({ tenant, pins }: RunInput): string => `${pins.package.ref} for ${tenant}`;

/** Pins, and the nodes with their slots. The whole digests are in the memo: here they would be wider than the UI's column. */
export function runDetails({ tenant, run, pins }: RunInput, plan: RunPlan): string {
  const rows = plan.nodes.map(({ node, slots, dependsOn, agent }) =>
    row([node, some(slots), some(dependsOn) || '–', `${agent.name}@${agent.revision}`]),
  );
  let size = 0;
  const shown = rows.slice(0, LISTED).filter((line) => (size += line.length) <= ROWS);
  return [
    `Run **${run}** of tenant **${tenant}**`,
    '',
    ...(['package', 'workflow', 'binding'] as const).map(
      (kind) => `- ${kind} \`${pins[kind].ref}\` ${pins[kind].digest.slice(0, 12)}…`,
    ),
    '',
    head(['node', 'slots', 'depends on', 'agent']),
    ...shown,
    ...(rows.length > shown.length ? ['', `…and ${rows.length - shown.length} more nodes.`] : []),
    // The UI gives the text less room than it needs, and would cut its last line.
    '',
    '\u00A0',
  ].join('\n');
}

const some = (names: readonly string[]): string =>
  names.length <= NAMED ? names.join(', ') : `${names.slice(0, NAMED).join(', ')} … (${names.length})`;
