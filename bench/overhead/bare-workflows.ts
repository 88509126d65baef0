/** The bare side: what a user of Temporal writes without Baton. Bundled by the bare control worker when it starts. */
import { condition, defineSignal, defineUpdate, proxyActivities, setHandler } from '@temporalio/workflow';
import type { BareActivities } from './bare-process.js';

export interface BareInput {
  /** One activity for each, in order; null is the workflow's own queue. */
  readonly queues: readonly (string | null)[];
}

/** Activities one after the other, each given the result of the one before. */
export async function bareSteps({ queues }: BareInput): Promise<number> {
  let value = 0;
  for (const taskQueue of queues) {
    const { step } = proxyActivities<Pick<BareActivities, 'step'>>({
      ...(taskQueue === null ? {} : { taskQueue }),
      startToCloseTimeout: '10s',
    });
    value = await step(value);
  }
  return value;
}

export interface Note {
  readonly text: string;
  readonly allowed: boolean;
}

export const note = defineUpdate<number, [Note]>('note');
export const end = defineSignal('end');

/** Takes updates, refusing those that are not allowed in the validator; with `open`, holds one activity open meanwhile. */
export async function bareUpdates(input: { readonly open: boolean }): Promise<void> {
  let count = 0;
  let ended = false;
  setHandler(
    note,
    () => {
      count += 1;
      return count;
    },
    {
      validator: ({ allowed }) => {
        if (!allowed) throw new Error('not allowed');
      },
    },
  );
  setHandler(end, () => {
    ended = true;
  });
  const { hold } = proxyActivities<Pick<BareActivities, 'hold'>>({
    activityId: 'hold',
    startToCloseTimeout: '1h',
    heartbeatTimeout: '60s',
    retry: { maximumAttempts: 1 },
  });
  if (input.open) await hold();
  await condition(() => ended);
}
