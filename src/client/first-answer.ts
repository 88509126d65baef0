/**
 * First answers of the commands that do not pass the run's workflow. The store remembers them by command id, so a repeat gets
 * the first answer as it was, also after the attempt's and the run's end.
 */
import { digestOf } from '../store/canonical.js';
import type { Json } from '../store/port.js';
import { conflict } from './commands.js';
import { runRow, type Session } from './session.js';

export interface DirectCommand {
  readonly name: string;
  readonly run: string;
  readonly commandId: string;
  /** Everything that makes it this command and not another. */
  readonly content: Json;
}

export async function firstAnswer<T>(
  session: Session,
  command: DirectCommand,
  work: () => Promise<T>,
): Promise<T> {
  await runRow(session, command.run);
  const known = await recallAnswer<T>(session, command);
  if (known) return known.answer;
  return keepAnswer(session, command, await work());
}

/** The answer kept under this id, or null; another command's is `CommandConflict`. */
export async function recallAnswer<T>(
  session: Session,
  command: DirectCommand,
): Promise<{ answer: T } | null> {
  const { commands } = await session.store();
  const known = await commands.recall(session.tenant, command.run, command.commandId);
  if (!known) return null;
  if (known.digest !== contentDigest(command)) throw conflict(command.run, command.commandId);
  return { answer: known.answer as unknown as T };
}

/** Keeps an answer unless one is kept already; returns the one that stands. */
export async function keepAnswer<T>(session: Session, command: DirectCommand, answer: T): Promise<T> {
  const { commands } = await session.store();
  const { name, run, commandId } = command;
  const digest = contentDigest(command);
  const kept = await commands.remember({
    tenant: session.tenant,
    run,
    commandId,
    name,
    digest,
    answer: answer as unknown as Json,
    at: Date.now(),
  });
  return kept as unknown as T;
}

const contentDigest = ({ name, content }: DirectCommand): string => digestOf({ name, content });
