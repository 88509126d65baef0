/** What an artifact says of itself beside its bytes: tags, media type, what it was made from. Checked before anything is stored. */
import { BatonError } from '../domain/errors.js';
import { checkText, isBlank, MAX_NAME } from '../domain/text.js';
import type { AgentRef } from '../domain/types.js';
import type { ArtifactRef } from '../store/port.js';

/** Longest tag, media type or step revision, in code points. */
const MAX_WORD = 128;
const MAX_TAGS = 32;
const MAX_SOURCES = 256;

/** Throws unless the value can name a step, checkpoint or artifact: 1 to 256 code points, not blank. */
export function checkName(field: string, value: unknown): string {
  return checkWord(field, value, MAX_NAME);
}

/** Throws unless the value is a text of 1 to 128 code points that is not blank (a tag, a media type, a revision). */
export function checkWord(field: string, value: unknown, most = MAX_WORD): string {
  const text = checkText(field, value, most);
  if (isBlank(text)) throw BatonError.of('InvalidCommand', `\`${field}\` must not be blank`, { field });
  return text;
}

/** Up to 32 tags; a repeated one counts once. */
export function checkTags(tags: readonly string[]): readonly string[] {
  const unique = [...new Set(checkList('tags', tags, MAX_TAGS))];
  return unique.map((tag) => checkWord('tags', tag));
}

/** Up to 256 references, of each what names it; whether there is such an artifact is for the store to say. */
export function checkDerivedFrom(sources: readonly ArtifactRef[]): readonly ArtifactRef[] {
  return checkList('derivedFrom', sources, MAX_SOURCES).map((source) => {
    const { attempt, digest }: { attempt?: unknown; digest?: unknown } = Object(source) as object;
    if (typeof attempt === 'string' && typeof digest === 'string') return { attempt, digest };
    throw BatonError.of('InvalidCommand', '`derivedFrom` must hold artifacts: {attempt, digest}', {
      field: 'derivedFrom',
    });
  });
}

/** The first reference that is no artifact among the rows of its run; undefined when there is none. */
export const missingFrom = <R extends { readonly digest: string; readonly attempt?: string }>(
  rows: readonly ArtifactRef[],
  refs: readonly R[],
): R | undefined =>
  refs.find(
    (ref) => !rows.some((row) => row.digest === ref.digest && (ref.attempt ?? row.attempt) === row.attempt),
  );

function checkList<T>(field: string, list: readonly T[], limit: number): readonly T[] {
  const given: unknown = list;
  if (!Array.isArray(given)) throw BatonError.of('InvalidCommand', `\`${field}\` must be a list`, { field });
  if (list.length > limit)
    throw BatonError.of('TooLarge', `\`${field}\` has too many entries`, { field, size: list.length, limit });
  return list;
}

/** Who saved it, as it is recorded: `name@revision` of the agent that the slot's node is bound to. */
export const agentRevisionOf = ({ name, revision }: AgentRef): string => `${name}@${revision}`;
