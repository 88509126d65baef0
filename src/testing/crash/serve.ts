/**
 * In a process of the explorer: control workers, or a host that may kill itself. The kill is a SIGKILL: no handler of ours, of
 * Temporal's or of the agent sees it.
 */
import { IllegalStateError } from '@temporalio/common';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import type { AgentDefinition } from '../../agent/types.js';
import { startControlWorker } from '../../host/control.js';
import { startHost } from '../../host/host.js';
import { loadConnection } from '../../server/connect.js';
import { openStore } from '../../store/open.js';
import { observed } from './agents.js';
import { killAt } from './points.js';
import type { ProcessInput } from './process-input.js';
import { appendRecord } from './records.js';

/** Runs until it is ended from outside, or by its own kill. */
export async function serve(input: ProcessInput, agents: readonly AgentDefinition[]): Promise<void> {
  const { role, records, temporal, kill } = input;
  if (temporal === null) throw new RangeError(`a ${role} needs a server`);
  quiet();
  const { address, namespace, own, storeUrl, taskQueues } = temporal;
  const server = loadConnection({ address, namespace, ...(own ? { env: {} } : {}) });
  const connection = await NativeConnection.connect(server.options);
  const store = await openStore(storeUrl);
  const common = { connection, namespace };
  if (role === 'control') {
    const starting = taskQueues.map((taskQueue) => startControlWorker({ ...common, store, taskQueue }));
    const workers = await Promise.all(starting);
    appendRecord(records, { kind: 'ready' });
    await Promise.all(workers.map((worker) => worker.run()));
    return;
  }
  const die = (): void => {
    appendRecord(records, { kind: 'kill' });
    process.kill(process.pid, 'SIGKILL');
  };
  const onStep = (slot: string, step: string): void => appendRecord(records, { kind: 'step', slot, step });
  const host = await startHost({
    ...common,
    store: kill === null ? store : killAt(store, kill, die),
    taskQueue: taskQueues[0] ?? '',
    agents: agents.map((agent) => observed(agent, onStep)),
  });
  await host.run();
}

/** An agent's module may have set Temporal's runtime up already; its choice stands. */
function quiet(): void {
  try {
    Runtime.install({ logger: new DefaultLogger('ERROR') });
  } catch (error) {
    if (!(error instanceof IllegalStateError)) throw error;
  }
}
