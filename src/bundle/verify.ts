/**
 * Checks a bundle with nothing but the bundle: every file by its digest, every record against the others. It tells damage and
 * clumsy changes by itself; that nobody has made the whole anew only the bundle's digest tells, kept elsewhere.
 */
import path from 'node:path';
import { parseStored } from '../definitions/parse.js';
import { planOf } from '../definitions/plan.js';
import { BatonError } from '../domain/errors.js';
import type { RunPlan, RunStatus } from '../domain/types.js';
import { sha256 } from '../store/canonical.js';
import type { Json } from '../store/port.js';
import { checkArtifacts, checkBytes } from './checks/artifacts.js';
import { checkAttempts } from './checks/attempts.js';
import { digestIfAny, type Checked } from './checks/checked.js';
import { checkCommands, checkEffects } from './checks/effects.js';
import { checkRun } from './checks/run.js';
import { checkFiles } from './files.js';
import { RECORDS, TAG_MANIFEST } from './layout.js';
import { parseRecord } from './parse.js';
import { Problems, type Problem } from './problems.js';

export interface VerifyOptions {
  /** What `export` gave as the bundle's digest, with or without `sha256:`. A bundle with another one does not verify. */
  readonly digest?: string | undefined;
}

/** What `baton verify` prints. What the bundle says of itself is null where it cannot be read. */
export interface Verified {
  readonly ok: boolean;
  /** Absolute. */
  readonly path: string;
  /** Digest of the bundle as it is. */
  readonly digest: string | null;
  readonly tenant: string | null;
  readonly run: string | null;
  readonly status: RunStatus | null;
  readonly snapshot: boolean | null;
  readonly exportedAt: string | null;
  /** Payload files that are there and their bytes. */
  readonly files: number;
  readonly bytes: number;
  readonly attempts: number | null;
  readonly artifacts: number | null;
  readonly effects: number | null;
  /** The first 200. */
  readonly problems: readonly Problem[];
  readonly problemCount: number;
}

/**
 * Checks a bundle that `baton export` or {@link RunHandle.export} wrote. Needs no server and no store, and changes nothing.
 *
 * @param folder the bundle
 * @returns what is wrong with it; `ok` when nothing is
 * @throws BatonError `InvalidCommand` when there is no such folder, it is no bundle, or the digest is none
 */
export async function verifyBundle(folder: string, options: VerifyOptions = {}): Promise<Verified> {
  const expected = options.digest === undefined ? null : digestGiven(options.digest);
  const problems = new Problems();
  // It would be the working folder.
  if (folder === '') throw BatonError.of('InvalidCommand', '`bundle` must be a path', { field: 'bundle' });
  const at = path.resolve(folder);
  const { digest, files, bytes, contents, sizes } = await checkFiles(at, problems);
  if (expected !== null && digest !== null && digest !== expected)
    problems.add('changed', TAG_MANIFEST, `the bundle's digest is ${digest}, expected is ${expected}`);
  const records = {
    run: parseRecord('run', contents, problems),
    package: parseRecord('package', contents, problems),
    workflow: parseRecord('workflow', contents, problems),
    binding: parseRecord('binding', contents, problems),
    attempts: parseRecord('attempts', contents, problems),
    artifacts: parseRecord('artifacts', contents, problems),
    effects: parseRecord('effects', contents, problems),
    commands: parseRecord('commands', contents, problems),
  };
  checkForm(records, contents, problems);
  const checked: Checked = { records, plan: planFrom(records, problems), sizes };
  for (const check of [checkRun, checkAttempts, checkArtifacts, checkEffects, checkCommands, checkBytes])
    check(checked, problems);
  const { run, attempts, artifacts, effects } = records;
  return {
    ok: problems.count === 0,
    path: at,
    digest,
    tenant: run?.tenant ?? null,
    run: run?.run ?? null,
    status: run?.status ?? null,
    snapshot: run?.snapshot ?? null,
    exportedAt: run?.exportedAt ?? null,
    files,
    bytes,
    attempts: attempts?.length ?? null,
    artifacts: artifacts?.length ?? null,
    effects: effects?.length ?? null,
    problems: problems.listed,
    problemCount: problems.count,
  };
}

function digestGiven(text: string): string {
  const [, digest] = /^(?:sha256:)?([0-9a-f]{64})$/i.exec(text.trim()) ?? [];
  if (digest !== undefined) return digest.toLowerCase();
  throw BatonError.of('InvalidCommand', '`digest` must be a sha256 in hex', { field: 'digest' });
}

/** A pin's file is in canonical form: that its sha256 is the pin's digest anybody can then see with other tools. */
function checkForm(
  records: Checked['records'],
  contents: ReadonlyMap<string, Buffer>,
  problems: Problems,
): void {
  for (const kind of ['package', 'workflow', 'binding'] as const) {
    const [content, value] = [contents.get(RECORDS[kind]), records[kind]];
    if (content && value !== null && sha256(content) !== digestIfAny(value))
      problems.add('malformed', RECORDS[kind], 'is not in canonical form (RFC 8785)');
  }
}

function planFrom({ run, workflow, binding }: Checked['records'], problems: Problems): RunPlan | null {
  if (!run || !workflow || !binding) return null;
  const refs = { workflow: run.pins.workflow.ref, binding: run.pins.binding.ref };
  try {
    return planOf(
      parseStored('workflow', refs.workflow, workflow as Json),
      parseStored('binding', refs.binding, binding as Json),
      refs,
    );
  } catch (error) {
    // Whatever it is (no such document, too deep a nesting): with these two the run could not have been launched.
    const why = error instanceof Error ? error.message : String(error);
    problems.add('malformed', RECORDS.binding, `workflow and binding cannot be read together: ${why}`);
    return null;
  }
}
