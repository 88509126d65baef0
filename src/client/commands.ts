/**
 * Sends a command to a run's workflow and brings back its answer, whatever happens between: roll-overs and the server's
 * limits are repeated here, a lost answer becomes `OutcomeUnknown`, and a run that is over still answers what it answered
 * before. The update id is command id and digest, so a repeat never runs twice.
 */
import { randomUUID } from 'node:crypto';
import pRetry from 'p-retry';
import { commandDigest, parseCommand, updateIdOf, type Command } from '../domain/commands.js';
import { BatonError } from '../domain/errors.js';
import { checkId } from '../domain/text.js';
import {
  QUERIES,
  workflowIdOf,
  type CommandAnswer,
  type RememberedCommand,
  type UpdateName,
} from '../domain/wire.js';
import type { Json } from '../store/port.js';
import { commanded } from '../telemetry/commands.js';
import { GRPC, grpcStatus, isNotFound, isTimeout, refusalIn, toBatonError } from './failure.js';
import { describeExecution } from './lease-view.js';
import { Places } from './places.js';
import { statusOf } from './reads.js';
import { queryRun } from './query.js';
import { runNotFound, type Session } from './session.js';

/** Commands under way at once, per run and process: below the server's limit even with a few clients. */
const places = new Places(5);
/** How long a run that is over may take to say what it answered to a command. */
const CLOSED_ANSWER_MS = 3_000;
/** How far the clocks of caller and server may be apart: a run that closed longer than this before a command cannot know it. */
const CLOCKS_MS = 60_000;

/** A command id of the caller's, checked, or a fresh one. */
export const commandIdOf = (given: string | undefined): string =>
  given === undefined ? randomUUID() : checkId('commandId', given);

export interface SendOptions {
  /** Longest wait for the answer, in milliseconds. Default: the client's. */
  readonly timeoutMs?: number;
}

/**
 * Sends one command.
 *
 * @param name update name
 * @param fields the command's own fields; tenant and actor are the session's, absent values are dropped
 * @returns the answer: the first one, if the command was carried out before
 * @throws BatonError the run's refusal, or `InvalidCommand`, `RunNotFound`, `RunClosed`, `CommandConflict`, `OutcomeUnknown`
 */
export function sendCommand(
  session: Session,
  name: UpdateName,
  fields: { run: string; commandId?: string | undefined } & Record<string, unknown>,
  options: SendOptions = {},
): Promise<CommandAnswer> {
  const { run, slot, workerClass, commandId } = fields as typeof fields & {
    slot?: string;
    workerClass?: string;
  };
  const facts = { tenant: session.tenant, run, slot, workerClass };
  return commanded(name, facts, commandId, () => send(session, name, fields, options));
}

async function send(
  session: Session,
  name: UpdateName,
  fields: { run: string; commandId?: string | undefined } & Record<string, unknown>,
  options: SendOptions,
): Promise<CommandAnswer> {
  const made = fields.commandId === undefined;
  const commandId = commandIdOf(fields.commandId);
  const raw = dropAbsent({ tenant: session.tenant, actor: session.actor, ...fields, commandId });
  const parsed = parseCommand(name, raw);
  if (!parsed.ok) throw BatonError.from(parsed.refusal);
  const answered = await recall(session, parsed.command);
  if (answered) return answered;
  const answer = await places.use(workflowIdOf(session.tenant, fields.run), () =>
    deliver(session, parsed.command, raw, made, options.timeoutMs ?? session.timeoutMs),
  );
  await remember(session, parsed.command, answer);
  return answer;
}

async function deliver(
  session: Session,
  command: Command,
  raw: Record<string, unknown>,
  fresh: boolean,
  timeoutMs: number,
): Promise<CommandAnswer> {
  const { client, tenant } = session;
  const { run, commandId, name } = command;
  const handle = client.workflow.getHandle(workflowIdOf(tenant, run));
  const until = performance.now() + timeoutMs;
  const facts = { tenant, run, commandId };
  const unknown = (why: string, cause?: unknown): BatonError => {
    const what = `no answer to \`${name}\` within ${timeoutMs} ms (${why})`;
    return BatonError.of('OutcomeUnknown', what, facts, { cause });
  };
  const sentAt = Date.now();
  let sent = 0;
  const once = async (): Promise<CommandAnswer> => {
    const left = until - performance.now();
    if (left <= 0) throw unknown('the run kept rolling over or the server was at its limit');
    sent += 1;
    try {
      return await client.withDeadline(Date.now() + left, () =>
        handle.executeUpdate<CommandAnswer, [unknown]>(name, { args: [raw], updateId: updateIdOf(command) }),
      );
    } catch (error) {
      if (isTimeout(error)) throw unknown('is the control worker running?', error);
      if (refusalIn(error)) throw toBatonError(error);
      if (isNotFound(error)) return afterNotFound(session, command, fresh ? sentAt : null);
      if (grpcStatus(error) === GRPC.unavailable && sent > 1) throw unknown('the server went away', error);
      throw error;
    }
  };
  try {
    return await pRetry(once, {
      retries: 1_000,
      minTimeout: 30,
      maxTimeout: 500,
      factor: 1.6,
      randomize: true,
      shouldRetry: ({ error }) => isWorthRepeating(error),
    });
  } catch (error) {
    throw toBatonError(error, facts);
  }
}

/** The run is about to be elsewhere, or the server is at a limit: the same request may do in a moment. */
function isWorthRepeating(error: unknown): boolean {
  if (error instanceof BatonError) return error.code === 'RollingOver';
  const known = refusalIn(error);
  if (known) return known.code === 'RollingOver';
  const status = grpcStatus(error);
  return status === GRPC.failedPrecondition || status === GRPC.resourceExhausted;
}

/**
 * "Not found" and "already completed" are one answer of the server's: look which it is. Nor does it tell that the command was
 * never carried out: Temporal's client repeats by itself what got no answer, and the run may have ended on the command meanwhile.
 * @param firstSentAt when a command that nobody knew before was sent first, by this machine's clock; null: it may be older
 */
async function afterNotFound(
  session: Session,
  command: Command,
  firstSentAt: number | null,
): Promise<CommandAnswer> {
  const { client, tenant } = session;
  const { run } = command;
  const view = await describeExecution(client, { tenant, run });
  if (view?.running)
    throw BatonError.of('RollingOver', 'the run continued as new under the command', { run });
  const store = session.hasStore ? await session.store() : null;
  const row = (await store?.runs.get(tenant, run)) ?? null;
  if (!view) {
    // Temporal forgets closed runs after its retention; a row that says "running" without a workflow is an unfinished launch.
    if (row && row.status !== 'running') throw closed(run, row.status);
    throw runNotFound(session, run);
  }
  if (firstSentAt === null || (view.closedAt ?? firstSentAt) >= firstSentAt - CLOCKS_MS) {
    const earlier = await answerOfClosed(session, command);
    if (earlier) return earlier;
  }
  if (!row && (await store?.retention.isCollected(tenant, run))) throw runNotFound(session, run);
  // Temporal lists a run that a command cancelled as failed; its row knows better.
  throw closed(run, statusOf(view, row?.status ?? 'running'));
}

const closed = (run: string, status: string): BatonError =>
  BatonError.of('RunClosed', 'the run is over', { run, status });

/** What a run that is over answered to the command before its end, or null. */
async function answerOfClosed(session: Session, command: Command): Promise<CommandAnswer | null> {
  const { client, tenant } = session;
  const { run, commandId } = command;
  let remembered: RememberedCommand | null;
  try {
    remembered = await client.withDeadline(Date.now() + CLOSED_ANSWER_MS, () =>
      queryRun<RememberedCommand | null>(client, { tenant, run }, QUERIES.commandAnswer, commandId),
    );
  } catch (error) {
    throw BatonError.of(
      'OutcomeUnknown',
      'the run is over, and no control worker says whether it had carried out this command',
      { run, commandId },
      { cause: error },
    );
  }
  if (!remembered) return null;
  if (remembered.digest !== commandDigest(command)) throw conflict(run, commandId);
  return remembered.answer;
}

export const conflict = (run: string, commandId: string): BatonError =>
  BatonError.of('CommandConflict', 'the command id was used for another command', { run, commandId });

/** First answer from the store's log: it outlives the run and Temporal's memory of it. Without a store, Temporal's has to do. */
async function recall(session: Session, command: Command): Promise<CommandAnswer | null> {
  const known = await withLog(session, (log) => log.recall(session.tenant, command.run, command.commandId));
  if (!known) return null;
  if (known.digest !== commandDigest(command)) throw conflict(command.run, command.commandId);
  return known.answer as unknown as CommandAnswer;
}

async function remember(session: Session, command: Command, answer: CommandAnswer): Promise<void> {
  await withLog(session, (log) =>
    log.remember({
      tenant: session.tenant,
      run: command.run,
      commandId: command.commandId,
      name: command.name,
      digest: commandDigest(command),
      answer: answer as unknown as Json,
      at: Date.now(),
    }),
  );
}

/** The run's workflow is the authority on commands: a store that is away must not stop one. */
async function withLog<T>(
  session: Session,
  use: (log: Awaited<ReturnType<Session['store']>>['commands']) => Promise<T>,
): Promise<T | null> {
  if (!session.hasStore) return null;
  try {
    return await use((await session.store()).commands);
  } catch (error) {
    if (error instanceof BatonError && error.code === 'StoreUnavailable') return null;
    throw error;
  }
}

function dropAbsent(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  );
}
