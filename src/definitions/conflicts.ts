/** Finds what the store would refuse before anything is written. The store checks again: somebody may publish at the same time. */
import { BatonError } from '../domain/errors.js';
import { digestOf } from '../store/canonical.js';
import type { Store } from '../store/port.js';
import type { Definition } from './read.js';

/**
 * Throws `RevisionConflict` when a stated number holds other content, leaves a gap, or its content has another number, and
 * `InvalidCommand` when one name is there twice without numbers: which is to be the newest would be a matter of luck.
 */
export async function checkRevisions(
  store: Store,
  tenant: string,
  definitions: readonly Definition[],
): Promise<void> {
  const planned = new Map<string, string>();
  for (const definition of definitions) {
    const { kind, name, revision, source } = definition;
    const digest = digestOf(definition.content);
    const facts = { ...source, kind, name, revision };
    const refuse = (what: string) =>
      BatonError.of('RevisionConflict', `${kind} ${name}@${revision} ${what}`, facts);
    const recorded = async (number: number): Promise<string | null> =>
      planned.get(key(definition, number)) ??
      (await store.revisions.get(tenant, kind, name, number))?.digest ??
      null;

    if (revision === null) {
      const twin = planned.get(key(definition, null));
      if (twin !== undefined && twin !== digest) {
        throw BatonError.of('InvalidCommand', `${kind} ${name} is there twice with different content`, {
          ...facts,
          field: 'name',
        });
      }
    } else {
      const existing = await recorded(revision);
      if (existing !== null && existing !== digest) throw refuse('exists with other content');
      // Numbers have no gaps, so walking down to 1 sees every revision that exists.
      for (let number = existing === null ? revision - 1 : 0; number > 0; number -= 1) {
        const earlier = await recorded(number);
        if (earlier === null) throw refuse(`would leave a gap: there is no revision ${number}`);
        if (earlier === digest) throw refuse(`has the content of revision ${number}, which stays its number`);
      }
    }
    planned.set(key(definition, revision), digest);
  }
}

const key = ({ kind, name }: Definition, revision: number | null): string =>
  `${kind}/${name}@${revision ?? ''}`;
