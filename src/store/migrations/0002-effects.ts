/**
 * Effects. What SQL can forbid is forbidden here: an effect has one key and one key one effect, a receipt is there with
 * `committed` and with nothing else, what is committed or rejected never changes, no request is replaced under its key, epochs
 * only rise, nothing goes away, and nobody stages a completion of a slot while an effect of it is open.
 */
import { sql, type Kysely, type Migration } from 'kysely';

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

  `CREATE TRIGGER effects_final BEFORE UPDATE ON effects WHEN OLD.state IN ('committed', 'rejected')
   BEGIN SELECT RAISE(ABORT, 'a committed or rejected effect never changes'); END`,
  `CREATE TRIGGER effects_identity BEFORE UPDATE ON effects
   WHEN NEW.key <> OLD.key OR NEW.request_digest <> OLD.request_digest OR NEW.slot <> OLD.slot
     OR NEW.name <> OLD.name OR NEW.instance <> OLD.instance OR NEW.epoch < OLD.epoch
   BEGIN SELECT RAISE(ABORT, 'an effect keeps its key and its request, and its epoch only rises'); END`,
  `CREATE TRIGGER effects_kept BEFORE DELETE ON effects
   BEGIN SELECT RAISE(ABORT, 'effects are kept for ever'); END`,
  `CREATE TRIGGER leases_effects_known BEFORE UPDATE OF staged_kind ON leases
   WHEN NEW.staged_kind = 'completion' AND OLD.staged_kind IS NULL AND EXISTS (
     SELECT 1 FROM effects e WHERE e.tenant = NEW.tenant AND e.run = NEW.run AND e.slot = NEW.slot
       AND e.state IN ('intent', 'accepted', 'unresolved'))
   BEGIN SELECT RAISE(ABORT, 'a slot with an open effect is not completed'); END`,
];

export const effects: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
  },
};
