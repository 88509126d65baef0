/** What is measured in: one Temporal server of its own, one store file, and the worker processes of both sides. */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Client } from '@temporalio/client';
import { BatonClient } from '../../src/client/client.js';
import { classQueue, hostQueue } from '../../src/domain/wire.js';
import { connect } from '../../src/server/connect.js';
import { ensureServer } from '../../src/server/find.js';
import type { Child } from '../../src/server/processes.js';
import { openStore } from '../../src/store/open.js';
import { documents, LAUNCH } from './definitions.js';
import { startWorkerProcess, type ProcessInput } from './processes.js';

export interface Lab {
  readonly client: Client;
  readonly baton: BatonClient;
  readonly tenant: string;
  /** Queues of the bare side. */
  readonly bare: ProcessInput['bare'];
  readonly serverVersion: string;
  /** A Baton host in a process of its own, with one agent that never ends by itself. The caller kills it; else it ends with the lab. */
  startHangingHost(workerClass: string): Promise<Child>;
}

export interface LabOptions {
  /** Keep the server's state in a file too, instead of in memory. */
  readonly serverFile: boolean;
  readonly onProgress: (message: string) => void;
}

const TENANT = 'bench';
const QUEUE = 'bench-baton';
const BARE: ProcessInput['bare'] = {
  taskQueue: 'bench-bare',
  classQueue: classQueue('bench-bare', LAUNCH.workerClass),
  hostQueue: hostQueue('bench-bare', 'host'),
};

/** Puts everything up, gives it to `use`, and ends all of it, whatever happens. */
export async function withLab<T>(options: LabOptions, use: (lab: Lab) => Promise<T>): Promise<T> {
  const ends: (() => Promise<unknown>)[] = [];
  try {
    return await use(await open(options, (end) => ends.unshift(end)));
  } finally {
    // Each is tried: one that fails to end must not keep the others running.
    for (const end of ends) await end().catch((error: unknown) => console.error(error));
  }
}

async function open(options: LabOptions, atEnd: (end: () => Promise<unknown>) => void): Promise<Lab> {
  const { onProgress } = options;
  const folder = await mkdtemp(path.join(os.tmpdir(), 'baton-bench-'));
  atEnd(() => rm(folder, { recursive: true, force: true }));
  const server = await ensureServer({
    preferExisting: false,
    ui: false,
    onProgress,
    ...(options.serverFile ? { dataFile: path.join(folder, 'temporal.db') } : {}),
  });
  // Closed after the server has ended: a call that an interruption left behind throws on a closed connection, past every catch.
  let closeConnection = (): Promise<void> => Promise.resolve();
  atEnd(() => closeConnection());
  atEnd(() => server.stop());
  const { address } = server;
  const connection = await connect({ address, namespace: 'default', env: {} });
  closeConnection = () => connection.close();
  const storeUrl = `sqlite:${path.join(folder, 'baton.db')}`;
  const store = await openStore(storeUrl);
  atEnd(() => store.close());
  const { client } = connection;
  const baton = new BatonClient(client, { tenant: TENANT, actor: 'bench', store, taskQueue: QUEUE });
  await baton.publish({ documents: documents() });

  const start = async (
    side: 'baton' | 'bare',
    role: ProcessInput['role'],
    workerClass: string,
    hangs: boolean,
  ) => {
    const settings = { storeUrl, taskQueue: QUEUE, workerClass, hangs };
    const child = await startWorkerProcess(side, { address, role, baton: settings, bare: BARE });
    atEnd(() => child.stop());
    return child;
  };
  onProgress('Starting a control worker and a host for each side, in processes of their own …');
  for (const side of ['bare', 'baton'] as const) {
    await start(side, 'control', LAUNCH.workerClass, false);
    await start(side, 'host', LAUNCH.workerClass, false);
  }
  const { serverVersion } = await client.workflowService.getSystemInfo({});
  return {
    client,
    baton,
    tenant: TENANT,
    bare: BARE,
    serverVersion,
    startHangingHost: (workerClass) => start('baton', 'host', workerClass, true),
  };
}

/** Events of a workflow's newest execution. */
export async function eventsOf(client: Client, workflowId: string) {
  return (await client.workflow.getHandle(workflowId).fetchHistory()).events ?? [];
}
