/**
 * A control worker or an agent host in a process of its own. It may stop at one call of its store and say so; it goes on
 * when it is told `go`. Argument: one JSON object.
 */
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { DefaultLogger, makeTelemetryFilterString, NativeConnection, Runtime } from '@temporalio/worker';
import { digestOf } from '../src/store/canonical.js';
import { httpOwner } from '../src/effects/index.js';
import { watchStore } from '../src/testing/index.js';
import {
  defineAgent,
  openStore,
  startControlWorker,
  startHost,
  type AgentContext,
  type AgentDefinition,
  type Json,
  type Running,
} from '../src/worker.js';
import { writeWork } from './work-log.js';

export interface WorkerInput {
  readonly role: 'control' | 'host';
  readonly address: string;
  readonly storeUrl: string;
  readonly taskQueue: string;
  readonly workLog: string;
  /** Hosts only. */
  readonly classes: readonly string[];
  /** Everything is loaded and connected, but nothing is polled before `go`. */
  readonly waits: boolean;
  /** Control workers only: port of the authority check, 0 for a free one; null: it is not served. */
  readonly authorityPort: number | null;
  readonly halt: Halt | null;
}

/** The store call at which the process stops. */
export interface Halt {
  readonly call: string;
  readonly slot: string;
  /** Of a saved step. */
  readonly step?: string;
  /** That is recorded of an effect. */
  readonly state?: string;
  /** Which of the calls that fit, from 1. */
  readonly nth: number;
  readonly when: 'before' | 'after';
}

/** What a run of the matrix gives its agents as input. */
export interface Task {
  /** Attempts up to this number report a failure after their first step. */
  readonly failUpTo: number;
  /** After their first step agents wait until this file is there; null: they do not wait. */
  readonly gate: string | null;
  /** Address of the owner of the effect that the agent has after its second step; null: it has none. */
  readonly owner: string | null;
}

const input = JSON.parse(process.argv[2] ?? '') as WorkerInput;
const { role, address, storeUrl, taskQueue, workLog, classes, waits, authorityPort, halt } = input;
const say = (line: string): void => void process.stdout.write(`${line}\n`);

let goes = (): void => undefined;
createInterface({ input: process.stdin }).on('line', (line) => line === 'go' && goes());
const told = (what: string): Promise<void> =>
  new Promise((resolve) => {
    goes = resolve;
    say(what);
  });

interface Args {
  readonly slot?: string;
  readonly step?: string | null;
  readonly fence?: { readonly slot: string };
  readonly record?: { readonly state: string };
}
let seen = 0;
const fits = (name: string, args: Args | undefined): boolean =>
  halt !== null &&
  name === halt.call &&
  (args?.slot ?? args?.fence?.slot) === halt.slot &&
  (halt.step === undefined || args?.step === halt.step) &&
  (halt.state === undefined || args?.record?.state === halt.state) &&
  ++seen === halt.nth;

const act = (ctx: AgentContext, owner: string): Promise<Json> =>
  ctx.effect('act', { request: { run: ctx.run, slot: ctx.slot }, ...httpOwner(owner) });

async function work(ctx: AgentContext): Promise<unknown> {
  const { tenant, run, slot, attempt, epoch, number } = ctx;
  const predecessors = ctx.handoff.attempts.map((earlier) => earlier.attempt);
  const effects = ctx.handoff.effects.map(({ state }) => state);
  const pins = digestOf(ctx.pins);
  const task = ctx.input as unknown as Task;
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
    effects,
  });
  ctx.signal.addEventListener('abort', () => writeWork(workLog, { what: 'told', slot, attempt }));
  const step = (name: string): Promise<string> =>
    ctx.step(name, () => {
      writeWork(workLog, { what: 'step', slot, attempt, step: name });
      return attempt;
    });
  try {
    const results = { one: await step('one') };
    if (number <= task.failUpTo) throw new Error('no answer from the model');
    while (task.gate !== null && !existsSync(task.gate) && !ctx.signal.aborted) await sleep(20);
    const two = await step('two');
    const effect = task.owner === null ? null : await act(ctx, task.owner);
    return { ...results, two, effect, three: await step('three') };
  } finally {
    writeWork(workLog, { what: 'end', slot, attempt });
  }
}

Runtime.install({
  logger: new DefaultLogger('ERROR'),
  telemetryOptions: { logging: { filter: makeTelemetryFilterString({ core: 'ERROR' }), forward: {} } },
});
const real = await openStore(storeUrl);
const store = watchStore(real, async ({ name, args }, proceed) => {
  if (halt === null || !fits(name, args[0] as Args | undefined)) return proceed();
  if (halt.when === 'before') {
    await told(`halted before ${name}`);
    return proceed();
  }
  const answer = await proceed();
  await told(`halted after ${name}`);
  return answer;
});
const connection = await NativeConnection.connect({ address });
const agents = classes.map((workerClass): AgentDefinition =>
  defineAgent({ workerClass, places: 2, run: work }),
);
const common = { connection, store, taskQueue };
async function start(): Promise<Running> {
  if (role === 'host') return startHost({ ...common, agents });
  const authority = authorityPort === null ? {} : { authority: { port: authorityPort } };
  const control = await startControlWorker({ ...common, ...authority });
  if (control.authorityUrl !== null) say(`authority ${control.authorityUrl}`);
  return control;
}
const worker = await start();
if (waits) await told('waiting');
const ended = worker.run();
say('polling');
await ended;
await connection.close();
await real.close();
process.exit();
