/** Gives the caller a Temporal server: the one that is configured or running, else one of its own. */
import { BatonError } from '../domain/errors.js';
import { connect, isLocal, loadConnection, splitAddress } from './connect.js';
import { startDevServer } from './dev-server.js';
import { uiPortOf } from './ports.js';
import type { ChildExit } from './processes.js';
import { resolveTemporalCli } from './temporal-cli.js';

export { resolveTemporalCli } from './temporal-cli.js';

export interface EnsureServerOptions {
  /** Use this server and start none. Default: Temporal's environment and configuration file. */
  readonly address?: string | undefined;
  readonly namespace?: string | undefined;
  readonly profile?: string | undefined;
  /** Keep the state of a server that is started in this file. Default: in memory, gone with the server. */
  readonly dataFile?: string | undefined;
  /** Serve Temporal's UI too. Default true. */
  readonly ui?: boolean | undefined;
  /** Ports of a server that is started. Default: free ones. */
  readonly port?: number | undefined;
  readonly uiPort?: number | undefined;
  readonly onProgress?: ((message: string) => void) | undefined;
  /** Use a server that is configured or already running. Default true. */
  readonly preferExisting?: boolean | undefined;
  /** Register Baton's search attributes on a server that is started. Default true. */
  readonly searchAttributes?: boolean | undefined;
  /** Environment to read. Default: this process's. */
  readonly env?: NodeJS.ProcessEnv;
}

export interface TemporalServer {
  readonly address: string;
  readonly uiUrl: string | null;
  /** True when it was started here; only then do `stop` and `kill` do anything. */
  readonly owned: boolean;
  readonly pid: number | null;
  /** SIGTERM, then SIGKILL after 10 s. Returns once it has ended. */
  stop(): Promise<void>;
  /** SIGKILL. Returns once it has ended. */
  kill(): Promise<void>;
  /** The end of an owned server; never settles for another one. */
  readonly exited: Promise<ChildExit>;
}

/**
 * A configured address (argument, TEMPORAL_ADDRESS, configuration file) is used or reported, never replaced by another
 * server. A server that merely runs on the default address is used unless a data file or port asks for one's own.
 * A server that is started ends with this process, however this process ends.
 * @throws BatonError `TemporalUnavailable` when the configured server does not answer or none can be started
 */
export async function ensureServer(options: EnsureServerOptions = {}): Promise<TemporalServer> {
  const existing = await findExisting(options);
  if (existing !== null) return existing;
  const cli = await resolveTemporalCli({
    onProgress: options.onProgress,
    ...(options.env ? { env: options.env } : {}),
  });
  options.onProgress?.('Starting a Temporal server …');
  const server = await startDevServer({
    cli,
    namespace: options.namespace,
    dataFile: options.dataFile,
    ui: options.ui ?? true,
    port: options.port,
    uiPort: options.uiPort,
    searchAttributes: options.searchAttributes ?? true,
  });
  return { ...server, owned: true };
}

async function findExisting(options: EnsureServerOptions): Promise<TemporalServer | null> {
  const wanted = options.address !== undefined || (options.preferExisting ?? true);
  if (!wanted) return null;
  const { configured, address } = loadConnection(options);
  const ownWanted =
    options.dataFile !== undefined || options.port !== undefined || options.uiPort !== undefined;
  if (!configured && ownWanted) return null;
  try {
    await (await connect(options)).close();
  } catch (error) {
    if (configured || !isUnavailable(error)) throw error;
    return null;
  }
  return {
    address,
    uiUrl: await findUi(address),
    owned: false,
    pid: null,
    stop: async () => undefined,
    kill: async () => undefined,
    exited: new Promise(() => undefined),
  };
}

function isUnavailable(error: unknown): boolean {
  return error instanceof BatonError && error.code === 'TemporalUnavailable';
}

/** Null when nothing that looks like it is there. */
async function findUi(address: string): Promise<string | null> {
  const { host, port } = splitAddress(address);
  const uiPort = uiPortOf(port);
  if (!isLocal(host) || uiPort === null) return null;
  const url = `http://${host === '::1' ? '[::1]' : host}:${uiPort}`;
  try {
    const page = await fetch(`${url}/api/v1/settings`, { signal: AbortSignal.timeout(1_000) });
    return page.ok ? url : null;
  } catch {
    return null;
  }
}
