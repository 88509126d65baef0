/** The tenant's runs. A run that the store believes to be running is checked with Temporal: it may have been terminated. */
import type { RunStatus } from '../domain/types.js';
import type { RunRow } from '../store/port.js';
import { Places } from './places.js';
import { describeRun, statusOf } from './reads.js';
import type { Session } from './session.js';

/** One entry of `list --json`. */
export interface RunListed {
  readonly run: string;
  readonly status: RunStatus;
  readonly startedAt: string;
}

/** Newest first. @throws BatonError `StoreUnavailable`, `TemporalUnavailable` */
export async function listRuns(session: Session): Promise<readonly RunListed[]> {
  const rows = await (await session.store()).runs.list(session.tenant);
  const places = new Places(8);
  return Promise.all(
    rows.map(async (row) => {
      const status =
        row.status === 'running' ? await places.use('describe', () => statusNow(session, row)) : row.status;
      return { run: row.run, status, startedAt: new Date(row.createdAt).toISOString() };
    }),
  );
}

/** A launch that was interrupted has no workflow yet: it is still to be started, so it is not over. */
async function statusNow(session: Session, row: RunRow): Promise<RunStatus> {
  return statusOf(await describeRun(session, row.run), row.status);
}
