/** First answers of commands that do not pass the run's workflow; what makes repeating them safe. */
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
        .values({ tenant, run, command_id: commandId, name, digest, answer: JSON.stringify(answer), at })
        .onConflict((conflict) => conflict.columns(['tenant', 'run', 'command_id']).doNothing())
        .execute();
      const first = await recall(tenant, run, commandId);
      if (first === null || first.digest !== digest) {
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
