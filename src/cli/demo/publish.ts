/** The demo's last act: the publisher loses an answer after it committed, and the host that waits for it is killed. */
import Database from 'better-sqlite3';
import type { LaunchedRun } from '../../client/client.js';
import { BatonError } from '../../domain/errors.js';
import { sha256 } from '../../store/canonical.js';
import { PUBLISH, type OwnerRecord, type Published } from './facts.js';
import type { Stage } from './stage.js';

/** What the publisher prints when it has committed and lost the answer. */
const LOST = /"lost":true/;

/** Resolves once the publisher has lost an answer. Rejects when it ends before, or the time is up. */
export const answerLost = (stage: Stage, limitMs: number): Promise<unknown> =>
  stage.publisher.child.ready(LOST, limitMs);

/** SIGKILL to the host whose agent waits for the lost answer. */
export async function killPublishing(
  stage: Stage,
  run: LaunchedRun,
): Promise<Pick<Published, 'killed' | 'ownerAtKill'>> {
  const host = stage.publishing;
  host.kill('SIGKILL');
  const exit = await host.exited;
  const row = await stage.store.attempts.newest(run.tenant, run.run, PUBLISH);
  if (!row) throw new BatonError('Internal', 'nobody has claimed the publication');
  const killed = { pid: host.pid, exit, attempt: row.attempt, worker: row.worker };
  return { killed, ownerAtKill: readOwner(stage.publisher.database) };
}

/** What the publisher says in the end, by its database and by what it serves; and what the run has on record. */
export async function publicationAtEnd(
  stage: Stage,
  { tenant, run }: LaunchedRun,
): Promise<Pick<Published, 'ownerAtEnd' | 'recorded' | 'served'>> {
  const owner = readOwner(stage.publisher.database);
  const id = owner.publications[0]?.id;
  const response = id === undefined ? null : await fetch(`${stage.publisher.url}/publications/${id}`);
  const served = response?.ok ? sha256(new Uint8Array(await response.arrayBuffer())) : null;
  const recorded = await stage.store.effects.list(tenant, run, PUBLISH);
  return { ownerAtEnd: owner, recorded, served };
}

/** The owner's own database, read beside it. */
function readOwner(file: string): OwnerRecord {
  const database = new Database(file, { readonly: true });
  const all = <T>(sql: string): T[] => database.prepare<[], T>(sql).all();
  try {
    return {
      publications: all('select id, digest from publications order by id'),
      requests: all('select path, key, status from requests order by id'),
      effects: all<OwnerRecord['effects'][number] & { receipt: string | null }>(
        'select effect_key as key, state, attempt, receipt from baton_effects',
      ).map((row) => ({
        ...row,
        receipt: row.receipt === null ? null : (JSON.parse(row.receipt) as unknown),
      })),
    };
  } finally {
    database.close();
  }
}
