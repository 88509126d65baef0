/**
 * What an artifact is and where it comes from: tags, the revision of the agent that saved it and of the step whose result it is,
 * what it was derived from, and the epoch under which it was saved (earlier rows get it from their lease).
 */
import { migration } from './ddl.js';

const COLUMNS = [
  `epoch INTEGER`,
  `tags TEXT NOT NULL DEFAULT '[]'`,
  `agent_revision TEXT`,
  `step_revision TEXT`,
  `derived_from TEXT NOT NULL DEFAULT '[]'`,
];

export const artifacts = migration(() => [
  ...COLUMNS.map((column) => `ALTER TABLE artifacts ADD COLUMN ${column}`),
  `UPDATE artifacts SET epoch = (SELECT l.epoch FROM leases l
         WHERE l.tenant = artifacts.tenant AND l.run = artifacts.run AND l.attempt = artifacts.attempt)`,
]);
