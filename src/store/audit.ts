/** The audit of commands: one insert a verdict, read page by page. */
import type { Selectable } from 'kysely';
import type { AuditLog, AuditRow } from './port.js';
import type { Db, Tables } from './schema.js';

const rowOf = (row: Selectable<Tables['audit']>): AuditRow => ({
  entry: row.seq,
  at: row.at,
  tenant: row.tenant,
  run: row.run,
  slot: row.slot,
  actor: row.actor,
  command: row.command,
  commandId: row.command_id,
  verdict: row.verdict,
  code: row.code,
  reason: row.reason,
});

export function auditLog(db: Db): AuditLog {
  return {
    async record({ commandId, ...entry }) {
      await db
        .insertInto('audit')
        .values({ ...entry, command_id: commandId })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    },
    async list({ tenant, run, actor, verdict, since, before, limit }) {
      let query = db.selectFrom('audit').selectAll().where('tenant', '=', tenant);
      if (run !== undefined) query = query.where('run', '=', run);
      if (actor !== undefined) query = query.where('actor', '=', actor);
      if (verdict !== undefined) query = query.where('verdict', '=', verdict);
      if (since !== undefined) query = query.where('at', '>=', since);
      if (before !== undefined) query = query.where('seq', '<', before);
      return (await query.orderBy('seq', 'desc').limit(limit).execute()).map(rowOf);
    },
  };
}
