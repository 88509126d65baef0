/** What people see of the run in the Temporal UI: the slot table and the search attributes. */
import { defineSearchAttributeKey, SearchAttributeType, type SearchAttributePair } from '@temporalio/common';
import { setCurrentDetails, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import { brief, escape, head, row } from '../src/domain/markdown.js';
import { isOver } from '../src/domain/run.js';
import type { RunState, Slot } from '../src/domain/types.js';
import { LISTED, openEffectsOf, waitingList, waitsFor } from '../src/domain/waits.js';
import type { RunInput } from '../src/domain/wire.js';

const STATUS = defineSearchAttributeKey('BatonStatus', SearchAttributeType.KEYWORD);
const WAITING = defineSearchAttributeKey('BatonWaiting', SearchAttributeType.KEYWORD_LIST);

/** Code points of a text that somebody wrote: the UI gives the table half of its width. */
const WORDS = 160;
const cell = (text: string): string => escape(brief(text, WORDS));

/**
 * What the slot waits for (when it is over: why it failed, and what is still not known of its effects), and why it was
 * reassigned last. In one column, for each of its own would be a word wide.
 */
function story(state: RunState, slot: Slot): string {
  const waits = waitsFor(state, slot);
  const now = waits === null ? [openEffectsOf(slot), slot.failure?.message] : [waits];
  const { lastReassign } = slot;
  const reassigned = lastReassign && `reassigned by ${lastReassign.actor}: ${lastReassign.reason}`;
  return [...now, reassigned].flatMap((text) => (text == null ? [] : [cell(text)])).join('; ');
}

/** How many, and how those that did not succeed have ended. */
function attemptsOf({ counts }: Slot): string {
  const ends = [
    [counts.failures, 'failed'],
    [counts.losses, 'lost'],
    [counts.releases, 'released'],
  ] as const;
  const bad = ends.filter(([count]) => count > 0).map(([count, end]) => `${count} ${end}`);
  return `${counts.claims}${bad.length > 0 ? ` (${bad.join(', ')})` : ''}`;
}

/** Class and worker; while nobody is at work, the class that may claim next, and who had the slot before. */
function whoOf(slot: Slot): string {
  const { active, prior } = slot;
  const worker = active ?? (isOver(slot) ? prior : null);
  if (worker) return `${worker.workerClass}: ${worker.worker}`;
  return prior ? `${slot.workerClass}, after ${prior.worker}` : slot.workerClass;
}

/** The slot table as Markdown. */
export function showDetails(state: RunState): void {
  const slots = Object.values(state.slots);
  const rows = slots.slice(0, LISTED).map((slot) => {
    const stands = `${slot.state}${slot.gate ? ` (${slot.gate})` : ''}`;
    return row([...[slot.slot, stands, whoOf(slot), attemptsOf(slot)].map(cell), story(state, slot)]);
  });
  const over = slots.filter(isOver).length;
  const atWork = slots.some(({ active }) => active !== null);
  setCurrentDetails(
    [
      `**${state.status}** · ${over} of ${slots.length} slots over · tenant ${cell(state.tenant)} · ${cell(state.pins.package.ref)}`,
      '',
      head(['slot', 'state', 'class and worker', 'attempts', 'waits for; last reassign']),
      ...rows,
      ...(slots.length > LISTED ? ['', `…and ${slots.length - LISTED} more slots: \`baton show\`.`] : []),
      ...(atWork ? ['', 'Progress of attempts at work is under Pending Activities.'] : []),
      // The UI gives the text less room than it needs, and would cut its last line.
      '',
      '\u00A0',
    ].join('\n'),
  );
}

/** Keeps the registered search attributes up to date; one event for a change, none without. */
export class Attributes {
  private status: string | undefined;
  private waiting: string;
  /** Those that exist on this server: setting another one would hang the run. */
  private readonly registered: readonly string[];
  private readonly commands: boolean;

  constructor(input: Pick<RunInput, 'searchAttributes' | 'waitingCommands'>) {
    this.registered = input.searchAttributes;
    this.commands = input.waitingCommands === true;
    const now = workflowInfo().typedSearchAttributes;
    this.status = now.get(STATUS);
    this.waiting = (now.get(WAITING) ?? []).join('\n');
  }

  refresh(state: RunState): void {
    const changes: SearchAttributePair[] = [];
    const waiting = waitingList(state, { commands: this.commands });
    if (this.has(WAITING.name) && waiting.join('\n') !== this.waiting)
      changes.push({ key: WAITING, value: waiting });
    if (this.has(STATUS.name) && state.status !== this.status)
      changes.push({ key: STATUS, value: state.status });
    if (changes.length === 0) return;
    this.status = state.status;
    this.waiting = waiting.join('\n');
    upsertSearchAttributes(changes);
  }

  private has(name: string): boolean {
    return this.registered.includes(name);
  }
}
