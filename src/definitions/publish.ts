/** `publish` and `accept`: documents become immutable revisions, and somebody answers for them. */
import { BatonError } from '../domain/errors.js';
import type { RevisionKind, RevisionRow, Store } from '../store/port.js';
import { checkRevisions } from './conflicts.js';
import { parseRef } from './fields.js';
import { definitionOf, readDefinitions, type Definition } from './read.js';

/** One entry of `publish --json`. */
export interface Published {
  readonly kind: RevisionKind;
  readonly name: string;
  readonly revision: number;
  /** `name@revision` */
  readonly ref: string;
  readonly digest: string;
}

export interface PublishInput {
  readonly tenant: string;
  readonly actor: string;
  /** Time of publication, ms. */
  readonly at: number;
  /** Documents as data; relative attachment files are looked for in the working directory. */
  readonly documents?: readonly unknown[];
  /** Paths of definition files. */
  readonly files?: readonly string[];
  /** Documents that were read and checked before, see `readDefinitions`. */
  readonly definitions?: readonly Definition[];
  /** Stores without accepting: launches refuse it until `accept`. Default false. */
  readonly draft?: boolean;
}

/**
 * Publishes documents, in their order. Every document is read and checked, also against the revisions that exist,
 * before anything is written; the bytes of attachments are written before the documents that name them. So a refusal
 * leaves nothing, and a crash in between leaves whole revisions only; repeating is safe, because equal content gives the
 * revision that exists.
 *
 * Throws `InvalidCommand`, `TooLarge` and `RevisionConflict` (a stated number that holds other content or leaves a gap).
 */
export async function publish(store: Store, input: PublishInput): Promise<readonly Published[]> {
  const definitions = await collect(input);
  await checkRevisions(store, input.tenant, definitions);
  for (const { attachments } of definitions) {
    for (const bytes of attachments) await store.artifacts.putBytes(bytes);
  }
  const published: Published[] = [];
  for (const { kind, name, revision, content } of definitions) {
    const { tenant, actor, at, draft = false } = input;
    const row = await store.revisions.publish({
      tenant,
      kind,
      name,
      revision,
      content,
      accept: !draft,
      actor,
      at,
    });
    published.push(publishedView(row));
  }
  return published;
}

/** One entry of `publish --json` for a revision row. */
const publishedView = ({ kind, name, revision, digest }: RevisionRow): Published => ({
  kind,
  name,
  revision,
  ref: `${name}@${revision}`,
  digest,
});

/**
 * Records that the actor accepts a revision; the first acceptance stands and is what is returned.
 *
 * @param input.target `KIND/NAME@REV`; throws `InvalidCommand` for another form, `UnknownRevision` when there is none
 */
export async function accept(
  store: Store,
  input: { tenant: string; actor: string; at: number; target: string },
): Promise<Published & { readonly accepted: { readonly actor: string; readonly at: number } | null }> {
  const { tenant, actor, at, target } = input;
  const match = /^(package|workflow|binding)\/(.+)$/s.exec(target);
  const ref = parseRef(match?.[2] ?? '');
  if (match === null || ref === null || ref.revision === null) {
    throw BatonError.of(
      'InvalidCommand',
      'the target must be package, workflow or binding, then /NAME@REVISION',
      {
        field: 'target',
        target,
      },
    );
  }
  const kind = match[1] as RevisionKind;
  const row = await store.revisions.accept({
    tenant,
    kind,
    name: ref.name,
    revision: ref.revision,
    actor,
    at,
  });
  return { ...publishedView(row), accepted: row.accepted };
}

async function collect(input: PublishInput): Promise<readonly Definition[]> {
  const documents = input.documents ?? [];
  const definitions = [...(input.definitions ?? []), ...(await readDefinitions(input.files ?? []))];
  for (const [index, raw] of documents.entries()) {
    definitions.push(await definitionOf(raw, { file: null, document: index + 1 }));
  }
  if (definitions.length === 0)
    throw BatonError.of('InvalidCommand', 'there is nothing to publish', { field: 'documents' });
  return definitions;
}
