/**
 * Recorded histories: real runs whose workflow must replay with every later version of this package. What names a machine
 * is taken out before a history is kept.
 */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporal } from '@temporalio/proto';
import { Worker } from '@temporalio/worker';
import { workflowIdOf } from '../../src/domain/wire.js';
import type { Baton } from './baton.js';
import type { Version } from './versions.js';

const { History } = temporal.api.history.v1;

export const HISTORIES = fileURLToPath(new URL('../histories', import.meta.url));

export interface Recorded {
  readonly workflowId: string;
  /** The protobuf message as an object: enums by name, bytes as base64. */
  readonly history: { readonly events: readonly Record<string, unknown>[] };
}

/** Names of the kept histories, without `.json`. */
export async function historyNames(): Promise<readonly string[]> {
  const files = await readdir(HISTORIES).catch(() => []);
  return files.filter((file) => file.endsWith('.json')).map((file) => file.slice(0, -'.json'.length));
}

export async function readHistory(name: string): Promise<Recorded> {
  return JSON.parse(await readFile(path.join(HISTORIES, `${name}.json`), 'utf8')) as Recorded;
}

/** One execution's history as it is kept. */
export async function recordHistory(baton: Baton, run: string, workflowRunId?: string): Promise<Recorded> {
  const workflowId = workflowIdOf(baton.tenant, run);
  const history = await baton.temporal.workflow.getHandle(workflowId, workflowRunId).fetchHistory();
  const plain = History.toObject(History.fromObject(history), {
    longs: String,
    enums: String,
    bytes: String,
  });
  return { workflowId, history: withoutMachine(plain) as Recorded['history'] };
}

/** The history as a replay takes it. */
export function historyOf({ history }: Recorded): temporal.api.history.v1.History {
  return History.fromObject(history);
}

/** Replays it with the workflows of a version. */
export const replay = ({ bundle }: Pick<Version, 'bundle'>, recorded: Recorded): Promise<void> =>
  Worker.runReplayHistory({ workflowBundle: { codePath: bundle } }, historyOf(recorded), recorded.workflowId);

/** Ids of all executions of a run, oldest first. */
export async function executionsOf(baton: Baton, run: string): Promise<readonly string[]> {
  const workflowId = workflowIdOf(baton.tenant, run);
  const first = (await baton.temporal.workflow.getHandle(workflowId).describe()).raw.workflowExecutionInfo;
  const ids: string[] = [];
  for (let id: string | null | undefined = first?.firstRunId; id;) {
    ids.push(id);
    const { events } = await baton.temporal.workflow.getHandle(workflowId, id).fetchHistory();
    id = events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
  }
  return ids;
}

/** Names of a worker's own task queue, which has its process and host in it. */
const STICKY_QUEUE = /^\d+@.+-[0-9a-f]{32}$/;

/** Process and host names, and stack traces with their paths. */
function withoutMachine(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMachine);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      if (key === 'identity' || key === 'binaryChecksum') return [key, 'recorded'];
      if (key === 'stackTrace') return [key, ''];
      if (key === 'name' && STICKY_QUEUE.test(String(inner))) return [key, 'recorded'];
      return [key, withoutMachine(inner)];
    }),
  );
}
