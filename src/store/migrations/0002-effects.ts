/**
 * Effects. What SQL can forbid is forbidden here: an effect has one key and one key one effect, a receipt is there with
 * `committed` and with nothing else, what is committed or rejected never changes, no request is replaced under its key, epochs
 * only rise, nothing goes away, and nobody stages a completion of a slot while an effect of it is open.
 */
import { migration, type Rule } from './ddl.js';

const STATEMENTS = [
  `CREATE TABLE effects (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL, run TEXT NOT NULL, slot TEXT NOT NULL, name TEXT NOT NULL, instance TEXT NOT NULL,
    key TEXT NOT NULL, request_digest TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('intent', 'accepted', 'committed', 'rejected', 'unresolved', 'absent')),
    receipt TEXT, handle TEXT, failure TEXT,
    attempt TEXT NOT NULL, epoch INTEGER NOT NULL CHECK (epoch >= 1),
    resolved_by TEXT, resolved_command TEXT,
    intent_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    UNIQUE (tenant, run, slot, name, instance),
    UNIQUE (tenant, run, key),
    CHECK ((state = 'committed') = (receipt IS NOT NULL)),
    CHECK (state <> 'accepted' OR handle IS NOT NULL),
    CHECK (state <> 'rejected' OR failure IS NOT NULL),
    CHECK (state <> 'absent' OR resolved_by IS NOT NULL),
    CHECK ((resolved_by IS NULL) = (resolved_command IS NULL)),
    FOREIGN KEY (tenant, run, slot, attempt) REFERENCES attempts (tenant, run, slot, attempt))`,
  `CREATE INDEX effects_open ON effects (tenant, run, slot) WHERE state IN ('intent', 'accepted', 'unresolved')`,
];

const RULES: readonly Rule[] = [
  {
    name: 'effects_final',
    table: 'effects',
    before: 'UPDATE',
    when: `OLD.state IN ('committed', 'rejected')`,
    says: 'a committed or rejected effect never changes',
  },
  {
    name: 'effects_identity',
    table: 'effects',
    before: 'UPDATE',
    when: `NEW.key <> OLD.key OR NEW.request_digest <> OLD.request_digest OR NEW.slot <> OLD.slot
     OR NEW.name <> OLD.name OR NEW.instance <> OLD.instance OR NEW.epoch < OLD.epoch`,
    says: 'an effect keeps its key and its request, and its epoch only rises',
  },
  { name: 'effects_kept', table: 'effects', before: 'DELETE', says: 'effects are kept for ever' },
  {
    name: 'leases_effects_known',
    table: 'leases',
    before: 'UPDATE OF staged_kind',
    when: `NEW.staged_kind = 'completion' AND OLD.staged_kind IS NULL AND EXISTS (
     SELECT 1 FROM effects e WHERE e.tenant = NEW.tenant AND e.run = NEW.run AND e.slot = NEW.slot
       AND e.state IN ('intent', 'accepted', 'unresolved'))`,
    says: 'a slot with an open effect is not completed',
  },
];

export const effects = migration(() => [...STATEMENTS, ...RULES]);
