/** Events that heartbeats add: by the holder of a direct slot, and by token of a bare activity. */
import { randomUUID } from 'node:crypto';
import { workflowIdOf } from '../../src/domain/wire.js';
import { SLOT, STEER } from './definitions.js';
import { eventsOf, type Lab } from './lab.js';

export interface Beats {
  readonly beats: number;
  readonly batonEvents: number;
  readonly bareEvents: number;
}

/** @param beats how many; every one is acknowledged by the server before the next is sent */
export async function measureBeats(lab: Lab, beats: number): Promise<Beats> {
  const run = await lab.baton.launch({ package: STEER.package });
  const slot = run.slot(SLOT);
  const { lease } = await slot.claim({ workerClass: STEER.direct[0], worker: 'beater' });
  const batonEvents = await growth(lab, workflowIdOf(lab.tenant, run.run), async () => {
    for (let i = 0; i < beats; i += 1) await slot.heartbeat(lease.token, { progress: { beat: i } });
  });
  await slot.complete(lease.token, { result: null });
  await run.result();

  const bare = await lab.client.workflow.start('bareUpdates', {
    workflowId: `beats-${randomUUID()}`,
    taskQueue: lab.bare.taskQueue,
    args: [{ open: true }],
  });
  const activity = { workflowId: bare.workflowId, activityId: 'hold' };
  await untilStarted(lab, bare.workflowId);
  const bareEvents = await growth(lab, bare.workflowId, async () => {
    for (let i = 0; i < beats; i += 1) await lab.client.activity.heartbeat(activity, { beat: i });
  });
  await bare.terminate('measured');
  return { beats, batonEvents, bareEvents };
}

async function growth(lab: Lab, workflowId: string, work: () => Promise<void>): Promise<number> {
  const before = (await eventsOf(lab.client, workflowId)).length;
  await work();
  return (await eventsOf(lab.client, workflowId)).length - before;
}

/** An activity that no worker has taken yet knows no beats. */
async function untilStarted(lab: Lab, workflowId: string): Promise<void> {
  const handle = lab.client.workflow.getHandle(workflowId);
  for (;;) {
    const { raw } = await handle.describe();
    if (raw.pendingActivities?.some(({ lastStartedTime }) => lastStartedTime)) return;
  }
}
