/** Published documents: immutable, numbered by kind and name in a tenant, found by digest. */
import type { Selectable } from 'kysely';
import { BatonError } from '../domain/errors.js';
import { digestOf, sha256 } from './canonical.js';
import { exclusively } from './exclusive.js';
import type { Json, RevisionKind, RevisionRow, RevisionStore } from './port.js';
import type { Db, Tables } from './schema.js';

type Row = Selectable<Tables['revisions']>;

const damaged = (row: { kind: string; name: string; revision: number | string }, why: string): BatonError =>
  BatonError.of('PinsDamaged', why, { kind: row.kind, ref: `${row.name}@${row.revision}` });

function contentOf(row: Row): Json {
  try {
    return JSON.parse(row.content) as Json;
  } catch {
    throw damaged(row, 'the stored content is no JSON');
  }
}

/**
 * Contents by the digest of their stored text. Every claim checks what is pinned: the text is read and hashed each time, but
 * the same text is not parsed and put into canonical form again.
 */
const contents = new Map<string, { readonly content: Json; readonly digest: string }>();
const CONTENTS_KEPT = 30;

function readContent(row: Row): { readonly content: Json; readonly digest: string } {
  const text = sha256(row.content);
  const known = contents.get(text);
  if (known) return known;
  const content = contentOf(row);
  const read = { content, digest: digestOf(content) };
  contents.set(text, read);
  for (const oldest of contents.keys()) {
    if (contents.size <= CONTENTS_KEPT) break;
    contents.delete(oldest);
  }
  return read;
}

const rowOf = (row: Row): RevisionRow => ({
  tenant: row.tenant,
  kind: row.kind,
  name: row.name,
  revision: row.revision,
  digest: row.digest,
  content: contentOf(row),
  publishedAt: row.published_at,
  publishedBy: row.published_by,
  accepted:
    row.accepted_at === null || row.accepted_by === null
      ? null
      : { actor: row.accepted_by, at: row.accepted_at },
});

export function revisionStore(db: Db): RevisionStore {
  const ofName = (from: Db, tenant: string, kind: RevisionKind, name: string) =>
    from
      .selectFrom('revisions')
      .selectAll()
      .where('tenant', '=', tenant)
      .where('kind', '=', kind)
      .where('name', '=', name);

  const find = (
    from: Db,
    tenant: string,
    kind: RevisionKind,
    name: string,
    revision: number,
  ): Promise<Row | undefined> =>
    ofName(from, tenant, kind, name).where('revision', '=', revision).executeTakeFirst();

  const markAccepted = (
    from: Db,
    row: Pick<Row, 'tenant' | 'kind' | 'name' | 'revision'>,
    actor: string,
    at: number,
  ): Promise<unknown> =>
    from
      .updateTable('revisions')
      .set({ accepted_by: actor, accepted_at: at })
      .where('tenant', '=', row.tenant)
      .where('kind', '=', row.kind)
      .where('name', '=', row.name)
      .where('revision', '=', row.revision)
      .where('accepted_at', 'is', null)
      .execute();

  return {
    async publish({ tenant, kind, name, revision, content, accept, actor, at }) {
      const digest = digestOf(content);
      const row = await exclusively(db, ['revisions', tenant, kind, name], async (trx) => {
        const equal = await ofName(trx, tenant, kind, name).where('digest', '=', digest).executeTakeFirst();
        const newest = await ofName(trx, tenant, kind, name)
          .orderBy('revision', 'desc')
          .limit(1)
          .executeTakeFirst();
        const next = (newest?.revision ?? 0) + 1;
        if (revision !== null && equal?.revision !== revision) {
          const facts = { kind, ref: `${name}@${revision}`, next };
          if (equal)
            throw BatonError.of(
              'RevisionConflict',
              `that content is revision ${equal.revision} already`,
              facts,
            );
          if (revision > next)
            throw BatonError.of('RevisionConflict', 'the stated number is beyond the next one', facts);
          if (revision !== next)
            throw BatonError.of('RevisionConflict', 'the revision has other content', facts);
        }
        if (equal) {
          if (accept) await markAccepted(trx, equal, actor, at);
        } else {
          await trx
            .insertInto('revisions')
            .values({
              tenant,
              kind,
              name,
              revision: next,
              digest,
              content: JSON.stringify(content),
              published_at: at,
              published_by: actor,
              accepted_at: accept ? at : null,
              accepted_by: accept ? actor : null,
            })
            .execute();
        }
        return ofName(trx, tenant, kind, name).where('digest', '=', digest).executeTakeFirstOrThrow();
      });
      return rowOf(row);
    },

    async accept({ tenant, kind, name, revision, actor, at }) {
      await markAccepted(db, { tenant, kind, name, revision }, actor, at);
      const row = await find(db, tenant, kind, name, revision);
      if (!row)
        throw BatonError.of('UnknownRevision', 'no such revision', { kind, ref: `${name}@${revision}` });
      return rowOf(row);
    },

    async get(tenant, kind, name, revision) {
      const row =
        revision === null
          ? await ofName(db, tenant, kind, name)
              .orderBy((eb) => eb('accepted_at', 'is', null))
              .orderBy('revision', 'desc')
              .limit(1)
              .executeTakeFirst()
          : await find(db, tenant, kind, name, revision);
      return row ? rowOf(row) : null;
    },

    async pinned(tenant, kind, pin) {
      const at = pin.ref.lastIndexOf('@');
      const name = pin.ref.slice(0, at);
      const revision = pin.ref.slice(at + 1);
      const row =
        at > 0 && /^[1-9]\d*$/.test(revision)
          ? await find(db, tenant, kind, name, Number(revision))
          : undefined;
      if (!row) throw damaged({ kind, name, revision }, 'the pinned revision is not in the store');
      const { content, digest } = readContent(row);
      if (digest !== pin.digest) throw damaged(row, 'the stored content differs from what was pinned');
      return content;
    },
  };
}
