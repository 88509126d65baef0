/** One bundle of a real run for all cases of a file, and how a case is judged. */
import path from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import type { Problem } from '../../src/bundle/problems.js';
import type { AttemptRecord } from '../../src/bundle/records.js';
import { verifyBundle, type Verified } from '../../src/bundle/verify.js';
import { startBaton } from '../support/baton.js';
import { Copy, finish, firstAttempt, launchReport, scratch } from './lab.js';

/** Set before the first case. */
export const made = { dir: '', bundle: '', digest: '', prompt: '', bytes: new Map<string, string>() };

export function tamperedBundle(): void {
  let remove: () => Promise<void>;
  beforeAll(async () => {
    const { dir, remove: away } = await scratch();
    remove = away;
    const baton = await startBaton();
    const run = await launchReport(baton);
    await finish(baton, run, await firstAttempt(baton, run));
    const { path: bundle, digest } = await run.export(path.join(dir, 'bundle'));
    const at = (of: string): string => `data/bytes/${of.slice(0, 2)}/${of}`;
    for (const artifact of await run.artifacts()) made.bytes.set(artifact.name, at(artifact.digest));
    const attached = (await run.recovery('research')).attachments[0];
    Object.assign(made, { dir, bundle, digest, prompt: at(attached?.digest ?? '') });
    await baton.stop();
  });
  afterAll(() => remove());
}

export type Change = (copy: Copy) => Promise<void>;
export type Expected = readonly [
  kind: Problem['kind'],
  file: string | (() => string),
  message: RegExp,
  field?: string,
];

export async function expectProblem(
  change: Change,
  [kind, file, message, field]: Expected,
): Promise<Verified> {
  const copy = await Copy.of(made.bundle, made.dir);
  await change(copy);
  const verdict = await verifyBundle(copy.folder);
  expect(verdict.ok).toBe(false);
  const where = { kind, file: typeof file === 'string' ? file : file() };
  expect(verdict.problems).toContainEqual({
    ...where,
    field: field ?? null,
    message: expect.stringMatching(message),
  });
  return verdict;
}

/** Path of the bytes of an artifact. */
export const of = (name: string) => (): string => made.bytes.get(name) ?? '';
export const notes = of('notes.md');
export const attempts =
  (change: (rows: AttemptRecord[]) => void): Change =>
  (copy) =>
    copy.record('attempts', change);
/** A record that may be changed. */
export type Loose<T> = { -readonly [K in keyof T]: T[K] extends object | null ? Loose<T[K]> : T[K] };
export const first = <T>(rows: readonly T[], at = 0): Loose<T> => rows[at] as Loose<T>;
