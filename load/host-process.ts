/** One agent host of the load test as a process of its own. Argument: one JSON object; the store's address comes by BATON_STORE. */
import { setTimeout as sleep } from 'node:timers/promises';
import { DefaultLogger, makeTelemetryFilterString, NativeConnection, Runtime } from '@temporalio/worker';
import type { AgentContext } from '../src/agent/types.js';
import { digestOf } from '../src/store/canonical.js';
import { defineAgent, openStore, startHost } from '../src/worker.js';
import { writeWork } from '../faults/work-log.js';
import { artifactSize, STEPS, WORKER_CLASS, type SlotResult } from './definitions.js';

export interface HostInput {
  readonly address: string;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly workLog: string;
  /** Agents at once. */
  readonly places: number;
  /** How long each of the steps takes, in their order. */
  readonly stepMs: readonly number[];
}

const input = JSON.parse(process.argv[2] ?? '') as HostInput;
const { address, namespace, taskQueue, workLog, places, stepMs } = input;

async function run(ctx: AgentContext): Promise<SlotResult> {
  const { tenant, run, attempt, epoch, number } = ctx;
  // One log for all runs: a slot is named with its run.
  const slot = `${run}/${ctx.slot}`;
  const predecessors = ctx.handoff.attempts.map((earlier) => earlier.attempt);
  const pins = digestOf(ctx.pins);
  writeWork(workLog, {
    what: 'start',
    tenant,
    run,
    slot,
    attempt,
    epoch,
    number,
    pins,
    predecessors,
    effects: [],
  });
  ctx.signal.addEventListener('abort', () => writeWork(workLog, { what: 'told', slot, attempt }));
  const steps: Record<string, string> = {};
  for (const [index, name] of STEPS.entries())
    steps[name] = await ctx.step(name, async () => {
      writeWork(workLog, { what: 'step', slot, attempt, step: name });
      await sleep(stepMs[index] ?? 0);
      return attempt;
    });
  const line = `${slot} by ${attempt}\n`;
  const content = Buffer.alloc(artifactSize(ctx.node), line);
  const { digest, size } = await ctx.save({ kind: 'source', name: 'notes', content });
  writeWork(workLog, { what: 'end', slot, attempt });
  return { steps, artifact: { digest, size }, upstream: Object.keys(ctx.upstream['part'] ?? {}) };
}

Runtime.install({
  logger: new DefaultLogger('ERROR'),
  telemetryOptions: { logging: { filter: makeTelemetryFilterString({ core: 'ERROR' }), forward: {} } },
});
const store = await openStore(process.env['BATON_STORE'] ?? '');
const connection = await NativeConnection.connect({ address });
const agents = [defineAgent({ workerClass: WORKER_CLASS, places, run })];
const host = await startHost({ connection, namespace, store, taskQueue, agents });
const ended = host.run();
console.log(JSON.stringify({ ready: true, pid: process.pid }));
await ended;
await connection.close();
await store.close();
process.exit();
