/** A whole Baton on the shared server: store (of the file's engine), control worker, client, hosts, all ended after the test. */
import { randomBytes } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { afterEach } from 'vitest';
import type { AccessOptions } from '../../src/access/options.js';
import type { AgentDefinition } from '../../src/agent/types.js';
import { BatonClient } from '../../src/client/client.js';
import { startControlWorker } from '../../src/host/control.js';
import { startHost, type Host, type HostOptions } from '../../src/host/host.js';
import { openStore } from '../../src/store/open.js';
import type { Store } from '../../src/store/port.js';
import { storePlace } from './engine.js';
import { sharedServer } from './server.js';

export interface Baton {
  readonly address: string;
  readonly tenant: string;
  readonly taskQueue: string;
  readonly storeUrl: string;
  readonly store: Store;
  readonly temporal: Client;
  readonly native: NativeConnection;
  /** Client of an actor, default `ada`; `tenant` for another tenant's. */
  as(actor?: string, options?: { tenant?: string; timeoutMs?: number }): BatonClient;
  startControl(access?: AccessOptions): Promise<() => Promise<void>>;
  startHost(agents: readonly AgentDefinition[], options?: Partial<HostOptions>): Promise<Host>;
  stop(): Promise<void>;
}

Runtime.install({ logger: new DefaultLogger('ERROR') });

const open = new Set<Baton>();
afterEach(async () => {
  await Promise.all([...open].map((baton) => baton.stop()));
});

/**
 * @param options `control: false` starts no control worker; `address` of a server of the test's own; `maxCachedWorkflows: 0` makes
 *   every workflow task replay its run's history, so that whatever a replay does otherwise comes out
 */
export async function startBaton(
  options: { control?: boolean; address?: string; maxCachedWorkflows?: number } = {},
): Promise<Baton> {
  const address = options.address ?? (await sharedServer()).address;
  const place = await storePlace();
  const id = randomBytes(4).toString('hex');
  const storeUrl = place.url;
  const store = await openStore(storeUrl);
  const connection = await Connection.connect({ address });
  const native = await NativeConnection.connect({ address });
  const temporal = new Client({ connection });
  const tenant = `t-${id}`;
  const taskQueue = `baton-${id}`;
  const workers = new Set<() => Promise<void>>();
  const clients: BatonClient[] = [];

  const running = (worker: { run(): Promise<void>; shutdown(): Promise<void> }) => {
    const ended = worker.run();
    ended.catch(() => undefined);
    const stop = async () => {
      workers.delete(stop);
      await worker.shutdown();
      await ended;
    };
    workers.add(stop);
    return stop;
  };

  const baton: Baton = {
    address,
    tenant,
    taskQueue,
    storeUrl,
    store,
    temporal,
    native,
    as: (actor = 'ada', { tenant: other = tenant, timeoutMs } = {}) => {
      const client = new BatonClient(temporal, {
        tenant: other,
        actor,
        store,
        taskQueue,
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
      });
      clients.push(client);
      return client;
    },
    startControl: async (access = {}) => {
      const { maxCachedWorkflows } = options;
      const cached = maxCachedWorkflows === undefined ? {} : { maxCachedWorkflows };
      return running(
        await startControlWorker({ connection: native, store, taskQueue, ...cached, ...access }),
      );
    },
    startHost: async (agents, hostOptions = {}) => {
      const host = await startHost({ connection: native, store, taskQueue, agents, ...hostOptions });
      running(host);
      return host;
    },
    stop: async () => {
      open.delete(baton);
      // Hosts first: they need the control worker for nothing, but their releases are recorded by it.
      for (const stop of [...workers].reverse()) await stop();
      await native.close();
      await connection.close();
      await store.close();
      await place.remove();
    },
  };
  open.add(baton);
  if (options.control !== false) await baton.startControl();
  return baton;
}
