/** `baton dev`: Temporal server, its UI and a control worker in one, until Ctrl-C. Uses a server that is already there. */
import type { Command } from 'commander';
import type { TemporalServer } from '../server/find.js';
import { BatonError } from '../domain/errors.js';
import { uiPortOf } from '../server/ports.js';
import { addAuthorityOptions, authorityInput, type AuthorityOptions } from './authority.js';
import { action, uiOf, type Context } from './context.js';
import { portInput } from './input.js';
import { write } from './output.js';
import { stopSignal } from './signals.js';

interface Options extends AuthorityOptions {
  readonly port?: string;
  readonly uiPort?: string;
  readonly dataFile?: string;
  readonly memory?: boolean;
}

/** Runs outlive the server only if it remembers them as the store does: so it keeps a file by default. */
const DATA_FILE = './baton-temporal.db';

export function registerDev(program: Command): void {
  addAuthorityOptions(
    program.command('dev').description('Temporal server, UI and control worker in one, for development'),
  )
    .option('--port <n>', 'port of the server (default: 7233, or a free one)')
    .option('--ui-port <n>', 'port of the UI (default: 1000 above, or a free one)')
    .option('--data-file <file>', `where the server keeps its state (default: ${DATA_FILE})`)
    .option('--memory', 'keep the state of the server in memory only')
    .action(
      action(async (context, options: Options) => {
        const authority = authorityInput(options);
        const stop = stopSignal();
        const progress = (message: string): void => void process.stderr.write(`${message}\n`);
        const server = await findServer(context, options, progress);
        try {
          await runUntilStopped(context, server, authority, stop.asked);
        } finally {
          await server.stop();
          stop.dispose();
        }
      }),
    );
}

async function runUntilStopped(
  context: Context,
  server: TemporalServer,
  endpoint: ReturnType<typeof authorityInput>,
  stopped: Promise<unknown>,
): Promise<void> {
  const { runControl } = await import('./control.js');
  const control = await runControl(context, {
    address: server.address,
    plain: server.owned,
    ...endpoint,
  });
  try {
    const { address, namespace, authorityUrl: authority } = control;
    const ui = server.uiUrl ?? uiOf(address);
    const { taskQueue, shownStore: store } = context;
    const ready = {
      ready: true,
      pid: process.pid,
      address,
      namespace,
      ui,
      owned: server.owned,
      serverPid: server.pid,
      taskQueue,
      store,
      authority,
    };
    await write(context.json ? `${JSON.stringify(ready)}\n` : text(ready));
    const serverGone = server.exited.then(() => {
      throw BatonError.of('TemporalUnavailable', 'the Temporal server ended by itself', { address });
    });
    await Promise.race([stopped, control.ended, serverGone]);
  } finally {
    await control.stop();
  }
}

function text(ready: {
  address: string;
  namespace: string;
  ui: string | null;
  store: string;
  owned: boolean;
  authority: string | null;
}): string {
  return [
    `Temporal server  ${ready.address}  (namespace ${ready.namespace}${ready.owned ? '' : ', already running'})`,
    `Temporal UI      ${ready.ui ?? 'none'}`,
    `Store            ${ready.store}`,
    ...(ready.authority === null ? [] : [`Authority check  ${ready.authority}`]),
    ...(ready.address === '127.0.0.1:7233'
      ? []
      : [`In other shells: export TEMPORAL_ADDRESS=${ready.address}`]),
    'Ctrl-C stops everything that was started here.',
    '',
  ].join('\n');
}

/** A server that is configured or on the default address, unless a port or file asks for one's own. */
async function findServer(
  context: Context,
  options: Options,
  onProgress: (message: string) => void,
): Promise<TemporalServer> {
  const { ensureServer } = await import('../server/find.js');
  const { loadConnection, connect } = await import('../server/connect.js');
  const port = options.port === undefined ? undefined : portInput('port', options.port);
  const uiPort = options.uiPort === undefined ? undefined : portInput('ui-port', options.uiPort);
  const own =
    port !== undefined || uiPort !== undefined || options.dataFile !== undefined || options.memory === true;
  const connecting = await context.connectOptions();
  const common = { ...connecting, onProgress };
  if (!own) {
    const there = await connect(connecting).catch((error: unknown) => {
      // A configured server is used or reported; only the default address may be empty.
      if (loadConnection(connecting).configured) throw error;
      return null;
    });
    await there?.close();
    if (there) return ensureServer(common);
  }
  const { default: getPort } = await import('get-port');
  const serverPort = port ?? (await getPort({ port: 7233 }));
  const preset = uiPortOf(serverPort);
  return ensureServer({
    ...common,
    preferExisting: false,
    address: undefined,
    port: serverPort,
    uiPort: uiPort ?? (await getPort(preset === null ? {} : { port: preset })),
    dataFile: options.memory === true ? undefined : (options.dataFile ?? DATA_FILE),
  });
}
