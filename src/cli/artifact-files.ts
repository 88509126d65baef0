/** Writes artifacts to a folder: DIR/ATTEMPT/KIND/NAME, every version of a name. */
import { createHash, randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { ArtifactView } from '../agent/types.js';
import type { RunHandle } from '../client/run-handle.js';
import { BatonError, whyOf } from '../domain/errors.js';

/** Longest file name, in bytes, that is given as it is: file systems allow 255, and versions and parts need some. */
const MAX_NAME = 200;

/**
 * The newest version of a name has the plain name, earlier ones are `NAME@1`, `NAME@2`… in order of saving. (No artifact can
 * have such a name itself: `@` is escaped in names.)
 *
 * @param artifacts in order of saving
 * @throws BatonError `InvalidCommand` where there can be no such folder, `ArtifactMissing`, `ArtifactMismatch`: the artifact that is damaged leaves no file, those before it do
 */
export async function writeArtifacts(
  run: RunHandle,
  artifacts: readonly ArtifactView[],
  out: string,
): Promise<void> {
  await makeFolder(out);
  const versions = new Map<string, number>();
  const keyOf = ({ attempt, kind, name }: ArtifactView): string =>
    path.join(out, attempt, kind, fileName(name));
  for (const artifact of artifacts) versions.set(keyOf(artifact), (versions.get(keyOf(artifact)) ?? 0) + 1);
  const written = new Map<string, number>();
  for (const artifact of artifacts) {
    const file = keyOf(artifact);
    const version = (written.get(file) ?? 0) + 1;
    written.set(file, version);
    await makeFolder(path.dirname(file));
    await writeWhole(run, artifact, version === versions.get(file) ? file : `${file}@${version}`);
  }
}

/** Also where nothing was saved: a wrong place is told at once. */
async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
  } catch (error) {
    const why = whyOf(error);
    const facts = { field: 'out', folder };
    throw BatonError.of('InvalidCommand', `\`out\` cannot be made a folder (${why})`, facts, {
      cause: error,
    });
  }
}

/** Under another name until the digest is checked: a file that has its name is whole. */
async function writeWhole(run: RunHandle, artifact: ArtifactView, file: string): Promise<void> {
  const aside = path.join(path.dirname(file), `@${randomBytes(6).toString('hex')}.part`);
  try {
    await pipeline(await run.readStream(artifact), createWriteStream(aside, { flags: 'wx' }));
    await rename(aside, file);
  } catch (error) {
    await rm(aside, { force: true });
    throw error;
  }
}

/** Names come from agents: none may lead out of its folder, or be longer than file systems allow. */
export function fileName(name: string): string {
  const safe = encodeURIComponent(name).replace(/^\.+$/, (dots) => dots.replaceAll('.', '%2E'));
  if (safe.length <= MAX_NAME) return safe;
  return `${safe.slice(0, MAX_NAME - 40)}@${createHash('sha256').update(name).digest('hex').slice(0, 32)}`;
}
