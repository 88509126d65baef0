/**
 * Reads of one run. The run's workflow is asked first; when no control worker answers, Temporal's `describe` and the store
 * have to do. What is read that way says so (`source`), since a reassign that nobody has claimed after is known to the
 * workflow alone.
 */
import type { Json, RunRow } from '../store/port.js';
import { readView, type PackedView } from '../domain/pack.js';
import type { RunState, RunStatus } from '../domain/types.js';
import { QUERIES, type StateView } from '../domain/wire.js';
import { BatonError } from '../domain/errors.js';
import { GRPC, grpcStatus, isNotFound, toBatonError } from './failure.js';
import { describeExecution, type ExecutionView } from './lease-view.js';
import { queryRun } from './query.js';
import { runNotFound, type Session } from './session.js';
import { rebuildState } from './rebuild.js';

/** How long the workflow may take to answer a query before the store is read instead. */
const QUERY_MS = 2_500;
const DESCRIBE_MS = 5_000;

export interface RunRead {
  readonly source: 'workflow' | 'store';
  readonly state: RunState;
  readonly status: RunStatus;
  /** Activity ids of live leases in the newest execution; empty when read from the store. */
  readonly leases: Readonly<Record<string, string>>;
  /** Null when Temporal has forgotten the run, or never had it (a launch that was interrupted). */
  readonly execution: ExecutionView | null;
  readonly row: RunRow | null;
  /** False: no server was asked, so that nobody can tell whether a live lease is over. */
  readonly server: boolean;
}

/** What Temporal says about the run's newest execution, or null; errors translated. */
export async function describeRun(
  { client, tenant }: Pick<Session, 'client' | 'tenant'>,
  run: string,
): Promise<ExecutionView | null> {
  try {
    return await client.withDeadline(Date.now() + DESCRIBE_MS, () =>
      describeExecution(client, { tenant, run }),
    );
  } catch (error) {
    throw toBatonError(error, { tenant, run });
  }
}

/**
 * The run's state as the workflow holds it, or null when no control worker answers in time.
 *
 * @throws BatonError `RunNotFound`, `TemporalUnavailable` when it is the server that does not answer
 */
export async function queryState(
  session: Session,
  run: string,
  waitMs = QUERY_MS,
): Promise<StateView | null> {
  const { client, tenant } = session;
  try {
    const view = await client.withDeadline(Date.now() + waitMs, () =>
      queryRun<StateView | PackedView>(client, { tenant, run }, QUERIES.state),
    );
    return readView(view);
  } catch (error) {
    if (isNotFound(error)) throw runNotFound(session, run);
    const status = grpcStatus(error);
    if (status === GRPC.unauthenticated || status === GRPC.permissionDenied)
      throw toBatonError(error, { tenant, run });
    return null;
  }
}

/**
 * Everything known about a run now.
 *
 * @throws BatonError `RunNotFound` unless the tenant has the run, `TemporalUnavailable`, `StoreUnavailable`
 */
export async function readRun(session: Session, run: string): Promise<RunRead> {
  const store = await session.store();
  const row = await store.runs.get(session.tenant, run);
  const asked = queryState(session, run).catch((error: unknown) => {
    if (error instanceof BatonError && error.code === 'RunNotFound') return null;
    throw error;
  });
  const [execution, view] = await Promise.all([describeRun(session, run), asked]);
  // Temporal may remember a run longer than the store does.
  if (!row && (!execution || (await store.retention.isCollected(session.tenant, run))))
    throw runNotFound(session, run);
  if (view)
    return {
      source: 'workflow',
      state: view.state,
      status: statusOf(execution, view.state.status),
      leases: view.leases,
      execution,
      row,
      server: true,
    };
  if (!row) {
    throw BatonError.of(
      'TemporalUnavailable',
      'no control worker answers and this store has no record of the run',
      {
        tenant: session.tenant,
        run,
        store: store.describe().location,
      },
    );
  }
  const state = await rebuildState(store, row);
  const status = statusOf(execution, row.status);
  return { source: 'store', state, status, leases: {}, execution, row, server: true };
}

/**
 * {@link readRun}, or what the store alone knows when no server answers: for records that are to be kept, which a closed run's
 * are whatever became of its server.
 */
export async function readRunAnyhow(session: Session, row: RunRow): Promise<RunRead> {
  try {
    return await readRun(session, row.run);
  } catch (error) {
    if (!(error instanceof BatonError) || error.code !== 'TemporalUnavailable') throw error;
    const state = await rebuildState(await session.store(), row);
    const { status } = row;
    return { source: 'store', state, status, leases: {}, execution: null, row, server: false };
  }
}

const CLOSED: Readonly<Record<string, RunStatus>> = {
  COMPLETED: 'succeeded',
  FAILED: 'failed',
  CANCELED: 'cancelled',
  TERMINATED: 'terminated',
  TIMED_OUT: 'terminated',
};

/** The run's status: what it says itself, unless Temporal ended it without asking it. */
export function statusOf(execution: ExecutionView | null, said: RunStatus): RunStatus {
  const ended = execution ? CLOSED[execution.status] : undefined;
  if (!ended) return said;
  return said === 'running' || ended === 'terminated' ? ended : said;
}

/** JSON of a stored value by the digest of its bytes; null for no digest. */
export async function readJson(session: Session, digest: string | null): Promise<Json> {
  if (digest === null) return null;
  const bytes = await (await session.store()).artifacts.readBytes(digest);
  return JSON.parse(Buffer.from(bytes).toString('utf8')) as Json;
}
