/**
 * The owner's two tables, in its own database: the fence of each slot, and the effects by key. `effects` is the owner's
 * record of what it did; nothing may be taken out of it as long as a slot's work may still ask.
 */
import { BatonError } from '../../domain/errors.js';
import type { Dialect } from './engines.js';
import { query, type Script } from './script.js';

export interface Tables {
  readonly fences: string;
  readonly effects: string;
}

/** @param prefix of the tables' names; lower-case, since Postgres folds other names */
export function tablesOf(prefix: string): Tables {
  if (!/^[a-z][a-z0-9_]{0,39}$/.test(prefix))
    throw BatonError.of('InvalidCommand', '`prefix` must be 1 to 40 of a-z 0-9 _, and begin with a letter', {
      field: 'prefix',
      value: prefix,
    });
  return { fences: `${prefix}_fences`, effects: `${prefix}_effects` };
}

/** Any number of processes may run it at once: it adds what is missing. */
export function* createTables({ fences, effects }: Tables, dialect: Dialect): Script<void> {
  // Postgres checks `if not exists` before it locks, so that two at once collide.
  if (dialect === 'postgres') yield* query('select pg_advisory_xact_lock(hashtext(?))', [effects]);
  yield* query(`create table if not exists ${fences} (
    tenant text not null,
    run text not null,
    slot text not null,
    epoch bigint not null,
    primary key (tenant, run, slot)
  )`);
  yield* query(`create table if not exists ${effects} (
    tenant text not null,
    run text not null,
    slot text not null,
    effect_key text not null,
    request_digest text,
    state text not null check (state in ('accepted', 'committed', 'rejected')),
    receipt text,
    handle text,
    failure text,
    attempt text not null,
    epoch bigint not null,
    recorded_at bigint not null,
    finished_at bigint,
    primary key (tenant, run, slot, effect_key)
  )`);
}
