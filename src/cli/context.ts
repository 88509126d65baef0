/**
 * What each command runs in: global options with their environment variables, a store and a client opened at first use, and
 * everything closed at the end. Heavy modules are loaded here, when a command needs them, never at start-up.
 */
import os from 'node:os';
import { Option, type Command } from 'commander';
import type { BatonClient } from '../client/client.js';
import type { ConnectOptions } from '../server/connect.js';
import { BatonError } from '../domain/errors.js';
import { uiPortOf } from '../server/ports.js';
import type { Store } from '../store/port.js';
import { shownAddress } from '../store/location.js';
import { durationInput } from './input.js';
import { startTelemetry } from './telemetry.js';

export const DEFAULT_STORE = 'sqlite:./baton.db';

interface GlobalOptions {
  readonly json?: boolean;
  readonly tenant: string;
  readonly actor: string;
  readonly store: string;
  readonly address?: string;
  readonly namespace?: string;
  readonly profile?: string;
  readonly configFile?: string;
  readonly apiKey?: string;
  readonly tls?: boolean;
  readonly tlsCertPath?: string;
  readonly tlsKeyPath?: string;
  readonly tlsCaPath?: string;
  readonly tlsServerName?: string;
  readonly codec?: string;
  readonly taskQueue: string;
  readonly policy?: string;
  readonly timeout: string;
}

export interface Context {
  readonly json: boolean;
  readonly tenant: string;
  readonly actor: string;
  readonly taskQueue: string;
  /** Path of the policy file; undefined: everything is allowed. */
  readonly policy: string | undefined;
  /** May carry a password: `shownStore` is for people, logs and documents. */
  readonly storeUrl: string;
  readonly shownStore: string;
  readonly timeoutMs: number;
  /** With the codecs of `--codec`, which are loaded at first use. */
  connectOptions(): Promise<ConnectOptions>;
  store(): Promise<Store>;
  /** Connected, or `TemporalUnavailable`. */
  client(): Promise<BatonClient>;
  /** For what needs the store only: nothing is asked of a server unless something turns out to need it. */
  offlineClient(): Promise<BatonClient>;
}

/** Empty variables count as unset: scripts clear them that way. */
const env = (name: string, fallback: string): string => process.env[name] || fallback;

/** Adds the options that every command takes. */
export function addGlobalOptions(program: Command): void {
  program
    .addOption(new Option('--json', 'print one JSON document'))
    .addOption(
      new Option('--tenant <id>', 'owner of the runs (BATON_TENANT)').default(env('BATON_TENANT', 'default')),
    )
    .addOption(
      new Option('--actor <id>', 'who gives the command (BATON_ACTOR)').default(
        env('BATON_ACTOR', userName()),
        'your user name',
      ),
    )
    .addOption(
      new Option('--store <url>', 'where attempts and artifacts are kept (BATON_STORE)').default(
        env('BATON_STORE', DEFAULT_STORE),
        JSON.stringify(shownAddress(env('BATON_STORE', DEFAULT_STORE))),
      ),
    )
    .addOption(new Option('--address <host:port>', 'Temporal server (TEMPORAL_ADDRESS)'))
    .addOption(new Option('--namespace <name>', 'Temporal namespace (TEMPORAL_NAMESPACE)'))
    .addOption(new Option('--profile <name>', "profile of Temporal's configuration file (TEMPORAL_PROFILE)"))
    .addOption(new Option('--config-file <path>', "Temporal's configuration file (TEMPORAL_CONFIG_FILE)"))
    .addOption(
      new Option('--api-key <key>', 'Temporal API key; better by TEMPORAL_API_KEY, which `ps` does not show'),
    )
    .addOption(new Option('--tls', 'TLS to the server (TEMPORAL_TLS)'))
    .addOption(new Option('--no-tls', 'no TLS, whatever is configured'))
    .addOption(new Option('--tls-cert-path <file>', 'client certificate (TEMPORAL_TLS_CLIENT_CERT_PATH)'))
    .addOption(new Option('--tls-key-path <file>', 'its key (TEMPORAL_TLS_CLIENT_KEY_PATH)'))
    .addOption(new Option('--tls-ca-path <file>', "server's authority (TEMPORAL_TLS_SERVER_CA_CERT_PATH)"))
    .addOption(
      new Option('--tls-server-name <name>', "name in the server's certificate (TEMPORAL_TLS_SERVER_NAME)"),
    )
    .addOption(
      new Option('--codec <module>', 'ES module that exports `payloadCodecs` (BATON_CODEC)').default(
        process.env['BATON_CODEC'] || undefined,
      ),
    )
    .addOption(
      new Option('--task-queue <name>', 'task queue of the control worker (BATON_TASK_QUEUE)').default(
        env('BATON_TASK_QUEUE', 'baton'),
      ),
    )
    .addOption(
      new Option('--policy <file>', 'who may do what, as YAML (BATON_POLICY; default: all may)').default(
        process.env['BATON_POLICY'] || undefined,
      ),
    )
    .addOption(new Option('--timeout <duration>', 'longest wait for the answer of a command').default('10s'))
    .addHelpText(
      'after',
      "\nTEMPORAL_UI: where Temporal's UI is, for links to runs (default: a development server's)",
    );
}

function userName(): string {
  try {
    return os.userInfo().username;
  } catch {
    // A user id without a name, as in some containers.
    return 'unknown';
  }
}

/** Wraps a command's action: builds its context, closes what it opened. The last argument of `run` is the context. */
export function action<A extends unknown[]>(
  run: (context: Context, ...args: A) => Promise<void>,
): (...args: unknown[]) => Promise<void> {
  return async (...args) => {
    const command = args.at(-1) as Command;
    const name = command.name();
    const opened = new Opened(command.optsWithGlobals<GlobalOptions>(), !READS.has(name) && name !== 'gc');
    const telemetry = READS.has(name) ? null : await startTelemetry(name, opened.json);
    try {
      await run(opened, ...(args.slice(0, -1) as A));
    } finally {
      await opened.close();
      await telemetry?.stop();
    }
  };
}

/** An empty one would be something else in each place: the default, the working folder, a name that is not valid. */
function checkGiven(options: GlobalOptions): void {
  for (const name of NEVER_EMPTY) {
    if (options[name] !== '') continue;
    const field = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    throw BatonError.of('InvalidCommand', `\`--${field}\` is empty: give a value, or leave it out`, {
      field,
    });
  }
}

const NEVER_EMPTY = [
  'store',
  'address',
  'namespace',
  'profile',
  'configFile',
  'apiKey',
  'tlsCertPath',
  'tlsKeyPath',
  'tlsCaPath',
  'tlsServerName',
  'codec',
  'taskQueue',
  'policy',
] as const satisfies readonly (keyof GlobalOptions)[];

/** Commands that only read and make no spans: for them a store file that is not there is a mistyped path, not a store to be made. */
const READS = new Set([
  'show',
  'list',
  'watch',
  'attempts',
  'artifacts',
  'recovery',
  'effects',
  'audit',
  'export',
  'report',
]);

class Opened implements Context {
  readonly json: boolean;
  readonly tenant: string;
  readonly actor: string;
  readonly taskQueue: string;
  readonly policy: string | undefined;
  readonly storeUrl: string;
  readonly shownStore: string;
  readonly timeoutMs: number;
  readonly #connect: Omit<ConnectOptions, 'payloadCodecs'>;
  readonly #codec: string | undefined;
  #store: Promise<Store> | undefined;
  readonly #closers: (() => Promise<void>)[] = [];

  constructor(
    options: GlobalOptions,
    private readonly createStore: boolean,
  ) {
    checkGiven(options);
    this.json = options.json === true;
    this.tenant = options.tenant;
    this.actor = options.actor;
    this.taskQueue = options.taskQueue;
    this.policy = options.policy;
    this.storeUrl = options.store;
    this.shownStore = shownAddress(options.store);
    this.timeoutMs = durationInput('timeout', options.timeout);
    const { address, namespace, profile, configFile, apiKey, tls } = options;
    const { tlsCertPath, tlsKeyPath, tlsCaPath, tlsServerName } = options;
    const files = { tlsCertPath, tlsKeyPath, tlsCaPath, tlsServerName };
    this.#connect = { address, namespace, profile, configFile, apiKey, tls, ...files };
    this.#codec = options.codec;
  }

  async connectOptions(): Promise<ConnectOptions> {
    if (this.#codec === undefined) return this.#connect;
    const { loadCodecs } = await import('../server/codec.js');
    return { ...this.#connect, payloadCodecs: await loadCodecs(this.#codec) };
  }

  async store(): Promise<Store> {
    if (!this.#store) {
      const { openStore } = await import('../store/open.js');
      this.#store ??= openStore(this.storeUrl, { create: this.createStore }).then((store) => {
        this.#closers.push(() => store.close());
        return store;
      });
    }
    return this.#store;
  }

  async client(): Promise<BatonClient> {
    const { connect } = await import('../server/connect.js');
    const options = await this.connectOptions();
    const [connected, store] = await Promise.all([connect(options), this.store()]);
    this.#closers.push(() => connected.close());
    return this.#over(connected.client, store, connected.address);
  }

  async offlineClient(): Promise<BatonClient> {
    const [{ loadConnection, clientOver }, { Connection }] = await Promise.all([
      import('../server/connect.js'),
      import('@temporalio/client'),
    ]);
    const loaded = loadConnection(await this.connectOptions());
    const connection = Connection.lazy({ ...loaded.options, connectTimeout: 3_000 });
    this.#closers.push(() => connection.close());
    return this.#over(clientOver(connection, loaded), await this.store(), loaded.address);
  }

  async #over(
    client: import('@temporalio/client').Client,
    store: Store,
    address: string,
  ): Promise<BatonClient> {
    const { BatonClient } = await import('../client/client.js');
    const { tenant, actor, taskQueue, timeoutMs, policy } = this;
    const ui = uiOf(address);
    const more = { ...(ui ? { ui } : {}), ...(policy === undefined ? {} : { policy }) };
    return new BatonClient(client, { tenant, actor, store, taskQueue, timeoutMs, ...more });
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#closers.splice(0).map((close) => close()));
  }
}

/** Temporal's UI: as told (TEMPORAL_UI), or where a development server on this machine serves it. */
export function uiOf(address: string): string | null {
  if (process.env['TEMPORAL_UI']) return process.env['TEMPORAL_UI'];
  const local = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::(\d+))?$/.exec(address);
  const port = uiPortOf(Number(local?.[2] ?? 7233));
  return local && port !== null ? `http://${local[1]}:${port}` : null;
}
