/**
 * The client's door: whatever a caller asks for passes here, once. The hook is asked first, before anything is looked at; then
 * the work is done, and its verdict is written to the store's audit, where a refusal would leave no trace otherwise.
 */
import { assertAuthorized, AUTHORIZE_MS } from '../access/authorize.js';
import { READS, type ActionAsked, type CommandName, type ReadName } from '../access/actions.js';
import { within } from '../access/within.js';
import { BatonError, ERROR_CODES } from '../domain/errors.js';
import { isId, recordable } from '../domain/text.js';
import type { AuditEntry } from '../store/port.js';
import { countRefusal } from '../telemetry/metrics.js';
import type { Session } from './session.js';
import { attemptOfToken } from './token.js';

/** Longest wait for an entry to be written, in milliseconds: the audit must not hold a command up. */
const AUDIT_MS = 1_000;
/** Code points of a reason that are kept. */
const MAX_REASON = 1_000;

/** Asked for, as the caller gave it: nothing of it has been checked yet. */
export interface Asked {
  readonly run?: string | undefined;
  readonly slot?: string | undefined;
  /** A holder's token: only the attempt that it names is told to the hook, and nothing of it is kept. */
  readonly lease?: string | undefined;
  readonly workerClass?: string | undefined;
  readonly owner?: string | undefined;
  readonly effect?: string | undefined;
  readonly target?: string | undefined;
  readonly commandId?: string | undefined;
}

/**
 * A read, or a command of which it is only asked what it would do: nothing is written of it unless it is refused.
 *
 * @throws BatonError `NotAuthorized`, `InvalidCommand` for a policy file that is not valid; what the work throws
 */
export async function look<T>(
  session: Session,
  name: ReadName | CommandName,
  asked: Asked,
  work: () => Promise<T>,
): Promise<T> {
  await assertMay(session, name, asked);
  return work();
}

/**
 * A command, with its verdict in the audit.
 *
 * @param answered where the answer says more than the caller did, such as the run that a launch made up
 * @throws BatonError as {@link look}. An entry that cannot be written is a warning (`BATON_AUDIT`): the verdict stands
 */
export async function command<T>(
  session: Session,
  name: CommandName,
  asked: Asked,
  work: () => Promise<T>,
  answered: (answer: T) => Asked = () => ({}),
): Promise<T> {
  await assertMay(session, name, asked);
  let answer: T;
  try {
    answer = await work();
  } catch (error) {
    await audit(session, name, asked, verdictOf(error));
    throw error;
  }
  const told = { commandId: commandIdIn(answer), ...answered(answer) };
  // A beat that nobody can repeat is like a host's: too many, and each says nothing more than the lease's deadline.
  if (name === 'heartbeat' && asked.commandId === undefined) return answer;
  await audit(session, name, { ...asked, ...told }, { verdict: 'accepted', code: null, reason: null });
  return answer;
}

async function assertMay(session: Session, name: CommandName | ReadName, asked: Asked): Promise<void> {
  const authorize = await session.access();
  if (!authorize) return;
  const timeoutMs = Math.min(AUTHORIZE_MS, session.timeoutMs);
  try {
    await assertAuthorized(authorize, actionOf(session, name, asked), session.actor, timeoutMs);
  } catch (error) {
    countRefusal(error, name);
    await audit(session, name, asked, verdictOf(error));
    throw error;
  }
}

function actionOf({ tenant }: Session, name: CommandName | ReadName, asked: Asked): ActionAsked {
  const { run, slot, lease, workerClass, owner, effect, target } = asked;
  const attempt = typeof lease === 'string' ? attemptOfToken(lease) : null;
  return {
    name,
    kind: (READS as readonly string[]).includes(name) ? 'read' : 'command',
    tenant,
    ...(run == null ? {} : { run }),
    ...(slot == null ? {} : { slot }),
    ...(attempt === null ? {} : { attempt }),
    ...(workerClass == null ? {} : { class: workerClass }),
    ...(owner == null ? {} : { owner }),
    ...(effect == null ? {} : { effect }),
    ...(target == null ? {} : { target }),
  };
}

type Judged = Pick<AuditEntry, 'verdict' | 'code' | 'reason'> & { readonly commandId?: string | undefined };

/** Only a rule's refusal is known to have changed nothing. Words of other errors are not kept: they may be anybody's. */
function verdictOf(error: unknown): Judged {
  const known = error instanceof BatonError ? error : null;
  const code = known?.code ?? 'Internal';
  const told = { code, commandId: commandIdIn(known?.details) };
  switch (ERROR_CODES[code].exit) {
    case 1:
      return { ...told, verdict: 'unknown', reason: null };
    case 2:
      // The message quotes what was given, which may be anything.
      return { ...told, verdict: 'refused', reason: fieldIn(known) };
    case 3:
      return { ...told, verdict: 'refused', reason: recordable(known?.message ?? '', MAX_REASON) };
  }
}

function fieldIn(error: BatonError | null): string | null {
  const field = error?.details['field'];
  return isId(field) ? `\`${field}\` is wrong` : null;
}

function commandIdIn(value: unknown): string | undefined {
  const id = (value as { commandId?: unknown } | null | undefined)?.commandId;
  return isId(id) ? id : undefined;
}

/** What is no id was not checked before the refusal, and is not kept. */
const idOrNull = (value: unknown): string | null => (isId(value) ? value : null);

async function audit(
  session: Session,
  name: CommandName | ReadName,
  asked: Asked,
  { commandId, ...judged }: Judged,
): Promise<void> {
  if (!session.hasStore) return;
  const { tenant, actor } = session;
  const entry: AuditEntry = {
    tenant,
    run: idOrNull(asked.run),
    slot: idOrNull(asked.slot),
    actor,
    command: name,
    commandId: idOrNull(asked.commandId ?? commandId),
    at: Date.now(),
    ...judged,
  };
  try {
    const late = (): Error => new Error(`the store did not take it within ${AUDIT_MS} ms`);
    await within(
      session.store().then((store) => store.audit.record(entry)),
      AUDIT_MS,
      late,
    );
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const what = `${entry.command} of run ${entry.run ?? '–'} by ${actor}: ${entry.code ?? entry.verdict}`;
    process.emitWarning(`no audit entry could be written for ${what} (${why})`, { code: 'BATON_AUDIT' });
  }
}
