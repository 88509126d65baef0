/**
 * Where the Temporal server is and a connection to it. Temporal's own configuration file and environment variables are
 * honoured (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_PROFILE, TEMPORAL_API_KEY, TLS …); explicit arguments win.
 * Never loads the native worker.
 */
import net from 'node:net';
import { Client, Connection, type ConnectionOptions } from '@temporalio/client';
import type { DataConverter, PayloadCodec } from '@temporalio/common';
import {
  loadClientConfigProfile,
  toClientOptions,
  type ClientConfigProfile,
  type ClientConnectConfig,
  type LoadClientProfileOptions,
} from '@temporalio/envconfig';
import { clientConverter } from '../client/converter.js';
import { BatonError } from '../domain/errors.js';

export const DEFAULT_ADDRESS = '127.0.0.1:7233';
export const DEFAULT_NAMESPACE = 'default';
/** Longest time to wait for a server's first answer, in milliseconds. */
const CONNECT_TIMEOUT_MS = 3_000;

export interface ConnectOptions {
  /** `host:port`. Default: TEMPORAL_ADDRESS, then Temporal's configuration file, then {@link DEFAULT_ADDRESS}. */
  readonly address?: string | undefined;
  /** Default: TEMPORAL_NAMESPACE, then Temporal's configuration file, then {@link DEFAULT_NAMESPACE}. */
  readonly namespace?: string | undefined;
  /** Profile of Temporal's configuration file. Default: TEMPORAL_PROFILE, then `default`. */
  readonly profile?: string | undefined;
  /** Temporal's configuration file. Default: TEMPORAL_CONFIG_FILE, then where Temporal's own tools look for it. */
  readonly configFile?: string | undefined;
  /** Default: TEMPORAL_API_KEY, then the file. With one, TLS is on unless it is turned off. */
  readonly apiKey?: string | undefined;
  /** Default: TEMPORAL_TLS, then the file; on as soon as anything of TLS is given. */
  readonly tls?: boolean | undefined;
  /** Files in PEM: the client's certificate and its key, for mTLS, and the authority that the server is checked by. */
  readonly tlsCertPath?: string | undefined;
  readonly tlsKeyPath?: string | undefined;
  readonly tlsCaPath?: string | undefined;
  /** Name that the server's certificate must have. Default: the address's. */
  readonly tlsServerName?: string | undefined;
  /** Codecs that payloads go through, as in the control worker and the hosts. Default: none. */
  readonly payloadCodecs?: readonly PayloadCodec[] | undefined;
  /** Environment to read. Default: this process's. */
  readonly env?: NodeJS.ProcessEnv;
}

/** Options under the names that Temporal's own configuration has for them; it then does the rest. */
const VARIABLES = {
  configFile: 'TEMPORAL_CONFIG_FILE',
  apiKey: 'TEMPORAL_API_KEY',
  tls: 'TEMPORAL_TLS',
  tlsCertPath: 'TEMPORAL_TLS_CLIENT_CERT_PATH',
  tlsKeyPath: 'TEMPORAL_TLS_CLIENT_KEY_PATH',
  tlsCaPath: 'TEMPORAL_TLS_SERVER_CA_CERT_PATH',
  tlsServerName: 'TEMPORAL_TLS_SERVER_NAME',
} as const satisfies Partial<Record<keyof ConnectOptions, string>>;

/** What both `Connection.connect` and the worker's `NativeConnection.connect` take. */
export type TemporalConnectionOptions = Pick<ConnectionOptions, 'tls' | 'metadata'> & {
  readonly address: string;
  readonly apiKey?: string;
};

export interface LoadedConnection {
  readonly address: string;
  readonly namespace: string;
  /** True when an argument, the environment or a configuration file named the address; false for the default. */
  readonly configured: boolean;
  /** Pass it to `NativeConnection.connect` for a worker. */
  readonly options: TemporalConnectionOptions;
  /** What is known of how it is protected; no secret in it. */
  readonly security: readonly string[];
  readonly payloadCodecs: readonly PayloadCodec[];
}

export interface TemporalConnection extends LoadedConnection {
  readonly connection: Connection;
  readonly client: Client;
  close(): Promise<void>;
}

/**
 * Address, namespace and credentials, without connecting.
 * @throws BatonError `InvalidCommand` when the configuration file or profile cannot be read
 */
export function loadConnection(options: ConnectOptions = {}): LoadedConnection {
  const env = options.env ?? process.env;
  const load: LoadClientProfileOptions = {
    overrideEnvVars: environmentOf(env, options),
    ...(options.profile === undefined ? {} : { profile: options.profile }),
  };
  let config: ClientConnectConfig;
  try {
    config = toClientOptions(checked(readProfile(load)));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new BatonError(
      'InvalidCommand',
      `Temporal's configuration cannot be read: ${message} [profile=${options.profile ?? env['TEMPORAL_PROFILE'] ?? 'default'}]. ` +
        'Correct the file (TEMPORAL_CONFIG_FILE), the certificates that are named, or name another profile.',
      { field: 'profile' },
      { cause: error },
    );
  }
  const { address: found, tls, metadata, apiKey } = config.connectionOptions;
  const stated = options.address ?? found;
  const address = stated ?? DEFAULT_ADDRESS;
  checkAddress(address);
  return {
    address,
    namespace: options.namespace ?? config.namespace ?? DEFAULT_NAMESPACE,
    configured: stated !== undefined,
    options: {
      address,
      ...(tls === undefined || tls === null ? {} : { tls: tls }),
      ...(typeof apiKey === 'string' ? { apiKey } : {}),
      ...(metadata === undefined ? {} : { metadata: metadata }),
    },
    security: securityOf(config.connectionOptions, options.payloadCodecs ?? []),
    payloadCodecs: options.payloadCodecs ?? [],
  };
}

/** The options that are given, as the environment of a process that is to connect in the same way. */
export function connectionVariables(options: ConnectOptions): Record<string, string> {
  const names = Object.keys(VARIABLES) as (keyof typeof VARIABLES)[];
  return Object.fromEntries(
    names.flatMap((option) => {
      const value = options[option];
      return value === undefined || value === '' ? [] : [[VARIABLES[option], String(value)]];
    }),
  );
}

/** Empty variables count as unset, and options win over variables. */
function environmentOf(env: NodeJS.ProcessEnv, options: ConnectOptions): Record<string, string> {
  const set = Object.entries(env).filter(([, value]) => value !== undefined && value !== '');
  return { ...(Object.fromEntries(set) as Record<string, string>), ...connectionVariables(options) };
}

/** What Temporal's own reader takes without a word although it cannot be meant. */
function checked(profile: ClientConfigProfile): ClientConfigProfile {
  const { tls } = profile;
  if (tls && !tls.disabled && (tls.clientCert === undefined) !== (tls.clientKey === undefined))
    throw new Error(
      `a client certificate needs both a certificate and a key, and the ${tls.clientKey === undefined ? 'key' : 'certificate'} is missing`,
    );
  return profile;
}

function securityOf(
  { tls, apiKey }: Pick<ClientConnectConfig['connectionOptions'], 'tls' | 'apiKey'>,
  codecs: readonly PayloadCodec[],
): string[] {
  const certified = typeof tls === 'object' && tls?.clientCertPair;
  return [
    ...(tls ? [certified ? 'TLS with a client certificate' : 'TLS'] : []),
    ...(apiKey === undefined ? [] : ['API key']),
    ...(codecs.length === 0 ? [] : ['payload codec']),
  ];
}

/**
 * Connects, within {@link CONNECT_TIMEOUT_MS}. A refused local port is reported at once.
 * @throws BatonError `TemporalUnavailable` naming the address, `InvalidCommand` for unreadable configuration
 */
export async function connect(options: ConnectOptions = {}): Promise<TemporalConnection> {
  return connectTo(loadConnection(options));
}

/** The same for a server that is known already; reads no configuration. */
export async function connectTo(loaded: LoadedConnection): Promise<TemporalConnection> {
  await refuseClosedLocalPort(loaded.address);
  const connection = Connection.lazy({ ...loaded.options, connectTimeout: CONNECT_TIMEOUT_MS });
  try {
    await bounded(connection.ensureConnected(), CONNECT_TIMEOUT_MS + 250);
  } catch (error) {
    await connection.close();
    throw unavailable(loaded.address, rootMessage(error), error);
  }
  return {
    ...loaded,
    connection,
    client: clientOver(connection, loaded),
    close: () => connection.close(),
  };
}

/** A client that speaks through the codecs of the configuration. */
export function clientOver(
  connection: Connection,
  { namespace, payloadCodecs }: Pick<LoadedConnection, 'namespace' | 'payloadCodecs'>,
): Client {
  const dataConverter = clientConverter({ payloadCodecs: [...payloadCodecs] }) as DataConverter;
  return new Client({ connection, namespace, ...(payloadCodecs.length > 0 ? { dataConverter } : {}) });
}

/** envconfig throws a TypeError on a file without any profile; such a file says nothing, like an absent one. */
function readProfile(load: LoadClientProfileOptions): ClientConfigProfile {
  try {
    return loadClientConfigProfile(load);
  } catch (error) {
    const named = load.profile ?? load.overrideEnvVars?.['TEMPORAL_PROFILE'];
    if (!(error instanceof TypeError) || named !== undefined) throw error;
    return loadClientConfigProfile({ ...load, disableFile: true });
  }
}

function unavailable(address: string, why: string, cause?: unknown): BatonError {
  return new BatonError(
    'TemporalUnavailable',
    `No Temporal server answers at ${address} (${why}). Check --address or TEMPORAL_ADDRESS, or start one with \`baton dev\`.`,
    { address },
    { cause },
  );
}

function checkAddress(address: string): void {
  if (/^(\[[0-9A-Fa-f:.]+\]|[^\s:/]+)(:\d{1,5})?$/.test(address)) return;
  throw new BatonError(
    'InvalidCommand',
    `address is not host:port [address=${address}]. Give it like ${DEFAULT_ADDRESS}.`,
    {
      field: 'address',
      address,
    },
  );
}

/** Splits `host:port`; an absent port is 7233, as in Temporal's own clients. */
export function splitAddress(address: string): { host: string; port: number } {
  const match = /^(?:\[(.+)\]|([^:]+))(?::(\d+))?$/.exec(address);
  return { host: match?.[1] ?? match?.[2] ?? address, port: Number(match?.[3] ?? 7233) };
}

export function isLocal(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\./.test(host);
}

/** gRPC retries a refused port until its deadline; for this machine a refusal is final. Elsewhere a proxy may be in between. */
async function refuseClosedLocalPort(address: string): Promise<void> {
  const { host, port } = splitAddress(address);
  if (!isLocal(host)) return;
  const problem = await new Promise<NodeJS.ErrnoException | null>((resolve) => {
    const socket = net.connect({ host, port, timeout: CONNECT_TIMEOUT_MS });
    const finish = (error: NodeJS.ErrnoException | null) => {
      socket.destroy();
      resolve(error);
    };
    socket.once('connect', () => finish(null));
    socket.once('error', finish);
    socket.once('timeout', () => finish(new Error('no connection in time')));
  });
  if (problem !== null) throw unavailable(address, problem.code ?? problem.message, problem);
}

async function bounded(promise: Promise<void>, milliseconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer in time')), milliseconds);
  });
  promise.catch(() => undefined);
  await Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

function rootMessage(error: unknown): string {
  let current = error;
  while (current instanceof Error && current.cause !== undefined) current = current.cause;
  return current instanceof Error ? current.message : String(current);
}
