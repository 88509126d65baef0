/** Starts `temporal server start-dev` on ports of this machine and waits until it can be used. */
import net from 'node:net';
import getPort, { portNumbers } from 'get-port';
import { setTimeout as sleep } from 'node:timers/promises';
import { BatonError } from '../domain/errors.js';
import { connectTo, DEFAULT_NAMESPACE } from './connect.js';
import { startChild, type Child, type ChildExit } from './processes.js';

export const HOST = '127.0.0.1';
const START_TIMEOUT_MS = 60_000;
const START_TRIES = 5;
const STOP_GRACE_MS = 10_000;

/** Design, section 3: the search attributes that a run sets when they are registered, with their types as Temporal's CLI spells them. */
export const SEARCH_ATTRIBUTES = {
  BatonTenant: 'Keyword',
  BatonPackage: 'Keyword',
  BatonStatus: 'Keyword',
  BatonWaiting: 'KeywordList',
} as const;

/** Timers of a dev server are meant for production pace; these let a retry or an expiry be seen when it happens. */
export const DYNAMIC_CONFIG = {
  'history.transferProcessorMaxPollRPS': 1000,
  'history.timerProcessorMaxPollRPS': 1000,
  'history.visibilityProcessorMaxPollRPS': 1000,
  'history.timerProcessorMaxTimeShift': '50ms',
};

export interface DevServerOptions {
  readonly cli: string;
  readonly namespace?: string | undefined;
  /** Keep state in this file. Default: in memory. */
  readonly dataFile?: string | undefined;
  readonly ui: boolean;
  /** Default: a free one. */
  readonly port?: number | undefined;
  readonly uiPort?: number | undefined;
  readonly searchAttributes: boolean;
  /** Further dynamic configuration: key and JSON value. */
  readonly config?: Readonly<Record<string, unknown>> | undefined;
}

export interface DevServer {
  readonly address: string;
  readonly port: number;
  readonly uiUrl: string | null;
  readonly uiPort: number | null;
  readonly pid: number;
  readonly exited: Promise<ChildExit>;
  stop(): Promise<void>;
  kill(): Promise<void>;
}

/**
 * @throws BatonError `TemporalUnavailable` when it does not come up; the message has its last lines
 */
export async function startDevServer(options: DevServerOptions): Promise<DevServer> {
  for (let attempt = 1; ; attempt += 1) {
    const port = options.port ?? (await freePort());
    const uiPort = options.ui ? (options.uiPort ?? (await freePort())) : null;
    const child = await startChild(options.cli, serverArguments(options, port, uiPort), {
      name: 'temporal server',
    });
    try {
      await untilUsable(child, options, `${HOST}:${port}`);
      return describe(child, port, uiPort);
    } catch (error) {
      await child.stop(0);
      // Between choosing a free port and the server's bind anybody may take it; the server also picks some by itself.
      const taken = /address already in use|can't set .*port|bind:/i.test(child.tail());
      const ownChoice = await stillFree([options.port, options.uiPort]);
      if (!taken || !ownChoice || attempt >= START_TRIES) throw notStarted(child, error, options, !ownChoice);
    }
  }
}

function serverArguments(options: DevServerOptions, port: number, uiPort: number | null): string[] {
  const args = ['server', 'start-dev', '--ip', HOST, '--port', String(port), '--log-level', 'error'];
  if (uiPort === null) args.push('--headless');
  else args.push('--ui-port', String(uiPort));
  if (options.dataFile !== undefined) args.push('--db-filename', options.dataFile);
  if (options.namespace !== undefined && options.namespace !== DEFAULT_NAMESPACE)
    args.push('--namespace', options.namespace);
  for (const [key, value] of Object.entries({ ...DYNAMIC_CONFIG, ...options.config }))
    args.push('--dynamic-config-value', `${key}=${JSON.stringify(value)}`);
  if (options.searchAttributes) {
    for (const [name, type] of Object.entries(SEARCH_ATTRIBUTES))
      args.push('--search-attribute', `${name}=${type}`);
  }
  return args;
}

async function untilUsable(child: Child, options: DevServerOptions, address: string): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  let ended: ChildExit | undefined;
  void child.exited.then((exit) => (ended = exit));
  const names = options.searchAttributes ? Object.keys(SEARCH_ATTRIBUTES) : [];
  let last: unknown = new Error('no answer');
  while (performance.now() < deadline) {
    if (ended !== undefined) throw new Error(`it ended with code ${ended.code}, signal ${ended.signal}`);
    const problem = await notUsable(address, options.namespace ?? DEFAULT_NAMESPACE, names);
    if (problem === null) return;
    last = problem;
    await sleep(50);
  }
  throw last;
}

async function notUsable(address: string, namespace: string, names: readonly string[]): Promise<unknown> {
  try {
    // Without the user's configuration: their TLS and API key are for another server.
    const server = await connectTo({
      address,
      namespace,
      configured: true,
      security: [],
      payloadCodecs: [],
      options: { address },
    });
    try {
      await server.connection.withDeadline(Date.now() + 3_000, async () => {
        await server.connection.workflowService.describeNamespace({ namespace });
        const { customAttributes } = await server.connection.operatorService.listSearchAttributes({
          namespace,
        });
        const missing = names.filter((name) => !(name in customAttributes));
        if (missing.length > 0)
          throw new Error(`search attributes are not registered yet: ${missing.join(', ')}`);
        // Visibility is the last part to come up.
        await server.connection.workflowService.countWorkflowExecutions({
          namespace,
          query: names.map((name) => `${name} = 'x'`).join(' AND '),
        });
      });
      return null;
    } finally {
      await server.close();
    }
  } catch (error) {
    return error;
  }
}

function describe(child: Child, port: number, uiPort: number | null): DevServer {
  return {
    address: `${HOST}:${port}`,
    port,
    uiUrl: uiPort === null ? null : `http://${HOST}:${uiPort}`,
    uiPort,
    pid: child.pid,
    exited: child.exited,
    stop: async () => {
      await child.stop(STOP_GRACE_MS);
    },
    kill: async () => {
      child.kill('SIGKILL');
      await child.exited;
    },
  };
}

/** Below the range from which the kernel gives out ports to others, so that a restart finds its port free. */
async function freePort(): Promise<number> {
  const from = 15_000 + Math.floor(Math.random() * 15_000);
  return getPort({ host: HOST, port: portNumbers(from, from + 500) });
}

async function stillFree(ports: readonly (number | undefined)[]): Promise<boolean> {
  for (const port of ports) {
    if (port !== undefined && !(await canListen(port))) return false;
  }
  return true;
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = net.createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, HOST, () => probe.close(() => resolve(true)));
  });
}

function notStarted(child: Child, error: unknown, options: DevServerOptions, portTaken: boolean): BatonError {
  const why = error instanceof Error ? error.message : String(error);
  const next = portTaken
    ? `Port ${options.port ?? ''} ${options.uiPort ?? ''} is taken; choose another`
    : 'Start a server yourself and set TEMPORAL_ADDRESS, or look at the lines above';
  return new BatonError(
    'TemporalUnavailable',
    `The Temporal server did not come up: ${why}. Its last lines:\n${child.tail()}\n${next}.`,
    { cli: options.cli, port: options.port ?? null },
    { cause: error },
  );
}
