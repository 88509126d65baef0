/** First answers of commands that do not pass the run's workflow; what makes repeating them safe. */
import { sql } from 'kysely';
import { BatonError } from '../domain/errors.js';
import type { CommandLog, Json } from './port.js';
import type { Db } from './schema.js';

export function commandLog(db: Db): CommandLog {
  const recall: CommandLog['recall'] = async (tenant, run, commandId) => {
    const row = await db
      .selectFrom('commands')
      .select(['digest', 'answer'])
      .where('tenant', '=', tenant)
      .where('run', '=', run)
      .where('command_id', '=', commandId)
      .executeTakeFirst();
    return row ? { digest: row.digest, answer: JSON.parse(row.answer) as Json } : null;
  };

  return {
    recall,
    async remember({ tenant, run, commandId, name, digest, answer, at }) {
      await db
        .insertInto('commands')
        .columns(['tenant', 'run', 'command_id', 'name', 'digest', 'answer', 'at'])
        .expression(
          db
            .selectNoFrom([
              sql<string>`${tenant}`.as('tenant'),
              sql<string>`${run}`.as('run'),
              sql<string>`${commandId}`.as('command_id'),
              sql<string>`${name}`.as('name'),
              sql<string>`${digest}`.as('digest'),
              sql<string>`${JSON.stringify(answer)}`.as('answer'),
              sql<number>`${at}`.as('at'),
            ])
            .where((eb) =>
              eb.not(
                eb.exists(
                  db
                    .selectFrom('runs as r')
                    .select('r.run')
                    .where('r.tenant', '=', tenant)
                    .where('r.run', '=', run)
                    .where('r.collecting_at', 'is not', null),
                ),
              ),
            ),
        )
        .onConflict((conflict) => conflict.columns(['tenant', 'run', 'command_id']).doNothing())
        .execute();
      const first = await recall(tenant, run, commandId);
      // The run is collected: nothing more is kept of it.
      if (first === null) return answer;
      if (first.digest !== digest) {
        throw BatonError.of('CommandConflict', 'the command id was used with other arguments', {
          run,
          commandId,
        });
      }
      return first.answer;
    },
    async list(tenant, run) {
      const rows = await db
        .selectFrom('commands')
        .select(['command_id', 'name', 'digest', 'at'])
        .where('tenant', '=', tenant)
        .where('run', '=', run)
        .orderBy('at')
        .orderBy('command_id')
        .execute();
      return rows.map(({ command_id: commandId, ...row }) => ({ commandId, ...row }));
    },
  };
}
