/** A control worker, a store in a file and a client against the suite's server, under a tenant and task queue of their own. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { BatonClient } from '../../src/client/client.js';
import type { AgentDefinition } from '../../src/agent/types.js';
import { startControlWorker } from '../../src/host/control.js';
import { startHost, type Host, type HostOptions } from '../../src/host/host.js';
import { openStore } from '../../src/store/open.js';
import type { Store } from '../../src/store/port.js';
import { sharedServer } from '../support/server.js';

export interface Lab {
  readonly address: string;
  readonly storeUrl: string;
  readonly store: Store;
  readonly connection: NativeConnection;
  readonly client: Client;
  readonly baton: BatonClient;
  readonly tenant: string;
  readonly taskQueue: string;
  /** Starts a host; it is shut down with the lab. */
  host(agents: readonly AgentDefinition[], options?: Partial<HostOptions>): Promise<Host>;
  restartControl(): Promise<void>;
  /** Publishes a package `job` whose nodes are all bound alike. */
  publish(nodes: readonly unknown[], launch: readonly unknown[]): Promise<void>;
  close(): Promise<void>;
}

export const oneSpec = (workerClass: string, ttl = '2s', retry: object = { mode: 'manual' }) => [
  { id: 'only', workerClasses: [workerClass], dispatch: 'queue', lease: { ttl }, retry },
];

/** Temporal's own log lines would drown the test's. Must come before any Worker. */
export function quiet(): void {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
}

export async function openLab(options: { control?: boolean; address?: string } = {}): Promise<Lab> {
  const address = options.address ?? (await sharedServer()).address;
  const folder = await mkdtemp(path.join(tmpdir(), 'baton-host-'));
  const storeUrl = `sqlite:${path.join(folder, 'baton.db')}`;
  const store = await openStore(storeUrl);
  const connection = await NativeConnection.connect({ address });
  const clientConnection = await Connection.connect({ address });
  const client = new Client({ connection: clientConnection });
  const id = randomBytes(4).toString('hex');
  const [tenant, taskQueue] = [`t-${id}`, `baton-${id}`];
  const stops: (() => Promise<unknown>)[] = [];
  let stopControl = (): Promise<unknown> => Promise.resolve();
  const startControl = async (): Promise<void> => {
    const control = await startControlWorker({ connection, store, taskQueue });
    const running = control.run();
    stopControl = () => control.shutdown().then(() => running);
  };
  if (options.control !== false) await startControl();
  const baton = new BatonClient(client, { tenant, actor: 'ada', store, taskQueue });
  return {
    address,
    storeUrl,
    store,
    connection,
    client,
    baton,
    tenant,
    taskQueue,
    async host(agents, more = {}) {
      const host = await startHost({ connection, store, taskQueue, agents, ...more });
      const running = host.run();
      stops.unshift(() => host.shutdown().then(() => running));
      return host;
    },
    async restartControl() {
      await stopControl();
      await startControl();
    },
    async publish(nodes, launch) {
      const names = nodes.map((node) => (node as { node: string }).node);
      const bound = { agent: { name: 'agent', revision: '1' }, attachments: [], launch };
      await baton.publish({
        documents: [
          { kind: 'package', name: 'job', outcome: 'Done.', content: {}, workflow: 'graph', binding: 'team' },
          { kind: 'workflow', name: 'graph', nodes },
          {
            kind: 'binding',
            name: 'team',
            workflow: 'graph',
            nodes: Object.fromEntries(names.map((name) => [name, bound])),
          },
        ],
      });
    },
    async close() {
      for (const { run } of await baton.list()) {
        await client.workflow
          .getHandle(`${tenant}/${run}`)
          .terminate('test over')
          .catch(() => undefined);
      }
      for (const stop of stops) await stop();
      await stopControl();
      await connection.close();
      await clientConnection.close();
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
