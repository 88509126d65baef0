/** What must hold after every step of every scenario (I1 to I6 of the scenarios). */
import { expect } from 'vitest';
import { temporal } from '@temporalio/proto';
import { isTerminalLease, isTerminalWorker } from '../../src/domain/types.js';
import { readView, type PackedView } from '../../src/domain/pack.js';
import { QUERIES, workflowIdOf, type StateView } from '../../src/domain/wire.js';
import type { AttemptRow } from '../../src/store/port.js';
import type { Baton } from './baton.js';

const { EventType, WorkflowTaskFailedCause } = temporal.api.enums.v1;

/** Terminal attempts as they were first seen, by run. */
const seen = new Map<string, Map<string, string>>();

export async function stateOf(baton: Baton, run: string): Promise<StateView> {
  const handle = baton.temporal.workflow.getHandle(workflowIdOf(baton.tenant, run));
  return readView(await handle.query<StateView | PackedView>(QUERIES.state));
}

/** Events of the newest execution, or of the one named. */
export async function eventsOf(baton: Baton, run: string, runId?: string) {
  const { events } = await baton.temporal.workflow
    .getHandle(workflowIdOf(baton.tenant, run), runId)
    .fetchHistory();
  return events ?? [];
}

export async function expectInvariants(baton: Baton, run: string): Promise<void> {
  const rows = await baton.store.attempts.list(baton.tenant, run);
  const liveBySlot = new Map<string, string>();
  const terminal = seen.get(`${baton.tenant}/${run}`) ?? new Map<string, string>();
  seen.set(`${baton.tenant}/${run}`, terminal);
  for (const row of rows) {
    // I1: the row holds both; they must be alive together.
    if (row.leaseStatus === 'live') {
      expect(row.workerStatus, `I1 ${row.attempt}`).toBe('running');
      expect(liveBySlot.get(row.slot), `I2 ${row.slot}`).toBeUndefined();
      liveBySlot.set(row.slot, row.attempt);
    } else if (row.workerStatus === 'running')
      expect.fail(`I1: worker of ${row.attempt} runs without a live lease (${row.leaseStatus})`);
    if (isTerminalWorker(row.workerStatus) && isTerminalLease(row.leaseStatus)) {
      const now = fingerprint(row);
      expect(now, `I3 ${row.attempt}`).toBe(terminal.get(row.attempt) ?? now);
      terminal.set(row.attempt, now);
    }
  }
  const { state } = await stateOf(baton, run);
  for (const slot of Object.values(state.slots)) {
    if (slot.state !== 'retry-wait') continue;
    expect(slot.active, `I6 ${slot.slot}`).toBeNull();
    if (slot.reassign && slot.gate === 'open') {
      expect(slot.pendingWorker, `I6 ${slot.slot}`).toBeNull();
      expect(liveBySlot.get(slot.slot), `I6 ${slot.slot}`).toBeUndefined();
    }
  }
  await expectNoFailedTasks(baton, run);
}

/** Causes that are no fault of the workflow's code: a race with new events, and the mark that a reset leaves. */
export const HARMLESS: readonly number[] = [
  WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND,
  WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW,
];

/** I5: a workflow task that fails for any other reason is a bug of the workflow. */
export async function expectNoFailedTasks(
  baton: Baton,
  run: string,
  runId?: string,
  harmless: readonly number[] = HARMLESS,
): Promise<void> {
  for (const event of await eventsOf(baton, run, runId)) {
    if (event.eventType !== EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED) continue;
    const failed = event.workflowTaskFailedEventAttributes;
    expect(harmless, `I5 ${failed?.failure?.message}`).toContain(failed?.cause);
  }
}

/** I4: a refused command changes nothing, neither the run nor the store. */
export async function expectRefused(
  baton: Baton,
  run: string,
  code: string,
  command: () => Promise<unknown>,
): Promise<{ message: string; details: Record<string, unknown> }> {
  const before = await digestOfRun(baton, run);
  const refused = await command().then(
    (answer) => expect.fail(`accepted, expected ${code}: ${JSON.stringify(answer)}`),
    (error: unknown) => error as { code?: string; message: string; details: Record<string, unknown> },
  );
  expect(refused.code, refused.message).toBe(code);
  expect(await digestOfRun(baton, run), `I4 after ${code}`).toBe(before);
  return refused;
}

async function digestOfRun(baton: Baton, run: string): Promise<string> {
  const { state } = await stateOf(baton, run);
  const rows = await baton.store.attempts.list(baton.tenant, run);
  return JSON.stringify([state, rows.map(fingerprint)]);
}

const fingerprint = ({ attachment: _attachment, deadline: _deadline, ...row }: AttemptRow): string =>
  JSON.stringify(row);
