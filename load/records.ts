/** What the load test is judged by, read after its end: the store's rows, the histories in Temporal, the agents' work log. */
import type { Client } from '@temporalio/client';
import pMap from 'p-map';
import { workflowIdOf } from '../src/domain/wire.js';
import type { ArtifactRow, AttemptRow, Json, Store } from '../src/store/port.js';
import { failedTasks } from '../faults/history.js';
import { readWork, type WorkLine } from '../faults/work-log.js';
import type { Kill } from './kills.js';

/** One run as its caller saw it. Times are epoch milliseconds of this process. */
export interface LaunchedLoad {
  readonly run: string;
  readonly sentAt: number;
  readonly answeredAt: number;
  /** Results of the slots; null when the caller got an error. */
  readonly results: Readonly<Record<string, Json>> | null;
  readonly problem: string | null;
}

export interface RunRecords extends LaunchedLoad {
  /** Temporal's word for how the newest execution stands. */
  readonly temporal: string;
  /** The store's. */
  readonly status: string | null;
  readonly attempts: readonly AttemptRow[];
  readonly artifacts: readonly ArtifactRow[];
  /** Digests whose bytes are gone or differ. */
  readonly unreadable: readonly string[];
  /** History events of all executions. */
  readonly events: number;
  /** Workflow tasks that failed by a fault of the code. */
  readonly failedTasks: readonly string[];
}

export interface LoadRecords {
  readonly runs: readonly RunRecords[];
  readonly work: readonly WorkLine[];
  readonly kills: readonly Kill[];
  readonly killsPlanned: number;
}

export interface Places {
  readonly client: Client;
  readonly store: Store;
  readonly tenant: string;
  readonly workLog: string;
}

export async function readRecords(
  places: Places,
  launched: readonly LaunchedLoad[],
  kills: readonly Kill[],
  killsPlanned: number,
): Promise<LoadRecords> {
  const runs = await pMap(launched, (one) => readRun(places, one), { concurrency: 4 });
  return { runs, work: readWork(places.workLog), kills, killsPlanned };
}

async function readRun({ client, store, tenant }: Places, launched: LaunchedLoad): Promise<RunRecords> {
  const { run } = launched;
  const artifacts = await store.artifacts.list(tenant, run);
  const unreadable: string[] = [];
  for (const { digest } of artifacts)
    await store.artifacts.readBytes(digest).catch(() => unreadable.push(digest));
  const workflowId = workflowIdOf(tenant, run);
  const temporal = await client.workflow
    .getHandle(workflowId)
    .describe()
    .then(({ status }) => status.name)
    .catch(() => 'UNKNOWN');
  const tasks: string[] = [];
  let events = 0;
  for (let runId: string | undefined, first = true; first || runId; first = false) {
    const history = (await client.workflow.getHandle(workflowId, runId).fetchHistory()).events ?? [];
    events += history.length;
    tasks.push(...failedTasks(history));
    runId = history[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? undefined;
  }
  return {
    ...launched,
    temporal,
    status: (await store.runs.get(tenant, run))?.status ?? null,
    attempts: await store.attempts.list(tenant, run),
    artifacts,
    unreadable,
    events,
    failedTasks: tasks,
  };
}
