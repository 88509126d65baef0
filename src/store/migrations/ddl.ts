/**
 * One text of the schema for both engines. It is written in SQLite's words; what Postgres says otherwise is put here: 64-bit
 * integers, bytes, a sequence, texts compared byte by byte as SQLite does whatever the database's locale, and triggers.
 */
import { PostgresAdapter, sql, type Kysely, type Migration } from 'kysely';

export type EngineName = 'sqlite' | 'postgres';

/** @returns the engine behind a Kysely instance or one of its transactions */
export const engineOf = <Tables>(db: Kysely<Tables>): EngineName =>
  db.getExecutor().adapter instanceof PostgresAdapter ? 'postgres' : 'sqlite';

/** Postgres's words for SQLite's, in this order: the longer one first. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [/\bINTEGER PRIMARY KEY AUTOINCREMENT\b/g, 'BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY'],
  [/\bINTEGER\b/g, 'BIGINT'],
  [/\bBLOB\b/g, 'BYTEA'],
  [/\bTEXT\b/g, 'TEXT COLLATE "C"'],
];

/** A rule that the engine itself keeps: a change of a row for which the condition holds fails. */
export interface Rule {
  readonly name: string;
  readonly table: string;
  readonly before: 'DELETE' | 'INSERT' | 'UPDATE' | `UPDATE OF ${string}`;
  /** SQL over OLD and NEW; absent: always. */
  readonly when?: string;
  readonly says: string;
}

/** A rule of an earlier migration that holds no longer. */
export interface Dropped {
  readonly drop: string;
  readonly table: string;
}

/** @param statements in order; a string is DDL in SQLite's words */
export const migration = (
  statements: (engine: EngineName) => readonly (string | Rule | Dropped)[],
): Migration => ({
  async up(db: Kysely<unknown>): Promise<void> {
    const engine = engineOf(db);
    for (const one of statements(engine))
      for (const text of textsOf(engine, one)) await sql.raw(text).execute(db);
  },
});

function textsOf(engine: EngineName, one: string | Rule | Dropped): readonly string[] {
  if (typeof one === 'string') return [inWordsOf(engine, one)];
  if (!('drop' in one)) return trigger(engine, one);
  if (engine === 'sqlite') return [`DROP TRIGGER ${one.drop}`];
  return [`DROP TRIGGER ${one.drop} ON ${one.table}`, `DROP FUNCTION ${one.drop}()`];
}

const inWordsOf = (engine: EngineName, text: string): string =>
  engine === 'sqlite' ? text : WORDS.reduce((done, [word, other]) => done.replace(word, other), text);

function trigger(engine: EngineName, { name, table, before, when, says }: Rule): readonly string[] {
  if (engine === 'sqlite')
    return [
      `CREATE TRIGGER ${name} BEFORE ${before} ON ${table}${when === undefined ? '' : ` WHEN ${when}`}
   BEGIN SELECT RAISE(ABORT, '${says}'); END`,
    ];
  // The condition stands in the function: Postgres allows no subquery in WHEN. 23000 is a broken constraint.
  return [
    `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $rule$ BEGIN
       IF ${when ?? 'true'} THEN RAISE EXCEPTION '${says}' USING ERRCODE = '23000'; END IF;
       RETURN ${before === 'DELETE' ? 'OLD' : 'NEW'};
     END $rule$`,
    `CREATE TRIGGER ${name} BEFORE ${before} ON ${table} FOR EACH ROW EXECUTE FUNCTION ${name}()`,
  ];
}
