/**
 * What an artifact is and where it comes from: tags, the revision of the agent that saved it and of the step whose result it is,
 * what it was derived from, and the epoch under which it was saved (earlier rows get it from their lease).
 */
import { sql, type Kysely, type Migration } from 'kysely';

const COLUMNS = [
  `epoch INTEGER`,
  `tags TEXT NOT NULL DEFAULT '[]'`,
  `agent_revision TEXT`,
  `step_revision TEXT`,
  `derived_from TEXT NOT NULL DEFAULT '[]'`,
];

export const artifacts: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const column of COLUMNS) await sql.raw(`ALTER TABLE artifacts ADD COLUMN ${column}`).execute(db);
    await sql
      .raw(
        `UPDATE artifacts SET epoch = (SELECT l.epoch FROM leases l
         WHERE l.tenant = artifacts.tenant AND l.run = artifacts.run AND l.attempt = artifacts.attempt)`,
      )
      .execute(db);
  },
};
