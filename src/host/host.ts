/**
 * A host: runs agents of one or more worker classes. One Worker polls each class queue while there is room, one polls the
 * host's own queue for the attachments of the leases that it claimed.
 */
import { randomBytes } from 'node:crypto';
import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { Runtime, type NativeConnection, type Worker, type WorkerOptions } from '@temporalio/worker';
import { makeClaimSlot } from '../../activities/claim-slot.js';
import { within } from '../access/within.js';
import { makePerformAttempt } from '../../activities/perform-attempt.js';
import type { AgentDefinition } from '../agent/types.js';
import { batonClientOver, clientConverter, workerConverter } from '../client/converter.js';
import { BatonError } from '../domain/errors.js';
import { checkId } from '../domain/text.js';
import { classQueue, DEFAULT_TASK_QUEUE, hostQueue as hostQueueOf } from '../domain/wire.js';
import type { Store } from '../store/port.js';
import type { Places } from './places.js';
import { Roster } from './roster.js';
import { createInnerWorkers, stopWorker, whenStopping, type Running } from './workers.js';

/** How long a claim that is under way at shutdown may take to arrive, so that it can be given back at once. */
const CLAIM_GRACE_MS = 1_000;
/** How long a lease's release may take at shutdown; after it the lease expires by itself. */
const RELEASE_LIMIT_MS = 8_000;

export interface HostOptions {
  readonly connection: NativeConnection;
  /** Default: one over `connection`. */
  readonly client?: Client;
  /** See `ControlWorkerOptions.dataConverter`; the same codecs everywhere. */
  readonly dataConverter?: Pick<DataConverter, 'payloadCodecs' | 'externalStorage'>;
  /** Default `default`. */
  readonly namespace?: string;
  readonly store: Store;
  /** Control task queue of the runs to work for; the class queues are named after it. Default `baton`. */
  readonly taskQueue?: string;
  /** Name in worker ids. Default: host name and pid. A random suffix makes each start a host of its own. */
  readonly host?: string;
  readonly agents: readonly AgentDefinition[];
  /** Owner actor of the workers here. Default: a successor inherits its predecessor's. */
  readonly owner?: string;
  /** How long agents may go on after a shutdown before their leases are released, in milliseconds. Default 0. */
  readonly drain?: number;
}

export interface Host extends Running {
  /** Unique to this start. */
  readonly host: string;
  readonly hostQueue: string;
}

/**
 * Makes a host; it polls once `run()` is called. Shutdown, and every signal that Temporal's runtime handles, stops claiming
 * and releases the leases at once (or after `drain`), so that other hosts can go on with the work.
 *
 * @throws BatonError `InvalidCommand` for a bad name, class or number of places
 */
export async function startHost(options: HostOptions): Promise<Host> {
  const { connection, store, agents, namespace = 'default', taskQueue = DEFAULT_TASK_QUEUE } = options;
  checkAgents(agents);
  const host = hostName(options.host);
  const hostQueue = hostQueueOf(taskQueue, host);
  const client = options.client
    ? batonClientOver(options.client)
    : new Client({
        connection,
        namespace,
        dataConverter: clientConverter(options.dataConverter),
      });
  const dataConverter = workerConverter(options.dataConverter);
  const logger = Runtime.instance().logger;
  const owner = options.owner === undefined ? null : checkId('owner', options.owner);
  const roster = new Roster({ agents, host, hostQueue, owner, client, store, logger });
  const common = {
    connection,
    namespace,
    maxCachedWorkflows: 0,
    ...(dataConverter ? { dataConverter } : {}),
  };
  const claimSlot = makeClaimSlot({ store, host: roster });
  const [own, ...classes] = await createInnerWorkers([
    {
      ...common,
      taskQueue: hostQueue,
      activities: { performAttempt: makePerformAttempt({ store, host: roster }) },
      activityTaskPollerBehavior: { type: 'simple-maximum', maximum: 2 },
    },
    ...agents.map(({ workerClass }) => ({
      ...common,
      taskQueue: classQueue(taskQueue, workerClass),
      activities: { claimSlot },
      tuner: tunerOf(roster.places(workerClass)),
    })),
  ]);
  if (!own) throw new RangeError('a host has a Worker of its own');
  return new RunningHost(host, hostQueue, roster, classes, own, options.drain ?? 0);
}

class RunningHost implements Host {
  #runs: Promise<unknown> | undefined;
  #stopping: Promise<void> | undefined;

  constructor(
    readonly host: string,
    readonly hostQueue: string,
    private readonly roster: Roster,
    private readonly classes: readonly Worker[],
    private readonly own: Worker,
    private readonly drainMs: number,
  ) {}

  async run(): Promise<void> {
    const all = [this.own, ...this.classes];
    const stopped = new AbortController();
    this.#runs ??= Promise.all(all.map((worker) => worker.run()));
    // Whatever stops one of them (a signal, a fatal error, shutdown) stops the host, leases first.
    const watching = Promise.race(all.map((worker) => whenStopping(worker, stopped.signal))).then(() =>
      this.shutdown(),
    );
    try {
      await this.#runs;
    } finally {
      await this.shutdown();
      stopped.abort();
      await watching;
    }
  }

  shutdown(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    // Workers that never ran would keep the connection from closing.
    this.#runs ??= Promise.all([this.own, ...this.classes].map((worker) => worker.run()));
    this.#runs.catch(() => undefined);
    this.classes.forEach(stopWorker);
    const drained = Promise.all(this.roster.agents.map((run) => run.gone));
    if (this.drainMs > 0) await Promise.race([drained, sleep(this.drainMs, undefined, { ref: false })]);
    this.roster.close();
    const releases = Promise.all(
      this.roster.agents.map((run) => run.release(`host ${this.host} is shutting down`)),
    );
    await within(
      Promise.all([releases, this.#claimsArrived()]),
      RELEASE_LIMIT_MS,
      () => new Error('late'),
    ).catch(() => undefined);
    stopWorker(this.own);
    await this.#runs.catch(() => undefined);
  }

  /** A claim made a moment ago attaches here and is given back at once, instead of after its schedule-to-start. */
  async #claimsArrived(): Promise<void> {
    const until = performance.now() + CLAIM_GRACE_MS;
    while (this.roster.claims > 0 && performance.now() < until) await sleep(25);
  }
}

/** Only the activity part matters: a class Worker runs no workflows. */
function tunerOf(places: Places): NonNullable<WorkerOptions['tuner']> {
  const none = { type: 'fixed-size', numSlots: 1 } as const;
  return {
    activityTaskSlotSupplier: places.supplier(),
    workflowTaskSlotSupplier: none,
    localActivityTaskSlotSupplier: none,
    nexusTaskSlotSupplier: none,
  };
}

function hostName(name: string | undefined): string {
  const given = name === undefined ? `${os.hostname()}-${process.pid}` : checkId('host', name);
  // 128 is the limit of an id; a worker's number comes behind it.
  return `${given.replace(/[^A-Za-z0-9._-]/g, '-').slice(0, 100)}-${randomBytes(4).toString('hex')}`;
}

function checkAgents(agents: readonly AgentDefinition[]): void {
  if (agents.length === 0)
    throw BatonError.of('InvalidCommand', 'a host needs at least one agent', { field: 'agents' });
  const seen = new Set<string>();
  for (const { workerClass, name, places = 1 } of agents) {
    checkId('workerClass', workerClass);
    if (name !== undefined) checkId('name', name);
    if (!Number.isSafeInteger(places) || places < 1) {
      throw BatonError.of('InvalidCommand', '`places` must be a whole number from 1', {
        workerClass,
        places,
      });
    }
    if (seen.has(workerClass))
      throw BatonError.of('InvalidCommand', 'two agents have one worker class', { workerClass });
    seen.add(workerClass);
  }
}
