/** All processes of the demo: Temporal server, control worker, publisher and agent hosts, each of its own; and what talks to them. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { BatonClient } from '../../client/client.js';
import { BatonError } from '../../domain/errors.js';
import type { Context } from '../context.js';
import { connect, connectionVariables, type TemporalConnection } from '../../server/connect.js';
import { ensureServer, type TemporalServer } from '../../server/find.js';
import { startChild, type Child } from '../../server/processes.js';
import { openStore } from '../../store/open.js';
import type { Store } from '../../store/port.js';
import type { Reporter } from './reporter.js';

/** How long a process may take until it is ready; the first start on a busy machine takes some seconds. */
const READY_MS = 60_000;
export const FIRST_CLASS = 'researcher';
export const SECOND_CLASS = 'senior-researcher';
export const PUBLISHER_CLASS = 'publisher';

export interface StageOptions {
  readonly context: Pick<Context, 'tenant' | 'actor' | 'connectOptions'>;
  readonly workdir: string;
  /** Default: a SQLite file in the working folder. */
  readonly store?: string | undefined;
  readonly signal: AbortSignal;
  readonly reporter: Reporter;
}

export interface Stage {
  readonly server: TemporalServer;
  readonly temporal: TemporalConnection;
  readonly store: Store;
  readonly storeUrl: string;
  readonly baton: BatonClient;
  readonly control: Child;
  readonly first: Child;
  readonly second: Child;
  /** The service that publishes, and owns that effect. */
  readonly publisher: { readonly child: Child; readonly url: string; readonly database: string };
  /** The host that is to be killed while it publishes. */
  readonly publishing: Child;
  /** Starts another host of that class; resolves when it is ready. */
  startPublishing(name: string): Promise<Child>;
  /** Fires when the caller's signal does, or when a process ends that should go on. */
  readonly signal: AbortSignal;
  /** Ends everything that runs still, in the order in which nothing complains. */
  close(): Promise<void>;
}

/** Folder of this package, from source or compiled. */
export function packageRoot(): string {
  for (let folder = path.dirname(fileURLToPath(import.meta.url)); ; folder = path.dirname(folder)) {
    const manifest = path.join(folder, 'package.json');
    if (
      existsSync(manifest) &&
      (JSON.parse(readFileSync(manifest, 'utf8')) as { name?: string }).name === 'temporal-baton'
    )
      return folder;
    if (path.dirname(folder) === folder)
      throw new BatonError('Internal', 'the package of baton was not found');
  }
}

/** @throws BatonError when a server cannot be had or a process does not start; what was started until then is ended */
export async function setStage(options: StageOptions): Promise<Stage> {
  const { workdir, reporter, context } = options;
  const cleanups: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup().catch(() => undefined);
  };
  const failed = new AbortController();
  const { payloadCodecs: _codecs, ...connecting } = await context.connectOptions();
  const signal = AbortSignal.any([options.signal, failed.signal]);
  try {
    const starting = ensureServer({
      ...connecting,
      dataFile: path.join(workdir, 'temporal.db'),
      onProgress: (message) => reporter.progress(message),
    });
    // Getting a server may take minutes on a fresh machine; Ctrl-C must not have to wait for it.
    const server = await Promise.race([starting, aborted(signal)]).catch((error: unknown) => {
      void starting.then((late) => late.stop()).catch(() => undefined);
      throw error;
    });
    cleanups.push(() => server.stop());
    signal.throwIfAborted();
    reporter.step(
      `Temporal server at ${server.address}${server.owned ? ' (started for the demo)' : ''}, UI ${server.uiUrl ?? 'unknown'}`,
    );

    const temporal = await connect({
      ...connecting,
      address: server.address,
      ...(server.owned ? { tls: false } : {}),
    });
    cleanups.push(() => temporal.close());
    const storeUrl = options.store ?? `sqlite:${path.join(workdir, 'baton.db')}`;
    const store = await openStore(storeUrl);
    cleanups.push(() => store.close());
    const taskQueue = `baton-demo-${path.basename(workdir).slice(-6)}`;
    const baton = new BatonClient(temporal.client, {
      tenant: context.tenant,
      actor: context.actor,
      store,
      taskQueue,
      timeoutMs: 20_000,
      ...(server.uiUrl === null ? {} : { ui: server.uiUrl }),
    });

    const { profile } = connecting;
    const env = {
      ...process.env,
      // Not in the arguments, which everybody on the machine can list: they may carry a password.
      BATON_STORE: storeUrl,
      ...connectionVariables(connecting),
      ...(server.owned ? { TEMPORAL_TLS: 'false' } : {}),
    };
    const shared = [
      ...['--address', temporal.address, '--namespace', temporal.namespace],
      ...['--task-queue', taskQueue],
      ...(profile === undefined ? [] : ['--profile', profile]),
    ];
    const startNode = async (name: string, args: readonly string[]): Promise<Child> => {
      const logFile = path.join(workdir, `${name}.log`);
      const child = await startChild(process.execPath, args, { name, logFile, env });
      cleanups.push(() => child.stop());
      return child;
    };
    const start = (name: string, args: readonly string[]) => startNode(name, [...args, ...shared]);
    const example = (file: string) => path.join(packageRoot(), 'dist/examples/dependency-report', file);
    const startHost = (workerClass: string, name = workerClass) =>
      start(name, [example('host.js'), '--class', workerClass, '--name', name]);
    // At once: each loads Temporal's native code, which takes the most time.
    const [control, first, second] = await Promise.all([
      start('control-worker', [
        path.join(packageRoot(), 'dist/src/cli/main.js'),
        ...['worker', '--json', '--authority-port', '0'],
      ]),
      startHost(FIRST_CLASS),
      startHost(SECOND_CLASS),
    ]);
    reporter.progress('starting the control worker and two agent hosts …');
    const [controlReady] = await Promise.all(
      [control, first, second].map((child) => child.ready('json', READY_MS)),
    );
    signal.throwIfAborted();
    reporter.step(
      `control worker (process ${control.pid}) and two agent hosts: ${FIRST_CLASS} (${first.pid}), ${SECOND_CLASS} (${second.pid})`,
    );

    const { authority } = JSON.parse(controlReady ?? '') as { authority: string };
    const database = path.join(workdir, 'publications.db');
    const service = await startNode('publisher', [
      example('publisher.js'),
      ...['--database', database, '--authority', authority, '--lose-answers', '1'],
    ]);
    const { url } = JSON.parse(await service.ready('json', READY_MS)) as { url: string };
    reporter.step(`publisher (${service.pid}) at ${url}, asks ${authority} who has authority`);
    // Needed last, and up long before.
    const publishing = await startHost(PUBLISHER_CLASS, `${PUBLISHER_CLASS}-1`);

    const gone = (name: string, tail: string) =>
      failed.abort(
        new BatonError('Internal', `${name} ended while the demo needed it. Its last lines:\n${tail}`),
      );
    for (const child of [control, second, service])
      void child.exited.then(() => gone(child.name, child.tail()));
    if (server.owned) void server.exited.then(() => gone('the Temporal server', ''));
    return {
      ...{ server, temporal, store, storeUrl, baton, control, first, second, signal, close },
      publisher: { child: service, url, database },
      publishing,
      async startPublishing(name) {
        const child = await startHost(PUBLISHER_CLASS, name);
        await child.ready('json', READY_MS);
        return child;
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Rejects with the signal's reason when it fires; never resolves. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const fail = (): void => reject(signal.reason as Error);
    if (signal.aborted) fail();
    signal.addEventListener('abort', fail, { once: true });
  });
}
