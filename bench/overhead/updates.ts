/**
 * Reassigns beside bare updates: accepted ones (the answer of the handler), ones that have to take an offer back first, and
 * refused ones (by the validator). Baton's side is `SlotHandle.reassign`, which also keeps the answer in the store.
 */
import { randomUUID } from 'node:crypto';
import { WorkflowUpdateFailedError, type Client, type WorkflowHandle } from '@temporalio/client';
import { BatonError } from '../../src/domain/errors.js';
import { QUERIES, workflowIdOf, type StateView } from '../../src/domain/wire.js';
import type { SlotHandle } from '../../src/client/slot-handle.js';
import type { Note } from './bare-workflows.js';
import { SLOT, STEER } from './definitions.js';
import { now } from './launches.js';
import { eventsOf, type Lab } from './lab.js';
import { medianOfRatios, ratioOfMedians, spread, type Spread } from './statistics.js';

export interface Pair {
  readonly batonMs: Spread;
  readonly bareMs: Spread;
  readonly ratio: number | null;
  readonly pairRatio: number | null;
}

export interface Updates {
  readonly accepted: Pair;
  readonly withdrawing: Pair;
  readonly refused: Pair;
  readonly eventsPerRefusal: { readonly baton: number; readonly bare: number };
}

/** @param pairs how many of each kind; one tenth more before them warm up */
export async function measureUpdates(lab: Lab, pairs: number): Promise<Updates> {
  const { slot, workflowId } = await slotInRetryWait(lab);
  const bare = await lab.client.workflow.start('bareUpdates', {
    workflowId: `updates-${randomUUID()}`,
    taskQueue: lab.bare.taskQueue,
    args: [{ open: false }],
  });
  const reassign = (workerClass: string) => () => slot.reassign({ workerClass, reason: 'measured' });
  // Another class each time: the specification changes, and with it what the UI is told, as in a real hand-over.
  const among = (classes: readonly string[]) => (i: number) =>
    reassign(classes[i % classes.length] ?? SLOT)();
  const note = (allowed: boolean) => () =>
    bare.executeUpdate<number, [Note]>('note', {
      args: [{ text: 'measured', allowed }],
      updateId: randomUUID(),
    });

  const accepted = await interleaved(pairs, among(STEER.direct), note(true));
  const withdrawing = await interleaved(pairs, among(STEER.offered), note(true));
  await among(STEER.direct)(0);
  await quiet(lab.client, [workflowId, bare.workflowId]);
  const before = await counts(lab.client, workflowId, bare);
  const refused = await interleaved(
    pairs,
    () =>
      refusedBy(
        reassign('nobody'),
        (error) => error instanceof BatonError && error.code === 'NoCompatibleLaunchSpec',
      ),
    () => refusedBy(note(false), (error) => error instanceof WorkflowUpdateFailedError),
  );
  const after = await counts(lab.client, workflowId, bare);
  await bare.terminate('measured');
  const perRefusal = (side: 'baton' | 'bare'): number => (after[side] - before[side]) / refused.sent;
  return {
    accepted,
    withdrawing,
    refused,
    eventsPerRefusal: { baton: perRefusal('baton'), bare: perRefusal('bare') },
  };
}

/** A slot whose first worker gave it back. */
async function slotInRetryWait(lab: Lab): Promise<{ slot: SlotHandle; workflowId: string }> {
  const run = await lab.baton.launch({ package: STEER.package });
  const slot = run.slot(SLOT);
  const { lease } = await slot.claim({ workerClass: STEER.direct[0], worker: 'first' });
  await slot.release(lease.token, { reason: 'to be measured' });
  const workflowId = workflowIdOf(lab.tenant, run.run);
  const handle = lab.client.workflow.getHandle(workflowId);
  for (;;) {
    const { state } = await handle.query<StateView>(QUERIES.state);
    if (state.slots[SLOT]?.state === 'retry-wait') return { slot, workflowId };
  }
}

async function interleaved(
  pairs: number,
  baton: (i: number) => Promise<unknown>,
  bare: (i: number) => Promise<unknown>,
): Promise<Pair & { readonly sent: number }> {
  const warmUp = Math.max(2, Math.ceil(pairs / 10));
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let i = 0; i < pairs + warmUp; i += 1) {
    const timed = async (call: (i: number) => Promise<unknown>, into: number[]): Promise<void> => {
      const sentAt = now();
      await call(i);
      if (i >= warmUp) into.push(now() - sentAt);
    };
    const both = [() => timed(baton, ours), () => timed(bare, theirs)];
    for (const one of i % 2 === 0 ? both : both.reverse()) await one();
  }
  return {
    batonMs: spread(ours),
    bareMs: spread(theirs),
    ratio: ratioOfMedians(ours, theirs),
    pairRatio: medianOfRatios(ours, theirs),
    sent: pairs + warmUp,
  };
}

async function refusedBy(call: () => Promise<unknown>, expected: (error: unknown) => boolean): Promise<void> {
  try {
    await call();
  } catch (error) {
    if (expected(error)) return;
    throw error;
  }
  throw new Error('a command was accepted that should have been refused');
}

async function counts(client: Client, workflowId: string, bare: WorkflowHandle) {
  const [ours, theirs] = await Promise.all([eventsOf(client, workflowId), eventsOf(client, bare.workflowId)]);
  return { baton: ours.length, bare: theirs.length };
}

/** Returns when the histories do not grow any more: what the last command started is not the next one's doing. */
async function quiet(client: Client, workflowIds: readonly string[]): Promise<void> {
  for (const workflowId of workflowIds) {
    const handle = client.workflow.getHandle(workflowId);
    for (let known = -1; ;) {
      // A query waits for the workflow task that is under way.
      if (workflowId.includes('/')) await handle.query<StateView>(QUERIES.state);
      const { historyLength, raw } = await handle.describe();
      if (historyLength === known && !raw.pendingWorkflowTask) break;
      known = historyLength;
    }
  }
}
