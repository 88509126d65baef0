/** Reads what the demo is judged by: from the store, from the run's workflow and from Temporal. */
import { setTimeout as sleep } from 'node:timers/promises';
import { BatonClient } from '../../client/client.js';
import { queryState } from '../../client/reads.js';
import type { RunHandle } from '../../client/run-handle.js';
import { BatonError } from '../../domain/errors.js';
import { digestOf } from '../../store/canonical.js';
import { NOTES, type Facts, type Snapshot } from './facts.js';
import { historyLength, readHistory } from './history.js';
import type { Stage } from './stage.js';

/** The run at this moment. @throws BatonError `TemporalUnavailable` when no control worker answers */
export async function snapshot({ baton, store, temporal }: Stage, run: RunHandle): Promise<Snapshot> {
  const view = await queryState(BatonClient.sessionOf(baton), run.run, 10_000);
  if (!view)
    throw BatonError.of('TemporalUnavailable', 'the control worker does not answer', { run: run.run });
  const attempts = await store.attempts.list(run.tenant, run.run);
  const artifacts = await store.artifacts.list(run.tenant, run.run);
  // The attachment has a binary token; everything that can change with it is in the other fields.
  const rows = attempts.map((row) => ({ ...row, attachment: row.attachment?.activityId ?? null }));
  const digest = digestOf({ state: view.state, attempts: rows, artifacts });
  return {
    state: view.state,
    digest,
    attempts,
    events: await historyLength(temporal.client, run.workflowId),
  };
}

/** A snapshot after which nothing is under way any more: the same twice in a row. */
export async function quietSnapshot(stage: Stage, run: RunHandle, limitMs = 10_000): Promise<Snapshot> {
  const until = performance.now() + limitMs;
  for (let before = await snapshot(stage, run); ;) {
    stage.signal.throwIfAborted();
    await sleep(100);
    const now = await snapshot(stage, run);
    if ((now.digest === before.digest && now.events === before.events) || performance.now() > until)
      return now;
    before = now;
  }
}

/** True once the slot can be reassigned: in retry-wait, with its lost worker's end recorded in the store. */
export async function isWaiting(stage: Stage, run: RunHandle): Promise<boolean> {
  const view = await queryState(BatonClient.sessionOf(stage.baton), run.run);
  const slot = view?.state.slots[NOTES];
  return slot?.state === 'retry-wait' && slot.ending === null;
}

/** Notes saved so far, by any attempt. */
export async function savedNotes({ store }: Stage, run: RunHandle): Promise<number> {
  const rows = await store.artifacts.list(run.tenant, run.run, NOTES);
  return new Set(rows.map((row) => row.step).filter((step) => step !== null)).size;
}

/** Everything at the end of the run. */
export async function endOf({ store, temporal }: Stage, run: RunHandle): Promise<Facts['end']> {
  const [shown, attempts, rows, artifacts, history, description] = await Promise.all([
    run.show(),
    run.attempts(),
    store.attempts.list(run.tenant, run.run),
    store.artifacts.list(run.tenant, run.run),
    readHistory(temporal.client, run.workflowId),
    temporal.client.workflow.getHandle(run.workflowId).describe(),
  ]);
  return { shown, attempts, rows, artifacts, history, temporalStatus: description.status.name };
}
