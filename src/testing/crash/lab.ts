/** What runs are explored in: a Temporal server, a store in a folder that goes, and control workers in a process of their own. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BatonClient } from '../../client/client.js';
import { BatonError } from '../../domain/errors.js';
import { connect, type TemporalConnection } from '../../server/connect.js';
import { ensureServer } from '../../server/find.js';
import type { Child } from '../../server/processes.js';
import { openStore } from '../../store/open.js';
import type { Store } from '../../store/port.js';
import { ACTOR, TENANT } from './plan.js';
import { startProcess, type ProcessInput } from './process-input.js';
import { readRecords, recordsOf, type HostRecord } from './records.js';
import type { Settings } from './settings.js';
import type { CrashCell, ExploreOptions } from './types.js';

/** A host under exploration. */
export interface ExplorerHost {
  readonly child: Child;
  /** Null while it runs. */
  readonly exit: () => Awaited<Child['exited']> | null;
  /** What it has told. */
  readonly records: () => readonly HostRecord[];
  /** SIGKILL; returns once it has ended. */
  end(): Promise<void>;
}

/** A task queue of its own, with a control worker: whatever happens to a host here touches no other lane's run. */
export interface Lane {
  readonly taskQueue: string;
  readonly baton: BatonClient;
}

export interface Lab {
  readonly store: Store;
  readonly temporal: TemporalConnection;
  readonly lanes: readonly Lane[];
  startHost(lane: Lane, kill: Pick<CrashCell, 'point' | 'when'> | null): Promise<ExplorerHost>;
  /** Fires when the caller's signal does, or when the control process ends. */
  readonly signal: AbortSignal;
}

const never = new AbortController().signal;
const IDLE = { agents: [], temporal: null, kill: null } as const;

/** Puts everything up, gives it to `use`, and ends all of it, whatever happens. */
export async function withLab<T>(
  options: ExploreOptions,
  settings: Settings,
  use: (lab: Lab, classes: readonly string[]) => Promise<T>,
): Promise<T> {
  const ends: (() => Promise<unknown>)[] = [];
  const atEnd = (end: () => Promise<unknown>): void => void ends.unshift(end);
  try {
    const folder = await mkdtemp(path.join(os.tmpdir(), 'baton-crashes-'));
    atEnd(() => rm(folder, { recursive: true, force: true }));
    // First what is cheap: agents that do not load need no server.
    const classes = await checkAgents(settings, folder);
    options.signal?.throwIfAborted();
    return await use(await open(options, settings, folder, atEnd), classes);
  } finally {
    // Each is tried: one that fails to end must not keep the others running.
    for (const end of ends) await end().catch(() => undefined);
  }
}

async function checkAgents(
  { agents, host, timeoutMs }: Settings,
  folder: string,
): Promise<readonly string[]> {
  const records = path.join(folder, 'check.ndjson');
  const child = await startProcess({ ...IDLE, role: 'check', records, agents }, host);
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
  await child.exited;
  clearTimeout(timer);
  const told = readRecords(records);
  throwRefusal(told);
  const [loaded] = recordsOf(told, 'agents');
  if (loaded) return loaded.classes;
  const facts = { field: 'agent', timeoutMs };
  throw BatonError.of(
    'InvalidCommand',
    `the agent’s module ends or blocks its process; ${lastLines(child)}`,
    facts,
  );
}

/** What keeps a process from its work is thrown here with its own code. */
export function throwRefusal(records: readonly HostRecord[]): void {
  const [refused] = recordsOf(records, 'refused');
  if (refused) throw new BatonError(refused.code, refused.message);
}

export const lastLines = (child: Child): string => `its last lines:\n${child.tail() || '(none)'}`;

async function open(
  options: ExploreOptions,
  settings: Settings,
  folder: string,
  atEnd: (end: () => Promise<unknown>) => void,
): Promise<Lab> {
  const own = options.server === undefined;
  const server = await ensureServer(
    options.server ?? { preferExisting: false, ui: false, onProgress: settings.say },
  );
  // Closed after an own server has ended: a call that an interruption left behind throws on a closed connection.
  let closeConnection = (): Promise<void> => Promise.resolve();
  atEnd(() => closeConnection());
  atEnd(() => server.stop());
  const temporal = await connect({
    address: server.address,
    namespace: own ? 'default' : options.server.namespace,
    ...(own ? { env: {} } : {}),
  });
  closeConnection = () => temporal.close();
  const storeUrl = `sqlite:${path.join(folder, 'baton.db')}`;
  const store = await openStore(storeUrl);
  atEnd(() => store.close());

  const id = randomBytes(4).toString('hex');
  const lanes = Array.from({ length: settings.parallel }, (_, index): Lane => {
    const taskQueue = `crash-explorer-${id}-${index + 1}`;
    const facts = { tenant: TENANT, actor: ACTOR, store, taskQueue };
    return { taskQueue, baton: new BatonClient(temporal.client, facts) };
  });
  let started = 0;
  const start = async (
    role: ProcessInput['role'],
    taskQueues: readonly string[],
    kill: ProcessInput['kill'],
  ): Promise<ExplorerHost> => {
    const records = path.join(folder, `${(started += 1)}.ndjson`);
    const { address, namespace } = temporal;
    const agents = role === 'host' ? settings.agents : [];
    const to = { address, namespace, own, storeUrl, taskQueues };
    const child = await startProcess({ role, records, agents, temporal: to, kill }, settings.host);
    const host = hostOf(child, records);
    atEnd(() => host.end());
    return host;
  };
  const failed = new AbortController();
  const control = await start(
    'control',
    lanes.map(({ taskQueue }) => taskQueue),
    null,
  );
  void control.child.exited.then(() => {
    const why = `the control worker ended; ${lastLines(control.child)}`;
    failed.abort(new BatonError('Internal', why));
  });
  const signal = AbortSignal.any([options.signal ?? never, failed.signal]);
  // Before any run's time is counted.
  while (recordsOf(control.records(), 'ready').length === 0) {
    throwRefusal(control.records());
    signal.throwIfAborted();
    await sleep(50);
  }
  return { store, temporal, lanes, signal, startHost: (lane, kill) => start('host', [lane.taskQueue], kill) };
}

function hostOf(child: Child, records: string): ExplorerHost {
  let exit: Awaited<Child['exited']> | null = null;
  void child.exited.then((ended) => (exit = ended));
  return {
    child,
    exit: () => exit,
    records: () => readRecords(records),
    async end() {
      child.kill('SIGKILL');
      await child.exited;
    },
  };
}
