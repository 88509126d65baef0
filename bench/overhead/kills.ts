/** From SIGKILL of a real host process until the run's workflow says that the slot is in `retry-wait`. */
import { setTimeout as sleep } from 'node:timers/promises';
import { QUERIES, workflowIdOf, type StateView } from '../../src/domain/wire.js';
import { KILL, SLOT } from './definitions.js';
import { now } from './launches.js';
import type { Lab } from './lab.js';
import { spread, type Spread } from './statistics.js';

/** Milliseconds between two looks at the run. */
const LOOK_EVERY_MS = 4;
const PATIENCE_MS = 60_000;

export interface Kills {
  readonly ttlMs: number;
  /** From the kill, minus the TTL. The last beat comes before the kill, so this may be below zero. */
  readonly overTtlMs: Spread;
  /** From the last beat by the server's clock, minus the TTL: what the server and the run add. */
  readonly afterDeadlineMs: Spread;
}

/** @param times how many hosts are killed, each at another point between two beats */
export async function measureKills(lab: Lab, times: number): Promise<Kills> {
  const samples: { overTtlMs: number; afterDeadlineMs: number }[] = [];
  for (let i = 0; i < times; i += 1) samples.push(await killOne(lab, i / times));
  return {
    ttlMs: KILL.ttlMs,
    overTtlMs: spread(samples.map((sample) => sample.overTtlMs)),
    afterDeadlineMs: spread(samples.map((sample) => sample.afterDeadlineMs)),
  };
}

async function killOne(lab: Lab, between: number): Promise<{ overTtlMs: number; afterDeadlineMs: number }> {
  const host = await lab.startHangingHost(KILL.workerClass);
  const run = await lab.baton.launch({ package: KILL.package });
  const handle = lab.client.workflow.getHandle(workflowIdOf(lab.tenant, run.run));
  await host.ready(/^at work /, PATIENCE_MS);
  // The keeper beats every third of the TTL; at least one beat has been sent by then.
  await sleep((KILL.ttlMs / 3) * (1.1 + between));
  const { state: before } = await handle.query<StateView>(QUERIES.state);
  if (before.slots[SLOT]?.state !== 'active')
    throw new Error(`run ${run.run} was not active before the kill`);

  const killedAt = now();
  host.kill('SIGKILL');
  const { raw } = await handle.describe();
  const beat = raw.pendingActivities?.[0]?.lastHeartbeatTime;
  const beatAt = Number(beat?.seconds ?? 0) * 1_000 + (beat?.nanos ?? 0) / 1e6;
  const seenAt = await untilRetryWait(() => handle.query<StateView>(QUERIES.state));
  await host.exited;
  return { overTtlMs: seenAt - killedAt - KILL.ttlMs, afterDeadlineMs: seenAt - beatAt - KILL.ttlMs };
}

async function untilRetryWait(look: () => Promise<StateView>): Promise<number> {
  const until = now() + PATIENCE_MS;
  for (;;) {
    const { state } = await look();
    if (state.slots[SLOT]?.state === 'retry-wait') return now();
    if (now() > until) throw new Error(`no retry-wait within ${PATIENCE_MS} ms of the kill`);
    await sleep(LOOK_EVERY_MS);
  }
}
