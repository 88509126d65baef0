/**
 * First schema. What SQL can forbid is forbidden here, so that no code path can break it:
 * I1 a running worker has exactly one live lease and the reverse: both tables derive a `phase`, and each row's
 *    (attempt, phase) must exist on the other side at commit (deferred foreign keys both ways);
 * I2 at most one lease of a slot that is provisional or live: partial unique index;
 * I3 terminal rows never change, and no attempt goes away: triggers.
 */
import { migration, type Rule } from './ddl.js';

/** Lease and attempt name each other: SQLite takes the reference before its table is there, Postgres after. */
const HOLDER = `FOREIGN KEY (tenant, run, attempt, phase) REFERENCES leases (tenant, run, attempt, phase)
      DEFERRABLE INITIALLY DEFERRED`;

const tables = (holder: string): readonly string[] => [
  `CREATE TABLE meta (name TEXT NOT NULL PRIMARY KEY, value BLOB NOT NULL)`,

  `CREATE TABLE revisions (
    tenant TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, revision INTEGER NOT NULL CHECK (revision >= 1),
    digest TEXT NOT NULL, content TEXT NOT NULL, published_at INTEGER NOT NULL, published_by TEXT NOT NULL,
    accepted_at INTEGER, accepted_by TEXT,
    PRIMARY KEY (tenant, kind, name, revision),
    UNIQUE (tenant, kind, name, digest),
    CHECK (kind IN ('package', 'workflow', 'binding')),
    CHECK ((accepted_at IS NULL) = (accepted_by IS NULL)))`,

  `CREATE TABLE runs (
    tenant TEXT NOT NULL, run TEXT NOT NULL, digest TEXT NOT NULL, pins TEXT NOT NULL, input TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('running', 'succeeded', 'failed', 'cancelled', 'terminated')),
    created_at INTEGER NOT NULL, ended_at INTEGER,
    PRIMARY KEY (tenant, run))`,
  `CREATE INDEX runs_newest ON runs (tenant, created_at)`,

  `CREATE TABLE attempts (
    tenant TEXT NOT NULL, run TEXT NOT NULL, slot TEXT NOT NULL, attempt TEXT NOT NULL, node TEXT NOT NULL,
    number INTEGER NOT NULL CHECK (number >= 1), worker TEXT NOT NULL, worker_class TEXT NOT NULL,
    worker_status TEXT NOT NULL
      CHECK (worker_status IN ('claimed', 'running', 'succeeded', 'failed', 'released', 'lost', 'cancelled')),
    owner_actor TEXT, spec TEXT NOT NULL, reassign TEXT, command_id TEXT,
    claimed_at INTEGER NOT NULL, started_at INTEGER, ended_at INTEGER, end_kind TEXT, failure TEXT, result TEXT,
    phase TEXT NOT NULL GENERATED ALWAYS AS
      (CASE worker_status WHEN 'claimed' THEN 'provisional' WHEN 'running' THEN 'live' ELSE 'over' END) STORED,
    PRIMARY KEY (tenant, run, attempt),
    UNIQUE (tenant, run, slot, attempt),
    UNIQUE (tenant, run, attempt, phase),
    CHECK ((phase = 'over') = (end_kind IS NOT NULL))${holder})`,

  `CREATE TABLE leases (
    tenant TEXT NOT NULL, run TEXT NOT NULL, slot TEXT NOT NULL, attempt TEXT NOT NULL, lease TEXT NOT NULL,
    epoch INTEGER NOT NULL CHECK (epoch >= 1),
    status TEXT NOT NULL CHECK (status IN ('provisional', 'live', 'released', 'expired', 'revoked', 'void')),
    claim_id TEXT NOT NULL, claim_try INTEGER NOT NULL, host_queue TEXT NOT NULL, ttl_ms INTEGER NOT NULL,
    max_duration_ms INTEGER, deadline INTEGER, workflow_run_id TEXT, activity_id TEXT, task_token BLOB,
    staged_id TEXT, staged_kind TEXT, staged_result TEXT, staged_failure TEXT,
    phase TEXT NOT NULL GENERATED ALWAYS AS
      (CASE status WHEN 'provisional' THEN 'provisional' WHEN 'live' THEN 'live' ELSE 'over' END) STORED,
    PRIMARY KEY (tenant, run, attempt),
    UNIQUE (tenant, run, lease),
    UNIQUE (tenant, run, slot, epoch),
    UNIQUE (tenant, run, attempt, phase),
    CHECK ((staged_id IS NULL) = (staged_kind IS NULL)),
    FOREIGN KEY (tenant, run, slot, attempt) REFERENCES attempts (tenant, run, slot, attempt)
      DEFERRABLE INITIALLY DEFERRED,
    FOREIGN KEY (tenant, run, attempt, phase) REFERENCES attempts (tenant, run, attempt, phase)
      DEFERRABLE INITIALLY DEFERRED)`,
  `CREATE UNIQUE INDEX leases_one_holder ON leases (tenant, run, slot) WHERE status IN ('provisional', 'live')`,
  `CREATE UNIQUE INDEX leases_one_row_a_claim ON leases (tenant, run, claim_id) WHERE status <> 'void'`,

  `CREATE TABLE void_claims (
    tenant TEXT NOT NULL, run TEXT NOT NULL, claim_id TEXT NOT NULL, slot TEXT NOT NULL,
    PRIMARY KEY (tenant, run, claim_id))`,

  `CREATE TABLE blobs (digest TEXT NOT NULL PRIMARY KEY, size INTEGER NOT NULL, bytes BLOB)`,

  `CREATE TABLE artifacts (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL, run TEXT NOT NULL, slot TEXT NOT NULL, attempt TEXT NOT NULL, number INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('result', 'decision', 'source', 'checkpoint')),
    name TEXT NOT NULL, digest TEXT NOT NULL, size INTEGER NOT NULL, media_type TEXT NOT NULL, step TEXT,
    saved_at INTEGER NOT NULL,
    FOREIGN KEY (tenant, run, slot, attempt) REFERENCES attempts (tenant, run, slot, attempt))`,
  `CREATE INDEX artifacts_of_slot ON artifacts (tenant, run, slot, seq)`,

  `CREATE TABLE commands (
    tenant TEXT NOT NULL, run TEXT NOT NULL, command_id TEXT NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL,
    answer TEXT NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (tenant, run, command_id))`,
];

const RULES: readonly Rule[] = [
  {
    name: 'attempts_final',
    table: 'attempts',
    before: 'UPDATE',
    when: `OLD.phase = 'over'`,
    says: 'a terminal attempt never changes',
  },
  {
    name: 'leases_final',
    table: 'leases',
    before: 'UPDATE',
    when: `OLD.phase = 'over'`,
    says: 'a terminal lease never changes',
  },
  { name: 'attempts_kept', table: 'attempts', before: 'DELETE', says: 'attempts are kept for ever' },
  { name: 'leases_kept', table: 'leases', before: 'DELETE', says: 'leases are kept for ever' },
];

export const first = migration((engine) => [
  ...(engine === 'sqlite'
    ? tables(`,\n    ${HOLDER}`)
    : [...tables(''), `ALTER TABLE attempts ADD ${HOLDER}`]),
  ...RULES,
]);
