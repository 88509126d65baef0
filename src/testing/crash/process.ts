/**
 * A process of the crash explorer: checks the agents, runs control workers, or is a host that may kill itself. The kill is a
 * SIGKILL: no handler of ours, of Temporal's or of the agent sees it. Argument: one JSON object, see process-input.ts.
 */
import { IllegalStateError } from '@temporalio/common';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { BatonError, isErrorCode } from '../../domain/errors.js';
import { startControlWorker } from '../../host/control.js';
import { startHost } from '../../host/host.js';
import { loadConnection } from '../../server/connect.js';
import { openStore } from '../../store/open.js';
import { loadAgents, observed } from './agents.js';
import { killAt } from './points.js';
import type { ProcessInput } from './process-input.js';
import { appendRecord } from './records.js';

const input = JSON.parse(process.argv[2] ?? '') as ProcessInput;
const { role, records, temporal, kill } = input;

async function serve(): Promise<void> {
  const agents = await loadAgents(input.agents);
  if (role === 'check' || temporal === null) {
    appendRecord(records, { kind: 'agents', classes: agents.map(({ workerClass }) => workerClass) });
    // A module may keep something open; it was loaded to be looked at.
    process.exit(0);
  }
  quiet();
  const { address, namespace, own, storeUrl, taskQueues } = temporal;
  const server = loadConnection({ address, namespace, ...(own ? { env: {} } : {}) });
  const connection = await NativeConnection.connect(server.options);
  const store = await openStore(storeUrl);
  const common = { connection, namespace };
  if (role === 'control') {
    const workers = await Promise.all(
      taskQueues.map((taskQueue) => startControlWorker({ ...common, store, taskQueue })),
    );
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

try {
  await serve();
} catch (error) {
  const code: unknown = (error as { code?: unknown } | null)?.code;
  const message = error instanceof Error ? error.message : String(error);
  const refused = error instanceof BatonError && isErrorCode(code) ? code : 'Internal';
  appendRecord(records, { kind: 'refused', code: refused, message });
  console.error(error);
  process.exit(1);
}
