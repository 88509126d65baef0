/** For scenarios that kill what everything runs on: a server of the file's own on a data file, and worker processes. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import type { Child, ChildOptions } from '../../src/server/processes.js';
import type { WorkerProcess } from '../scenarios/fixtures/worker-process.js';
import type { Baton } from './baton.js';
import { compileFixtures } from './compiled.js';
import { startNode } from './processes.js';
import { startTestServer, type TestServer } from './server.js';

const WORKER = 'scenarios/fixtures/worker-process.ts';

export interface Restartable {
  readonly server: TestServer;
  /** Starts a worker process for a Baton, and waits until it polls. */
  startWorker(
    baton: Baton,
    options: Pick<WorkerProcess, 'role' | 'workerClass' | 'quick'>,
    child?: ChildOptions,
  ): Promise<Child>;
}

/** Up before the file's first test, gone after its last one. */
export function useRestartable(name: string): Restartable {
  let fixtures: Awaited<ReturnType<typeof compileFixtures>>;
  let folder: string;
  let server: TestServer;
  beforeAll(async () => {
    fixtures = await compileFixtures([WORKER]);
    folder = await mkdtemp(path.join(tmpdir(), `baton-${name}-`));
    server = await startTestServer({ dataFile: path.join(folder, 'temporal.db') });
  });
  afterAll(async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
    await fixtures.remove();
  });
  return {
    get server() {
      return server;
    },
    async startWorker({ address, storeUrl, taskQueue }, options, child = {}) {
      const input = JSON.stringify({ address, storeUrl, taskQueue, ...options });
      const started = await startNode(fixtures.path(WORKER), [input], child);
      await started.ready(/^polling$/, 60_000);
      return started;
    },
  };
}

/** SIGKILL; returns once the process is gone. */
export async function crash(child: Child): Promise<void> {
  child.kill('SIGKILL');
  expect((await child.exited).signal).toBe('SIGKILL');
}
