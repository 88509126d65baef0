/** Temporal servers of tests: the shared one, and ones of a test's own that may be killed and restarted. */
import { get } from 'node:http';
import { inject } from 'vitest';
import { startDevServer, type DevServer } from '../../src/server/dev-server.js';
import type { SharedServer } from './global-setup.js';

/** The suite's server. Tests keep apart by their tenants and task queues; nobody stops it. */
export async function sharedServer(): Promise<SharedServer> {
  return (await ask('/server')) as SharedServer;
}

/** The `temporal` program, found or built once for the whole suite. */
export async function temporalCli(): Promise<string> {
  return (await ask('/cli')) as string;
}

export interface TestServer extends SharedServer {
  /** Changes with every restart. */
  readonly pid: number;
  stop(): Promise<void>;
  /** SIGKILL; `restart` brings it back. */
  kill(): Promise<void>;
  /** Same port, same data file. Ends the running one first if it still runs. */
  restart(): Promise<void>;
}

export interface TestServerOptions {
  /** Needed for a server that must remember anything over a restart. */
  readonly dataFile?: string;
  /** Serve the UI too. Default false. */
  readonly ui?: boolean;
  /** Default true. */
  readonly searchAttributes?: boolean;
  /** Dynamic configuration of the server, besides what every one of ours has. */
  readonly config?: Readonly<Record<string, unknown>>;
}

/** A server of the caller's own; the caller stops it. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const cli = await temporalCli();
  const start = (ports: { port?: number; uiPort?: number }) =>
    startDevServer({
      cli,
      dataFile: options.dataFile,
      ui: options.ui ?? false,
      searchAttributes: options.searchAttributes ?? true,
      config: options.config,
      ...ports,
    });
  let server: DevServer = await start({});
  const { address, uiUrl, port, uiPort } = server;
  return {
    address,
    uiUrl,
    namespace: 'default',
    get pid() {
      return server.pid;
    },
    stop: () => server.stop(),
    kill: () => server.kill(),
    restart: async () => {
      await server.stop();
      server = await start({ port, ...(uiPort === null ? {} : { uiPort }) });
    },
  };
}

/** Of the suite's desk (global-setup.ts). Not `fetch`: building the program may take longer than the five minutes after which it gives up. */
export function ask(path: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    get(`${inject('temporalDesk')}${path}`, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => (text += part));
      response.on('error', reject);
      response.on('end', () =>
        response.statusCode === 200 ? resolve(JSON.parse(text)) : reject(new Error(text)),
      );
    }).on('error', reject);
  });
}
