/** Turns what is wrong in a definition into one `InvalidCommand` (or `TooLarge`) that names file, document and field. */
import type { z } from 'zod';
import { BatonError } from '../domain/errors.js';

/** Where a document comes from: the file (null: passed as data) and its number in it, from 1. */
export interface Source {
  readonly file: string | null;
  readonly document: number;
}

export interface Problem {
  /** Path in the document, like `nodes[0].dependsOn[1]`; empty for the document itself. */
  readonly field: string;
  readonly what: string;
  readonly oversize?: boolean;
}

/** Problems named in one message; more would hide the first. */
const SHOWN = 5;

/** The error for one or more problems of a document; facts name file, document and the first problem's field. */
export function invalid(source: Source, problems: readonly Problem[]): BatonError {
  const first = problems[0] ?? { field: '', what: 'is not valid' };
  const shown = problems
    .slice(0, SHOWN)
    .map(({ field, what }) => `${field === '' ? 'the document' : field} ${what}`);
  const more = problems.length > SHOWN ? [`${problems.length - SHOWN} more problems`] : [];
  return BatonError.of(first.oversize ? 'TooLarge' : 'InvalidCommand', [...shown, ...more].join('; '), {
    ...(source.file === null ? {} : { file: source.file }),
    document: source.document,
    ...(first.field === '' ? {} : { field: first.field }),
  });
}

/** The problems that zod found, one a field, unknown fields by their own path. */
export function problemsOf(error: z.ZodError): readonly Problem[] {
  return error.issues.flatMap((issue): Problem[] => {
    const field = fieldPath(issue.path);
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({
        field: fieldPath([...issue.path, key]),
        what: 'is an unknown field',
      }));
    }
    if (issue.code === 'invalid_key')
      return [{ field, what: `as a key ${issue.issues[0]?.message ?? 'is not valid'}` }];
    if (issue.code === 'custom') {
      return [{ field, what: issue.message, oversize: issue.params?.['oversize'] === true }];
    }
    if (issue.code === 'too_big')
      return [{ field, what: `has too many entries, the limit is ${issue.maximum}`, oversize: true }];
    if (issue.code === 'too_small') return [{ field, what: 'must have at least one entry' }];
    if (issue.code === 'invalid_type') return [{ field, what: typeProblem(issue.expected, issue.message) }];
    return [{ field, what: issue.message }];
  });
}

function typeProblem(expected: string, message: string): string {
  return message.endsWith('received undefined') ? 'is missing' : `must be ${article(expected)}`;
}

const article = (type: string): string =>
  type === 'array' ? 'a list' : type === 'record' || type === 'object' ? 'a mapping' : `a ${type}`;

/** `['nodes', 0, 'launch']` → `nodes[0].launch`. */
export function fieldPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    return text === '' ? String(part) : `${text}.${String(part)}`;
  }, '');
}
