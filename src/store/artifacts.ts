/** Saved outputs: metadata rows, fenced by the live lease, that point to bytes by digest. */
import { sql, type Selectable } from 'kysely';
import { BatonError } from '../domain/errors.js';
import type { Blobs } from './blobs.js';
import { alongside, exclusively, slotOf } from './exclusive.js';
import type { ArtifactRef, ArtifactRow, ArtifactStore } from './port.js';
import { fencedRow, liveLease, staleLease } from './rows.js';
import type { Db, Tables } from './schema.js';

const rowOf = (row: Selectable<Tables['artifacts']>): ArtifactRow => ({
  tenant: row.tenant,
  run: row.run,
  slot: row.slot,
  attempt: row.attempt,
  number: row.number,
  epoch: row.epoch ?? 0,
  kind: row.kind,
  name: row.name,
  digest: row.digest,
  size: row.size,
  mediaType: row.media_type,
  step: row.step,
  stepRevision: row.step_revision,
  tags: JSON.parse(row.tags) as readonly string[],
  agentRevision: row.agent_revision,
  derivedFrom: JSON.parse(row.derived_from) as readonly ArtifactRef[],
  savedAt: row.saved_at,
});

export function artifactStore(db: Db, bytes: Blobs): ArtifactStore {
  return {
    putBytes: (content) => bytes.put(content),
    putStream: (content) => bytes.put(content),
    readBytes: (digest) => bytes.read(digest),
    readStream: (digest) => bytes.stream(digest),

    async save(input) {
      const { fence, kind, name, digest, size, mediaType, step, at } = input;
      const { stepRevision = null, agentRevision = null } = input;
      const tags = JSON.stringify(input.tags ?? []);
      // Only what names them: callers may hand in whole rows.
      const derivedFrom = JSON.stringify(
        (input.derivedFrom ?? []).map((from) => ({ attempt: from.attempt, digest: from.digest })),
      );
      // Where they are is looked at before the write; that they were not collected since, and the lease, by the write itself.
      const stored = await bytes.size(digest);
      const saved =
        stored === size
          ? await exclusively(db, slotOf(fence), async (trx) => {
              await alongside(trx, ['bytes', digest]);
              return trx
                .insertInto('artifacts')
                .columns([
                  'tenant',
                  'run',
                  'slot',
                  'attempt',
                  'number',
                  'kind',
                  'name',
                  'digest',
                  'size',
                  'media_type',
                  'step',
                  'saved_at',
                  'epoch',
                  'tags',
                  'agent_revision',
                  'step_revision',
                  'derived_from',
                ])
                .expression(
                  liveLease(trx, fence)
                    .innerJoin('attempts as a', (join) =>
                      join
                        .onRef('a.tenant', '=', 'l.tenant')
                        .onRef('a.run', '=', 'l.run')
                        .onRef('a.attempt', '=', 'l.attempt'),
                    )
                    .where((eb) =>
                      eb.exists(
                        trx.selectFrom('blobs as b').select('b.digest').where('b.digest', '=', digest),
                      ),
                    )
                    .select([
                      'l.tenant',
                      'l.run',
                      'l.slot',
                      'l.attempt',
                      'a.number',
                      sql<typeof kind>`${kind}`.as('kind'),
                      sql<string>`${name}`.as('name'),
                      sql<string>`${digest}`.as('digest'),
                      sql<number>`${size}`.as('size'),
                      sql<string>`${mediaType}`.as('media_type'),
                      sql<string | null>`${step}`.as('step'),
                      sql<number>`${at}`.as('saved_at'),
                      'l.epoch',
                      sql<string>`${tags}`.as('tags'),
                      sql<string | null>`${agentRevision}`.as('agent_revision'),
                      sql<string | null>`${stepRevision}`.as('step_revision'),
                      sql<string>`${derivedFrom}`.as('derived_from'),
                    ]),
                )
                .returningAll()
                .executeTakeFirst();
            })
          : undefined;
      if (saved) return rowOf(saved);
      const lease = await fencedRow(db, fence);
      if (lease?.status !== 'live') throw staleLease(fence, lease?.status);
      if (stored === null || stored === size)
        throw BatonError.of('ArtifactMissing', 'the store has no bytes of that digest', { name, digest });
      throw BatonError.of('ArtifactMismatch', 'the stored bytes have another size', {
        name,
        digest,
        size,
        stored,
      });
    },

    async list(tenant, run, slot) {
      const rows = await db
        .selectFrom('artifacts')
        .selectAll()
        .where('tenant', '=', tenant)
        .where('run', '=', run)
        .$if(slot !== undefined, (query) => query.where('slot', '=', slot ?? ''))
        .orderBy('seq')
        .execute();
      return rows.map(rowOf);
    },
  };
}
