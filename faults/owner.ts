/** Starts the effect's owner, and reads its own account: what it did, and what it was asked. */
import path from 'node:path';
import Database from 'better-sqlite3';
import { packageRoot } from '../src/cli/demo/stage.js';
import { startChild } from '../src/server/processes.js';
import type { Json } from '../src/store/port.js';
import type { AtEnd } from './ends.js';
import type { EffectCall } from './model.js';
import type { OwnerInput } from './owner-process.js';

/** Compiled, whether this file runs from source or not. */
const PROCESS = path.join(packageRoot(), 'dist', 'faults', 'owner-process.js');
const START_MS = 60_000;

export interface OwnerRecord {
  /** What it has done, one for each time. */
  readonly acts: readonly { readonly key: string }[];
  /** In order of arrival. `answer`: the state that it gave, or the code of its refusal; null when there was none. */
  readonly calls: readonly {
    readonly call: EffectCall;
    readonly attempt: string;
    readonly key: string;
    readonly answer: string | null;
  }[];
  /** The kit's own records. */
  readonly effects: readonly { readonly key: string; readonly state: string; readonly receipt: Json }[];
}

/** @returns the owner's address, for `httpOwner` */
export async function startOwner(input: OwnerInput, atEnd: AtEnd): Promise<string> {
  const child = await startChild(process.execPath, [PROCESS, JSON.stringify(input)], {
    name: 'effect owner',
  });
  atEnd(async () => {
    child.kill('SIGKILL');
    await child.exited;
  });
  return (await child.ready(/^serving /, START_MS)).slice('serving '.length);
}

/** Its database, read beside it. */
export function readOwner(file: string): OwnerRecord {
  const database = new Database(file, { readonly: true });
  const all = <T>(sql: string): T[] => database.prepare<[], T>(sql).all();
  try {
    return {
      acts: all('select effect_key as key from acts order by id'),
      calls: all('select call, attempt, effect_key as key, answer from calls order by id'),
      effects: all<{ key: string; state: string; receipt: string }>(
        'select effect_key as key, state, receipt from baton_effects',
      ).map((row) => ({ ...row, receipt: JSON.parse(row.receipt) as Json })),
    };
  } finally {
    database.close();
  }
}
