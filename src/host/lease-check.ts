/** Whether a lease whose token the server no longer knows is over, or only moving to the run's next execution. */
import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import type { Held } from '../../activities/claims-shared.js';
import { within } from '../access/within.js';
import { isTerminalLease } from '../domain/types.js';
import { workflowIdOf } from '../domain/wire.js';
import type { Fence, Store } from '../store/port.js';

const LIMIT_MS = 2_000;
const late = (): Error => new Error('no answer in time');

/**
 * @returns why the lease is over, or null when neither store nor server says so (yet). Never throws: no answer is no proof.
 */
export async function findLeaseEnd(
  client: Client,
  store: Store,
  fence: Fence,
  held: Held,
): Promise<string | null> {
  const asked = [endInStore(store, fence), endOnServer(client, fence, held)];
  const answers = await Promise.all(asked.map((answer) => within(answer, LIMIT_MS, late).catch(() => null)));
  return answers.find((answer) => answer !== null) ?? null;
}

async function endInStore(store: Store, fence: Fence): Promise<string | null> {
  const row = await store.attempts.get(fence.tenant, fence.run, fence.attempt);
  return row && isTerminalLease(row.leaseStatus) ? `the store has it as ${row.leaseStatus}` : null;
}

async function endOnServer(client: Client, fence: Fence, held: Held): Promise<string | null> {
  const handle = client.workflow.getHandle(workflowIdOf(fence.tenant, fence.run));
  const description = await handle.describe().catch((error: unknown) => {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  });
  if (!description) return 'the server does not know the run';
  if (description.status.name !== 'RUNNING') return `the run is ${description.status.name.toLowerCase()}`;
  // Another execution: rolled over, and the new attachment is on its way; or reset, and the store will tell.
  if (description.runId !== held.workflowRunId) return null;
  const pending = description.raw.pendingActivities ?? [];
  return pending.some((activity) => activity.activityId === held.activityId)
    ? null
    : 'its activity has ended';
}
