/** The verbs of attempts and leases put together, and their reads. */
import type { Blobs } from './blobs.js';
import { claim, voidClaim } from './claims.js';
import { attach, beat, stage } from './leases.js';
import type { AttemptStore } from './port.js';
import { attemptQuery, attemptRow } from './rows.js';
import type { Db } from './schema.js';
import { settle } from './settle.js';

export function attemptStore(db: Db, bytes: Blobs): AttemptStore {
  return {
    claim: (input) => claim(db, input),
    voidClaim: (input) => voidClaim(db, input),
    attach: (input) => attach(db, input),
    stage: (input) => stage(db, bytes, input),
    beat: (input) => beat(db, input),
    settle: (input) => settle(db, bytes, input),
    async get(tenant, run, attempt) {
      const row = await attemptQuery(db)
        .where('l.tenant', '=', tenant)
        .where('l.run', '=', run)
        .where('l.attempt', '=', attempt)
        .executeTakeFirst();
      return row ? attemptRow(row) : null;
    },
    async list(tenant, run, slot) {
      const rows = await attemptQuery(db)
        .where('l.tenant', '=', tenant)
        .where('l.run', '=', run)
        .where('l.status', '<>', 'void')
        .$if(slot !== undefined, (query) => query.where('l.slot', '=', slot ?? ''))
        .orderBy('l.epoch')
        .orderBy('l.slot')
        .execute();
      return rows.map(attemptRow);
    },
    async newest(tenant, run, slot) {
      const row = await attemptQuery(db)
        .where('l.tenant', '=', tenant)
        .where('l.run', '=', run)
        .where('l.slot', '=', slot)
        .where('l.status', '<>', 'void')
        .orderBy('l.epoch', 'desc')
        .limit(1)
        .executeTakeFirst();
      return row ? attemptRow(row) : null;
    },
  };
}
