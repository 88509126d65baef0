/**
 * The two ways to get a `temporal` program that is not on this machine: the SDK's own download, and Go. Both write into
 * a folder of their own; the caller renames the result, so that nobody ever runs half a program.
 */
import { createRequire } from 'node:module';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CLI_VERSION, onPath } from './cli-check.js';
import { startChild, type Child } from './processes.js';

export type Progress = (message: string) => void;

export interface FetchOptions {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly onProgress: Progress;
}

/** The way was not open; `message` says why. The next way is tried. */
export class WayClosed extends Error {}

const MODULE = `github.com/temporalio/cli/cmd/temporal@${CLI_VERSION}`;
/** The SDK has no time limit of its own: a firewall that drops packets would hold it for minutes. */
const DOWNLOAD_BEGIN_MS = 8_000;
const DOWNLOAD_TOTAL_MS = 300_000;
const BUILD_TOTAL_MS = 1_800_000;
const PROGRESS_EVERY_MS = 5_000;

/**
 * The SDK only downloads as part of starting a server, and only in its native part, which must not be loaded into a
 * client process; so a process of its own starts one and ends it at once.
 */
const DOWNLOAD_SCRIPT = `
const [worker, folder, version] = process.argv.slice(1);
const { Runtime, DefaultLogger } = require(worker);
Runtime.install({ logger: new DefaultLogger('ERROR') });
(async () => {
  const runtime = Runtime.instance();
  const server = await runtime.createEphemeralServer({
    type: 'dev-server', ip: '127.0.0.1', port: null, ui: false, uiPort: null, namespace: 'default', dbFilename: null,
    exe: { type: 'cached-download', downloadDir: folder, version, ttl: 86400000, sdkName: 'sdk-typescript', sdkVersion: '0' },
    log: { format: 'pretty', level: 'error' }, extraArgs: [],
  });
  await runtime.shutdownEphemeralServer(server);
})().catch((error) => { console.error(String(error.message ?? error)); process.exit(1); });
`;

/** @returns the downloaded program @throws WayClosed */
export async function download({ folder, env, onProgress }: FetchOptions): Promise<string> {
  if (env['BATON_TEMPORAL_DOWNLOAD'] === '0')
    throw new WayClosed('switched off by BATON_TEMPORAL_DOWNLOAD=0');
  const worker = resolveWorker();
  onProgress(`Downloading Temporal ${CLI_VERSION} …`);
  const child = await startChild(process.execPath, ['-e', DOWNLOAD_SCRIPT, worker, folder, CLI_VERSION], {
    env,
    name: 'the download',
  });
  const { code } = await finish(child, 'Downloading Temporal', DOWNLOAD_TOTAL_MS, onProgress, {
    what: `nothing arrived in ${DOWNLOAD_BEGIN_MS / 1000} s`,
    after: DOWNLOAD_BEGIN_MS,
    holds: async () => (await readdir(folder)).length === 0,
  });
  const file = (await readdir(folder)).find((name) => !name.endsWith('.downloading'));
  if (file === undefined) throw new WayClosed(lastLine(child) ?? `the download ended with code ${code}`);
  return path.join(folder, file);
}

/** @returns the built program @throws WayClosed */
export async function build({ folder, env, onProgress }: FetchOptions): Promise<string> {
  const go = await onPath('go', env);
  if (go === null) throw new WayClosed('no `go` on PATH');
  onProgress(`Building Temporal ${CLI_VERSION} with Go; this is done once and takes a few minutes …`);
  const child = await startChild(go, ['install', MODULE], {
    env: { ...env, GOBIN: folder },
    cwd: folder,
    name: 'go install',
  });
  const { code } = await finish(child, 'Building Temporal', BUILD_TOTAL_MS, onProgress);
  if (code !== 0)
    throw new WayClosed(`go install ended with code ${code}: ${lastLine(child) ?? 'no output'}`);
  return path.join(folder, 'temporal');
}

interface GiveUp {
  readonly what: string;
  readonly after: number;
  readonly holds: () => Promise<boolean>;
}

/** Waits for a child's end, saying how long it has taken so far. */
async function finish(child: Child, doing: string, totalMs: number, onProgress: Progress, giveUp?: GiveUp) {
  const begun = performance.now();
  const ticker = setInterval(
    () => onProgress(`${doing} … ${Math.round((performance.now() - begun) / 1000)} s`),
    PROGRESS_EVERY_MS,
  );
  const over = new AbortController();
  const limit = async (ms: number, what: string, holds: () => Promise<boolean>) => {
    await sleep(ms, undefined, { signal: over.signal });
    if (await holds()) throw new WayClosed(what);
    return new Promise<never>(() => undefined);
  };
  const waits = [
    child.exited,
    limit(totalMs, `not done in ${totalMs / 60_000} minutes`, async () => true),
    ...(giveUp === undefined ? [] : [limit(giveUp.after, giveUp.what, giveUp.holds)]),
  ];
  for (const wait of waits) wait.catch(() => undefined);
  try {
    return await Promise.race(waits);
  } catch (error) {
    await child.stop(1_000);
    throw error;
  } finally {
    clearInterval(ticker);
    over.abort();
  }
}

function resolveWorker(): string {
  try {
    return createRequire(import.meta.url).resolve('@temporalio/worker');
  } catch {
    throw new WayClosed('@temporalio/worker is not installed');
  }
}

function lastLine(child: Child): string | undefined {
  return child
    .tail()
    .split('\n')
    .filter((line) => line.trim() !== '')
    .at(-1);
}
