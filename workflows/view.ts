/** What people see of the run in the Temporal UI: the slot table and the search attributes. */
import { defineSearchAttributeKey, SearchAttributeType, type SearchAttributePair } from '@temporalio/common';
import { setCurrentDetails, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import type { RunState, Slot } from '../src/domain/types.js';
import { LISTED, openEffectsOf, waitingList, waitsFor } from '../src/domain/waits.js';

const STATUS = defineSearchAttributeKey('BatonStatus', SearchAttributeType.KEYWORD);
const WAITING = defineSearchAttributeKey('BatonWaiting', SearchAttributeType.KEYWORD_LIST);

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ').slice(0, 160);

/** What the slot waits for; when it is over, why it failed and what is still not known of its effects. */
function lastOf(state: RunState, slot: Slot): string {
  const waits = waitsFor(state, slot);
  return waits ?? [openEffectsOf(slot), slot.failure?.message].filter((text) => text != null).join('; ');
}

/** The slot table as Markdown. */
export function showDetails(state: RunState): void {
  const slots = Object.values(state.slots);
  const rows = slots.slice(0, LISTED).map((slot) => {
    const worker = slot.active ?? slot.prior;
    const who = worker ? `${worker.worker} (${worker.workerClass})` : '';
    const { claims, failures, losses, releases } = slot.counts;
    const counts = `${claims} / ${failures} / ${losses} / ${releases}`;
    return `| ${cell(slot.slot)} | ${slot.state}${slot.gate ? ` (${slot.gate})` : ''} | ${cell(who)} | ${counts} | ${cell(lastOf(state, slot))} |`;
  });
  const more = slots.length > LISTED ? [``, `…and ${slots.length - LISTED} more slots: \`baton show\`.`] : [];
  setCurrentDetails(
    [
      `**${state.status}** · tenant ${state.tenant} · ${state.pins.package.ref}`,
      '',
      '| slot | state | worker | claims / failures / losses / releases | waits for |',
      '| --- | --- | --- | --- | --- |',
      ...rows,
      ...more,
    ].join('\n'),
  );
}

/** Keeps the registered search attributes up to date; one event for a change, none without. */
export class Attributes {
  private status: string | undefined;
  private waiting: string;

  /** @param registered the attributes that exist on this server: setting another one would hang the run */
  constructor(private readonly registered: readonly string[]) {
    const now = workflowInfo().typedSearchAttributes;
    this.status = now.get(STATUS);
    this.waiting = (now.get(WAITING) ?? []).join('\n');
  }

  refresh(state: RunState): void {
    const changes: SearchAttributePair[] = [];
    const waiting = waitingList(state);
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
