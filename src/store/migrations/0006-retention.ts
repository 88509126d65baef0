/**
 * Collecting closed runs. A run that is to go is marked first (`collecting_at`), for good, and only then do its rows lose the
 * protection that they have otherwise; the row of the run stays, emptied (`collected_at`), since its id is never given out again.
 * And when bytes were last put: those that somebody is about to refer to are not in a row yet.
 */
import { migration, type Dropped, type Rule } from './ddl.js';

const STATEMENTS = [
  `ALTER TABLE runs ADD COLUMN collecting_at INTEGER`,
  `ALTER TABLE runs ADD COLUMN collected_at INTEGER`,
  `ALTER TABLE runs ADD COLUMN collected_by TEXT`,
  // Null: put by an earlier version, which did not say when; the first collection dates them.
  `ALTER TABLE blobs ADD COLUMN put_at INTEGER`,
  // Large bytes that are on their way to their place: announced before, taken away together with the writing of their row.
  `CREATE TABLE blob_puts (digest TEXT NOT NULL, put TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (digest, put))`,
  `CREATE INDEX artifacts_of_bytes ON artifacts (digest)`,
  `CREATE INDEX attempts_of_bytes ON attempts (result) WHERE result IS NOT NULL`,
  `CREATE INDEX leases_of_bytes ON leases (staged_result) WHERE staged_result IS NOT NULL`,
];

const collecting = (row: 'OLD' | 'NEW'): string =>
  `EXISTS (SELECT 1 FROM runs r WHERE r.tenant = ${row}.tenant AND r.run = ${row}.run AND r.collecting_at IS NOT NULL)`;

const kept = (table: string): Rule => ({
  name: `${table}_kept`,
  table,
  before: 'DELETE',
  when: `NOT ${collecting('OLD')}`,
  says: `${table} are kept for ever, unless their closed run is collected`,
});

const REPLACED: readonly Dropped[] = ['attempts', 'leases', 'effects'].map((table) => ({
  drop: `${table}_kept`,
  table,
}));

const ofRun = (table: string, more: string): string =>
  `EXISTS (SELECT 1 FROM ${table} t WHERE t.tenant = NEW.tenant AND t.run = NEW.run${more})`;

const RULES: readonly Rule[] = [
  ...['attempts', 'leases', 'effects', 'artifacts'].map(kept),
  { name: 'runs_kept', table: 'runs', before: 'DELETE', says: 'a run keeps its id for ever' },
  {
    name: 'runs_final',
    table: 'runs',
    before: 'UPDATE',
    when: `OLD.collected_at IS NOT NULL OR (OLD.collecting_at IS NOT NULL AND NEW.collecting_at IS NULL)
     OR (OLD.status <> 'running' AND NEW.status <> OLD.status)`,
    says: 'the end of a run never changes, nor does its collection',
  },
  {
    name: 'runs_collectable',
    table: 'runs',
    before: 'UPDATE OF collecting_at',
    when: `OLD.collecting_at IS NULL AND NEW.collecting_at IS NOT NULL AND (NEW.status = 'running'
     OR ${ofRun('leases', ` AND t.status IN ('provisional', 'live')`)}
     OR ${ofRun('effects', ` AND t.state IN ('intent', 'accepted', 'unresolved')`)})`,
    says: 'only a closed run is collected, without leases that are held and without open effects',
  },
  {
    name: 'runs_emptied',
    table: 'runs',
    before: 'UPDATE OF collected_at',
    when: `NEW.collected_at IS NOT NULL AND (NEW.collecting_at IS NULL OR ${ofRun('attempts', '')})`,
    says: 'a run is collected once its rows are',
  },
  {
    name: 'attempts_none_of_collected',
    table: 'attempts',
    before: 'INSERT',
    when: collecting('NEW'),
    says: 'a run that is collected is not worked on',
  },
];

export const retention = migration(() => [...STATEMENTS, ...REPLACED, ...RULES]);
