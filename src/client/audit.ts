/** The audit of a tenant, for the caller: what was commanded by whom, and what became of it. */
import { BatonError } from '../domain/errors.js';
import { checkFields, checkId, shown } from '../domain/text.js';
import { VERDICTS, type AuditRow, type Verdict } from '../store/port.js';
import { runRow, type Session } from './session.js';

/** One entry of `audit --json`. */
export interface AuditView {
  /** Number of the entry in the store; later ones are higher. */
  readonly entry: number;
  /** ISO 8601 UTC. */
  readonly at: string;
  readonly actor: string;
  readonly command: string;
  readonly run: string | null;
  readonly slot: string | null;
  readonly commandId: string | null;
  readonly verdict: Verdict;
  readonly code: string | null;
  readonly reason: string | null;
}

export interface AuditRequest {
  readonly actor?: string;
  readonly verdict?: Verdict;
  /** Not before this time. */
  readonly since?: Date;
  /** Only entries before the one with this number: the next page begins after the last entry of this one. */
  readonly before?: number;
  /** Most entries, 1 to 1,000. Default 100. */
  readonly limit?: number;
}

const FIELDS: readonly (keyof AuditRequest)[] = ['actor', 'verdict', 'since', 'before', 'limit'];
const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;

/**
 * Newest first; of one run, or of all the tenant's.
 *
 * @throws BatonError `RunNotFound` for a run that the tenant does not have, `InvalidCommand`, `StoreUnavailable`
 */
export async function listAudit(
  session: Session,
  request: AuditRequest,
  run?: string,
): Promise<readonly AuditView[]> {
  checkFields('an audit request', request, FIELDS);
  const { actor, verdict, since, before, limit = DEFAULT_LIMIT } = request;
  if (actor !== undefined) checkId('actor', actor);
  if (verdict !== undefined && !VERDICTS.includes(verdict))
    throw wrong('verdict', verdict, VERDICTS.join(', '));
  if (since !== undefined && Number.isNaN(since.getTime())) throw wrong('since', String(since), 'a time');
  if (before !== undefined && !isCount(before)) throw wrong('before', before, 'the number of an entry');
  if (!isCount(limit) || limit > MAX_LIMIT) throw wrong('limit', limit, `a number from 1 to ${MAX_LIMIT}`);
  if (run !== undefined) await runRow(session, run);
  const { audit } = await session.store();
  const { tenant } = session;
  const rows = await audit.list({ tenant, run, actor, verdict, since: since?.getTime(), before, limit });
  return rows.map(viewOf);
}

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value > 0;

const wrong = (field: string, value: unknown, must: string): BatonError =>
  BatonError.of('InvalidCommand', `\`${field}\` must be ${must}`, { field, value: shown(value) });

const viewOf = ({ tenant: _tenant, at, ...row }: AuditRow): AuditView => ({
  ...row,
  at: new Date(at).toISOString(),
});
