/** Steps that scenarios share. */
import type { RunHandle } from '../../src/client/run-handle.js';
import type { LaunchedRun } from '../../src/client/client.js';
import type { Baton } from './baton.js';
import { documents, spec, type NodeOptions, type SpecOptions } from './definitions.js';
import { waitFor } from './wait.js';

/** Publishes and launches a run of the given nodes. */
export async function launchNodes(
  baton: Baton,
  nodes: Readonly<Record<string, NodeOptions>>,
  { deadline, ...options }: { rollOverEvents?: number; run?: string; deadline?: string } = {},
): Promise<LaunchedRun> {
  const client = baton.as();
  await client.publish({ documents: documents(nodes, 'job', deadline) });
  return client.launch({ package: 'job', ...options });
}

/** A run of one node `a` with one direct slot. */
export const launchDirect = (baton: Baton, options: SpecOptions = {}): Promise<LaunchedRun> =>
  launchNodes(baton, { a: { launch: [spec(options)] } });

const executionOf = async (baton: Baton, run: RunHandle): Promise<string> =>
  (await baton.temporal.workflow.getHandle(run.workflowId).describe()).runId;

/** Commands that change little, on the slot `noise`, until the run has continued as new. */
export async function rollOver(baton: Baton, run: RunHandle): Promise<void> {
  const before = await executionOf(baton, run);
  await waitFor(
    async () => {
      await run.slot('noise').hold({ reason: 'roll' });
      await run.slot('noise').releaseHold({ reason: 'roll' });
      return (await executionOf(baton, run)) !== before;
    },
    { timeoutMs: 60_000, everyMs: 0, what: 'a roll-over' },
  );
}

/** Until the slot's last attempt is over and recorded, and the run has heard of it: the store has the end first. */
export async function untilSettled(run: RunHandle, slot = 'a'): Promise<void> {
  await waitFor(
    async () => {
      const attempts = await run.attempts(slot);
      const { source, slots } = await run.show();
      const shown = slots.find((one) => one.slot === slot);
      return (
        source === 'workflow' &&
        shown?.state !== 'active' &&
        // Every end but a success makes the state `retry-wait` before the run has heard that it is recorded.
        shown?.waitsFor?.includes('to be recorded') !== true &&
        attempts.length > 0 &&
        attempts.every((attempt) => attempt.endedAt !== null)
      );
    },
    { what: `the last attempt of ${slot} to be settled` },
  );
}
