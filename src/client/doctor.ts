/**
 * The doctor: what a run needs of its server, and what a run leaves behind that Temporal ended without asking it. It settles
 * such rows by the same fenced write as the run would have.
 */
import { BatonError } from '../domain/errors.js';
import { counted } from '../domain/text.js';
import { isTerminalLease } from '../domain/types.js';
import { SEARCH_ATTRIBUTES } from '../domain/wire.js';
import type { AttemptRow, RunRow } from '../store/port.js';
import { fenceOf } from './authority.js';
import { BatonClient } from './client.js';
import { command, look } from './door.js';
import { toBatonError } from './failure.js';
import { registeredAttributes } from './launch.js';
import type { ExecutionView } from './lease-view.js';
import { leaseDeadline } from './leases.js';
import { describeRun, queryState, statusOf } from './reads.js';
import type { Session } from './session.js';

export interface Check {
  readonly check: string;
  /** A warning is no reason to fail: the runs go on without it. */
  readonly status: 'ok' | 'warning' | 'failed';
  readonly message: string;
  readonly fixed: boolean;
}

/** INDEXED_VALUE_TYPE_KEYWORD and _KEYWORD_LIST. */
const KEYWORD = 2;
const KEYWORD_LIST = 7;
/** TASK_QUEUE_TYPE_WORKFLOW. */
const WORKFLOW_QUEUE = 1;

const POLLED_WITHIN_MS = 75_000;

/**
 * @param options.fix registers what is missing and settles what is left over
 * @throws BatonError `NotAuthorized` (`doctor`, with `fix` also `repair`)
 */
export async function examineServer(
  client: BatonClient,
  options: { readonly fix: boolean },
): Promise<readonly Check[]> {
  const session = BatonClient.sessionOf(client);
  return look(session, 'doctor', {}, () =>
    options.fix ? command(session, 'repair', {}, () => examine(session, true)) : examine(session, false),
  );
}

async function examine(session: Session, fix: boolean): Promise<readonly Check[]> {
  const checks: Check[] = [];
  for (const [name, found] of [
    ['store', storeCheck],
    ['namespace', namespaceCheck],
    ['search attributes', attributesCheck],
    ['control worker', workerCheck],
    ['runs', runsCheck],
  ] as const) {
    try {
      checks.push({ check: name, ...(await found(session, fix)) });
    } catch (error) {
      checks.push({ check: name, status: 'failed', message: toBatonError(error).message, fixed: false });
    }
  }
  return checks;
}

type Found = Omit<Check, 'check'>;
const ok = (message: string, fixed = false): Found => ({ status: 'ok', message, fixed });
const warning = (message: string): Found => ({ status: 'warning', message, fixed: false });

/** A store at a mistyped path is made anew and knows nothing, and everything after that says so in other words. */
async function storeCheck(session: Session): Promise<Found> {
  const store = await session.store();
  const { engine, location } = store.describe();
  const runs = (await store.runs.list(session.tenant)).length;
  if (runs > 0) return ok(`${engine} ${location}: ${counted(runs, 'run')} of tenant ${session.tenant}`);
  return ok(
    `${engine} ${location} has no run of tenant ${session.tenant} yet: if there should be some, name their store with --store or BATON_STORE`,
  );
}

async function namespaceCheck({ client }: Session): Promise<Found> {
  const { namespace } = client.options;
  await client.withDeadline(Date.now() + 5_000, () =>
    client.workflowService.describeNamespace({ namespace }),
  );
  return ok(namespace);
}

async function attributesCheck(session: Session, fix: boolean): Promise<Found> {
  const present = await registeredAttributes(session);
  const missing = SEARCH_ATTRIBUTES.filter((name) => !present.includes(name));
  if (missing.length === 0) return ok(SEARCH_ATTRIBUTES.join(', '));
  if (!fix) return warning(`not registered: ${missing.join(', ')}; \`baton doctor --fix\` registers them`);
  const { client } = session;
  const searchAttributes = Object.fromEntries(
    missing.map((name) => [name, name === 'BatonWaiting' ? KEYWORD_LIST : KEYWORD]),
  );
  await client.connection.operatorService.addSearchAttributes({
    namespace: client.options.namespace,
    searchAttributes,
  });
  return ok(`registered ${missing.join(', ')}`, true);
}

async function workerCheck({ client, taskQueue }: Session): Promise<Found> {
  const { namespace } = client.options;
  const found = await client.withDeadline(Date.now() + 5_000, () =>
    client.workflowService.describeTaskQueue({
      namespace,
      taskQueue: { name: taskQueue },
      // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- the enum is in a package that is no dependency of ours
      taskQueueType: WORKFLOW_QUEUE,
    }),
  );
  // The server lists pollers for minutes after they are gone; one that lives comes back at least once a minute.
  const pollers = found.pollers.filter(
    ({ lastAccessTime }) => Date.now() - Number(lastAccessTime?.seconds ?? 0) * 1_000 < POLLED_WITHIN_MS,
  ).length;
  if (pollers > 0) return ok(`${pollers} polling on ${taskQueue} in the last minute`);
  return {
    status: 'failed',
    message: `none polls on ${taskQueue}: start one with \`baton worker\``,
    fixed: false,
  };
}

async function runsCheck(session: Session, fix: boolean): Promise<Found> {
  const store = await session.store();
  const left: string[] = [];
  let attempts = 0;
  for (const row of await store.runs.list(session.tenant)) {
    const orphans = await leftOver(session, row);
    if (!orphans) continue;
    left.push(row.run);
    attempts += orphans.rows.length;
    if (fix) await settle(session, row, orphans);
  }
  if (left.length === 0) return ok('no rows are left over');
  const what = `${counted(left.length, 'run')} with ${counted(attempts, 'unsettled attempt')} that Temporal ended without asking them: ${left.slice(0, 10).join(', ')}`;
  return fix
    ? ok(`settled ${what}`, true)
    : { status: 'failed', message: `${what}; \`baton doctor --fix\` settles them`, fixed: false };
}

interface LeftOver {
  readonly rows: readonly AttemptRow[];
  readonly execution: ExecutionView;
  /** The run itself is over and its row does not say so. */
  readonly closes: boolean;
}

/** Null when there is nothing to settle. */
async function leftOver(session: Session, row: RunRow): Promise<LeftOver | null> {
  const store = await session.store();
  const unsettled = (await store.attempts.list(session.tenant, row.run)).filter(
    ({ leaseStatus }) => !isTerminalLease(leaseStatus),
  );
  if (row.status !== 'running' && unsettled.length === 0) return null;
  const execution = await describeRun(session, row.run);
  if (!execution) return null;
  if (!execution.running) {
    const closes = row.status === 'running';
    return closes || unsettled.length > 0 ? { rows: unsettled, execution, closes } : null;
  }
  const rows = await forgotten(session, row.run, execution, unsettled);
  return rows.length > 0 ? { rows, execution, closes: false } : null;
}

/** Attempts that a reset has made the run forget: attached in an execution before, and unknown to the newest. */
async function forgotten(
  session: Session,
  run: string,
  execution: ExecutionView,
  unsettled: readonly AttemptRow[],
): Promise<readonly AttemptRow[]> {
  const elsewhere = unsettled.filter(
    ({ attachment }) => attachment !== null && attachment.workflowRunId !== execution.workflowRunId,
  );
  if (elsewhere.length === 0) return [];
  const view = await queryState(session, run);
  if (!view)
    throw BatonError.of('TemporalUnavailable', 'no control worker says which attempts the run knows', {
      run,
    });
  if (view.rollingOver) return [];
  const known = new Set(
    Object.values(view.state.slots).flatMap(({ active, ending }) => [
      active?.attempt,
      ending?.attempt.attempt,
    ]),
  );
  return elsewhere.filter(({ attempt }) => !known.has(attempt));
}

async function settle(session: Session, row: RunRow, { rows, execution, closes }: LeftOver): Promise<void> {
  const store = await session.store();
  const status = statusOf(execution, row.status);
  const at = execution.closedAt ?? Date.now();
  const why = execution.running ? 'the run was reset to before this attempt' : `the run is ${status}`;
  for (const attempt of rows) {
    const deadline = leaseDeadline(attempt, execution);
    const failure = { code: 'Cancelled', message: why };
    if (attempt.leaseStatus === 'provisional') {
      await store.attempts.voidClaim({
        tenant: attempt.tenant,
        run: attempt.run,
        slot: attempt.slot,
        claimId: attempt.claimId,
      });
      continue;
    }
    await store.attempts.settle({
      fence: fenceOf(attempt),
      end: 'cancelled',
      staged: null,
      failure,
      endedAt: at,
      deadline,
    });
  }
  if (closes) await store.runs.close({ tenant: row.tenant, run: row.run, status, at });
}
