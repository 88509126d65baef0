/** Which bytes are referred to, and by whom: everything that keeps bytes from being collected stands here. */
import { sql, type RawBuilder, type SqlBool } from 'kysely';
import type { Db } from './schema.js';

interface Look {
  /** Announced since then: somebody is putting them. */
  readonly before: number;
  /** Runs (`tenant/run`) that are left out of account. */
  readonly without: ReadonlySet<string>;
}

/** The digests among these that an artifact or a result refers to, or that are announced. */
export async function referrers(
  db: Db,
  digests: readonly string[],
  { before, without }: Look,
): Promise<ReadonlySet<string>> {
  if (digests.length === 0) return new Set();
  const artifacts = db
    .selectFrom('artifacts')
    .select(['digest', 'tenant', 'run'])
    .distinct()
    .where('digest', 'in', digests);
  const results = db
    .selectFrom('attempts')
    .select(['result as digest', 'tenant', 'run'])
    .where('result', 'in', digests);
  const staged = db
    .selectFrom('leases')
    .select(['staged_result as digest', 'tenant', 'run'])
    .where('staged_result', 'in', digests);
  const rows = [...(await artifacts.execute()), ...(await results.execute()), ...(await staged.execute())];
  const announced = await db
    .selectFrom('blob_puts')
    .select('digest')
    .where('digest', 'in', digests)
    .where('at', '>=', before)
    .execute();
  return new Set([
    ...rows.flatMap(({ digest, tenant, run }) =>
      digest === null || without.has(`${tenant}/${run}`) ? [] : [digest],
    ),
    ...announced.map(({ digest }) => digest),
  ]);
}

/** The same of one digest, for the transaction that takes its bytes: true when nothing refers to them and no put is recent. */
export const unreferenced = (digest: string, before: number): RawBuilder<SqlBool> => sql<SqlBool>`
  not exists (select 1 from artifacts where digest = ${digest})
  and not exists (select 1 from attempts where result = ${digest})
  and not exists (select 1 from leases where staged_result = ${digest})
  and not exists (select 1 from blobs where digest = ${digest} and (put_at is null or put_at >= ${before}))
  and not exists (select 1 from blob_puts where digest = ${digest} and at >= ${before})`;

const PAGE = 50;

/**
 * Attachments of all revisions, which are never collected: everything in them that looks like a digest, so that no kind of
 * reference can be forgotten.
 */
export async function pinnedBytes(db: Db): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (let offset = 0; ; offset += PAGE) {
    // Rows are only added: one that comes in before the page makes it begin with what was read, and nothing is left out.
    const page = await db
      .selectFrom('revisions')
      .select('content')
      .orderBy('tenant')
      .orderBy('kind')
      .orderBy('name')
      .orderBy('revision')
      .limit(PAGE)
      .offset(offset)
      .execute();
    for (const { content } of page)
      for (const [digest] of content.matchAll(/[0-9a-f]{64}/g)) found.add(digest);
    if (page.length < PAGE) return found;
  }
}
