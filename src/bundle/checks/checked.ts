/** What the checks of records are made on, and how they tell what they find. */
import type { RunPlan } from '../../domain/types.js';
import { digestOf } from '../../store/canonical.js';
import { RECORDS, type RecordName } from '../layout.js';
import type { Parsed } from '../parse.js';
import type { Problems } from '../problems.js';

/** A record that cannot be read is null, and checks that need it are left out: that it is not there is told already. */
export interface Checked {
  readonly records: { readonly [K in RecordName]: Parsed[K] | null };
  /** Of the pins; null when they cannot be read or do not fit together. */
  readonly plan: RunPlan | null;
  /** Sizes of the bytes that are there, by digest. */
  readonly sizes: ReadonlyMap<string, number>;
}

/** Tells that a field of one record contradicts another one. */
export type Tell = (field: string, message: string) => void;

export const teller =
  (problems: Problems, name: RecordName): Tell =>
  (field, message) =>
    problems.add('inconsistent', RECORDS[name], message, field);

/** Digest of a value that anybody may have written; null for what has none (nested without end, half a surrogate pair). */
export function digestIfAny(value: unknown): string | null {
  try {
    return digestOf(value);
  } catch {
    return null;
  }
}
