/** What the guards of a reassign would say, asked of the run without giving the command. */
import { parseCommand } from '../domain/commands.js';
import { BatonError } from '../domain/errors.js';
import { QUERIES, type DryRun } from '../domain/wire.js';
import { isTimeout, toBatonError } from './failure.js';
import { queryRun } from './query.js';
import type { Session } from './session.js';

/** @throws BatonError `RunNotFound`, `InvalidCommand`, `TooLarge`, `TemporalUnavailable` when no control worker answers */
export async function dryRunReassign(
  { client, tenant, actor, timeoutMs }: Session,
  { run, slot, workerClass, reason }: { run: string; slot: string; workerClass: string; reason: string },
): Promise<DryRun> {
  const command = { tenant, run, slot, workerClass, reason, actor, commandId: 'dry-run' };
  const parsed = parseCommand('reassign', command);
  if (!parsed.ok) throw BatonError.from(parsed.refusal);
  try {
    return await client.withDeadline(Date.now() + timeoutMs, () =>
      queryRun<DryRun>(client, { tenant, run }, QUERIES.dryRun, command),
    );
  } catch (error) {
    if (!isTimeout(error)) throw toBatonError(error, { tenant, run });
    const facts = { tenant, run, slot };
    throw BatonError.of(
      'TemporalUnavailable',
      'no control worker answers for the run; start one with `baton worker`',
      facts,
    );
  }
}
