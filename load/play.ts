/** Plays the load: starts everything, launches the runs, kills hosts meanwhile, and reads the records when all has ended. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import pMap from 'p-map';
import { BatonClient } from '../src/client/client.js';
import { connect } from '../src/server/connect.js';
import { ensureServer } from '../src/server/find.js';
import type { Child } from '../src/server/processes.js';
import { shownAddress } from '../src/store/location.js';
import { openStore } from '../src/store/open.js';
import { loadNow, machineOf } from '../bench/overhead/machine.js';
import { withEnds, type AtEnd } from '../faults/ends.js';
import { judge } from './checks.js';
import { documents, PACKAGE, SLOTS, STEPS } from './definitions.js';
import { figuresOf, type Memory } from './figures.js';
import type { HostInput } from './host-process.js';
import { killHosts, type Kill } from './kills.js';
import { peakMemory, startControl, startHostProcess } from './processes.js';
import { readRecords, type LaunchedLoad, type LoadRecords } from './records.js';
import type { LoadReport } from './report.js';

export interface LoadOptions {
  readonly runs: number;
  readonly hosts: number;
  readonly kills: number;
  /** Runs that are open at once. */
  readonly atOnce: number;
  readonly places: number;
  readonly stepMs: number;
  readonly ttlMs: number;
  /** Default: a SQLite file of the load's own. */
  readonly store?: string | undefined;
  /** Default: a development server of the load's own, in memory. */
  readonly address?: string | undefined;
  readonly namespace?: string | undefined;
  /** All must have ended by then. */
  readonly limitMs: number;
  readonly onProgress: (message: string) => void;
  readonly signal?: AbortSignal;
}

/** What the figures were measured with. */
export type Settings = Omit<
  LoadOptions,
  'runs' | 'store' | 'address' | 'namespace' | 'onProgress' | 'signal' | 'limitMs'
> & { readonly slots: number; readonly store: string; readonly server: string };

/** Hosts that start at once: more of them take the processor from each other until none is ready in time. */
const STARTS_AT_ONCE = 3;
const LAUNCH_LIMIT_MS = 60_000;

interface Played {
  readonly records: LoadRecords;
  readonly memory: Memory;
}

/** Never throws for what the load found: that stands in the report. What was started is ended in any case. */
export async function play(
  options: LoadOptions,
): Promise<LoadReport & { readonly records: LoadRecords | null }> {
  const loadBefore = loadNow();
  const { hosts, kills, atOnce, places, stepMs, ttlMs } = options;
  const settings: Settings = {
    ...{ hosts, kills, atOnce, places, stepMs, ttlMs, slots: SLOTS.length },
    store: options.store === undefined ? 'a SQLite file, synced at each commit' : shownAddress(options.store),
    server: options.address ?? 'a development server of this load, in memory',
  };
  let serverVersion: string | null = null;
  const over = new AbortController();
  const limit = setTimeout(
    () => over.abort(new Error(`not over in ${options.limitMs / 1_000} s`)),
    options.limitMs,
  );
  const signal = options.signal ? AbortSignal.any([over.signal, options.signal]) : over.signal;
  const done = (
    played: Played | null,
    broken: string | null = null,
  ): LoadReport & { records: LoadRecords | null } => {
    const problems: LoadReport['problems'] = {
      ...(played === null ? {} : judge(played.records)),
      ...(broken === null ? {} : { 'broken off': [broken] }),
    };
    return {
      ok: Object.keys(problems).length === 0,
      settings,
      figures: played === null ? null : figuresOf(played.records, played.memory),
      problems,
      machine: machineOf(serverVersion, loadBefore),
      records: played?.records ?? null,
    };
  };
  try {
    const played = await withEnds((atEnd) => {
      const playing = stage(options, signal, atEnd, (version) => (serverVersion = version));
      // What an interruption leaves behind fails while everything is being ended; nobody is to hear of it.
      playing.catch(() => undefined);
      return Promise.race([playing, aborted(signal)]);
    });
    return done(played);
  } catch (error) {
    return done(null, error instanceof Error ? error.message : String(error));
  } finally {
    clearTimeout(limit);
  }
}

async function stage(
  options: LoadOptions,
  signal: AbortSignal,
  atEnd: AtEnd,
  onServer: (version: string) => void,
): Promise<Played> {
  const { onProgress, ttlMs, hosts: count } = options;
  const folder = await mkdtemp(path.join(os.tmpdir(), 'baton-load-'));
  atEnd(() => rm(folder, { recursive: true, force: true }));
  const named = options.address === undefined ? { preferExisting: false } : { address: options.address };
  const server = await ensureServer({ ...named, namespace: options.namespace, ui: false, onProgress });
  atEnd(() => server.stop());
  const { address } = server;
  const env = options.address === undefined ? { env: {} } : {};
  // Never closed: a call that an interruption leaves behind would throw on a closed connection, past every catch.
  const { client, namespace } = await connect({ address, namespace: options.namespace, ...env });
  onServer((await client.workflowService.getSystemInfo({})).serverVersion);
  const storeUrl = options.store ?? `sqlite:${path.join(folder, 'baton.db')}`;
  const store = await openStore(storeUrl);
  atEnd(() => store.close());
  const tenant = `load-${randomBytes(4).toString('hex')}`;
  const baton = new BatonClient(client, {
    tenant,
    actor: 'load',
    store,
    taskQueue: tenant,
    timeoutMs: LAUNCH_LIMIT_MS,
  });
  await baton.publish({ documents: documents(ttlMs) });

  const workLog = path.join(folder, 'work.log');
  const { places, stepMs } = options;
  const all = { address, namespace, taskQueue: tenant, workLog, places };
  const input: HostInput = { ...all, stepMs: STEPS.map(() => stepMs) };
  onProgress(`Starting a control worker and ${count} hosts …`);
  const control = await startControl(input, storeUrl, atEnd);
  const startHost = (): Promise<Child> => startHostProcess(input, storeUrl, atEnd);
  const started = await pMap(Array.from({ length: count }), startHost, {
    concurrency: STARTS_AT_ONCE,
    signal,
  });
  const hosts = new Set(started);

  onProgress(
    `${options.runs} runs, at most ${options.atOnce} at once; ${options.kills} hosts will be killed …`,
  );
  const killed: Kill[] = [];
  const ended = new AbortController();
  const attempts = options.runs * SLOTS.length;
  const onKill = (kill: Kill): void => {
    killed.push(kill);
    onProgress(`  host ${kill.pid} killed in the middle of ${kill.attempts.length} attempt(s)`);
  };
  const { kills } = options;
  const killing = killHosts({ kills, attempts, workLog, hosts, startHost, onKill, over: ended.signal });
  let answered = 0;
  const launched = await pMap(
    Array.from({ length: options.runs }),
    async () => {
      const one = await launchOne(baton);
      answered += 1;
      if (answered % Math.ceil(options.runs / 10) === 0)
        onProgress(`  ${answered} of ${options.runs} runs have ended`);
      return one;
    },
    { concurrency: options.atOnce, signal },
  );
  ended.abort();
  await killing;
  const peaks = await Promise.all([...hosts].map((host) => peakMemory(host.pid)));
  const memory: Memory = {
    control: await peakMemory(control.pid),
    hosts: peaks.filter((peak) => peak !== null),
  };
  onProgress('Reading the records …');
  const records = await readRecords({ client, store, tenant, workLog }, launched, killed, kills);
  return { records, memory };
}

async function launchOne(baton: BatonClient): Promise<LaunchedLoad> {
  const run = `run-${randomBytes(5).toString('hex')}`;
  const sentAt = Date.now();
  const end = (results: LaunchedLoad['results'], problem: string | null): LaunchedLoad => ({
    ...{ run, sentAt, answeredAt: Date.now(), results, problem },
  });
  try {
    return end(await (await baton.launch({ package: PACKAGE, run })).result(), null);
  } catch (error) {
    return end(null, error instanceof Error ? error.message : String(error));
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const fail = (): void => reject(signal.reason as Error);
    if (signal.aborted) fail();
    signal.addEventListener('abort', fail, { once: true });
  });
}
