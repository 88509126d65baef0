/**
 * The audit of commands. It is only added to: an entry never changes, and none of a run goes away while the run is open. One
 * command that was accepted is one entry, however often it was repeated; each refusal is one of its own.
 */
import { migration, type Rule } from './ddl.js';

const STATEMENTS = [
  `CREATE TABLE audit (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL, run TEXT, slot TEXT, actor TEXT NOT NULL, command TEXT NOT NULL, command_id TEXT,
    verdict TEXT NOT NULL CHECK (verdict IN ('accepted', 'refused', 'unknown')), code TEXT, reason TEXT,
    at INTEGER NOT NULL,
    CHECK ((verdict = 'accepted') = (code IS NULL)))`,
  `CREATE INDEX audit_newest ON audit (tenant, seq)`,
  `CREATE INDEX audit_of_run ON audit (tenant, run, seq)`,
  `CREATE UNIQUE INDEX audit_accepted_once ON audit (tenant, run, command_id, command) WHERE verdict = 'accepted'`,
];

const RULES: readonly Rule[] = [
  { name: 'audit_final', table: 'audit', before: 'UPDATE', says: 'an audit entry never changes' },
  {
    name: 'audit_kept',
    table: 'audit',
    before: 'DELETE',
    when: `EXISTS (SELECT 1 FROM runs r WHERE r.tenant = OLD.tenant AND r.run = OLD.run AND r.status = 'running')`,
    says: 'the audit of an open run is kept for as long as the run',
  },
];

export const audit = migration(() => [...STATEMENTS, ...RULES]);
