/** What a cell is judged by, read after its run has ended: the store's rows, the histories in Temporal, the agents' work log. */
import type { History } from '@temporalio/common/lib/proto-utils.js';
import Database from 'better-sqlite3';
import type { LaunchedRun } from '../src/client/client.js';
import { workflowIdOf } from '../src/domain/wire.js';
import type { ArtifactRow, AttemptRow, EffectRow, Json, RunRow } from '../src/store/port.js';
import { WORK } from './definitions.js';
import type { OwnerRecord } from './owner.js';
import type { Stage } from './stage.js';
import { readWork, type WorkLine } from './work-log.js';

export type Events = NonNullable<History['events']>;

/** Rows of the tables `attempts` and `leases` as they are, void ones too, in order. */
export interface RawRows {
  readonly attempts: readonly string[];
  readonly leases: readonly string[];
}

/** What was seen on the way, while it was so. */
export interface Observed {
  /** Saved by the first attempt when the fault struck. */
  savedBefore: readonly ArtifactRow[];
  /** Status of the first attempt's lease then. */
  leaseBefore: string | null;
  /** State of the slot's effect then, who had recorded its intent, and how often its owner had committed it. */
  effectBefore: {
    readonly effect: string | null;
    readonly attempt: string | null;
    readonly commits: number;
  };
  /** Around the reassign. */
  beforeReassign: RawRows | null;
  afterReassign: RawRows | null;
  /** Of the slot's wait, when it had one. */
  retryTime: number | null;
  /** The refusal of a reassign while the end was being recorded, and whether run state and rows were as before. */
  unsettled: { readonly code: string; readonly unchanged: boolean } | null;
}

export interface Records {
  readonly tenant: string;
  readonly run: string;
  readonly pins: Json;
  readonly row: RunRow | null;
  /** Result of each slot, as the caller got it; null when the run did not succeed. */
  readonly results: Readonly<Record<string, Json>> | null;
  readonly attempts: readonly AttemptRow[];
  readonly artifacts: readonly ArtifactRow[];
  /** Digests of artifacts whose bytes cannot be read any more. */
  readonly unreadable: readonly string[];
  readonly effects: readonly EffectRow[];
  /** What the owner of the effect says; null: the slot has none. */
  readonly owner: OwnerRecord | null;
  readonly raw: RawRows;
  /** Newest execution first. */
  readonly executions: readonly Events[];
  readonly work: readonly WorkLine[];
  readonly observed: Observed;
}

export const nothingObserved = (): Observed => ({
  savedBefore: [],
  leaseBefore: null,
  effectBefore: { effect: null, attempt: null, commits: 0 },
  beforeReassign: null,
  afterReassign: null,
  retryTime: null,
  unsettled: null,
});

/** The rows of the slot that is interrupted, by a connection that is not the product's. */
export function rawRows(storeFile: string): RawRows {
  const database = new Database(storeFile, { readonly: true });
  try {
    const rows = (table: string, order: string): string[] =>
      database
        .prepare(`SELECT * FROM ${table} WHERE slot = ? ORDER BY ${order}`)
        .all(WORK)
        .map((row) => JSON.stringify(row));
    return { attempts: rows('attempts', 'attempt'), leases: rows('leases', 'attempt') };
  } finally {
    database.close();
  }
}

export async function readRecords(
  stage: Stage,
  launched: LaunchedRun,
  results: Records['results'],
  observed: Observed,
): Promise<Records> {
  const { store, tenant } = stage;
  const { run, pins } = launched;
  const artifacts = await store.artifacts.list(tenant, run);
  const unreadable: string[] = [];
  for (const { digest } of artifacts)
    await store.artifacts.readBytes(digest).catch(() => unreadable.push(digest));
  return {
    tenant,
    run,
    pins: pins as unknown as Json,
    row: await store.runs.get(tenant, run),
    results,
    attempts: await store.attempts.list(tenant, run),
    artifacts,
    unreadable,
    effects: await store.effects.list(tenant, run),
    owner: stage.owner(),
    raw: rawRows(stage.storeFile),
    executions: await executions(stage, run),
    work: readWork(stage.workLog),
    observed,
  };
}

/** The histories of all executions of the run. */
async function executions({ server, tenant }: Stage, run: string): Promise<Events[]> {
  const found: Events[] = [];
  let runId: string | undefined;
  do {
    const handle = server.client.workflow.getHandle(workflowIdOf(tenant, run), runId);
    const events = (await handle.fetchHistory()).events ?? [];
    found.push(events);
    runId = events[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? undefined;
  } while (runId);
  return found;
}
