/**
 * Writes a stream aside, to a file that nobody looks for: its digest, which is to be its name, is known only after the last
 * byte. Synced, so that the file can be given its name at once.
 */
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Chunks, Stored } from './blob-port.js';
import { fileError } from './engine-errors.js';

/** What a killed process left half written is removed after this time. */
const ABANDONED_MS = 24 * 3_600_000;
const swept = new Set<string>();

export interface Spooled extends Stored {
  readonly file: string;
}

/**
 * @param directory for the file; made when it is not there
 * @returns the whole file, synced; the caller renames or removes it
 * @throws BatonError `StoreUnavailable` when the disk fails; what the source threw as it is. Nothing is left then.
 */
export async function spool(directory: string, content: Chunks): Promise<Spooled> {
  const file = path.join(directory, `part.${randomBytes(9).toString('hex')}`);
  const onDisk = async <T>(work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      throw fileError(error, file);
    });
  await onDisk(prepare(directory));
  const handle = await onDisk(open(file, 'wx', 0o600));
  try {
    const hash = createHash('sha256');
    let size = 0;
    for await (const chunk of content) {
      hash.update(chunk);
      size += chunk.byteLength;
      await onDisk(handle.writeFile(chunk));
    }
    await onDisk(handle.sync());
    await onDisk(handle.close());
    return { file, digest: hash.digest('hex'), size };
  } catch (error) {
    await handle.close().catch(() => undefined); // the first error is the one to tell
    await rm(file, { force: true }).catch(() => undefined);
    throw error;
  }
}

async function prepare(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  if (swept.has(directory)) return;
  swept.add(directory);
  for (const { file } of await abandoned(directory)) await rm(file, { force: true });
}

/** Files of killed processes. A directory that is not there has none. */
export async function abandoned(
  directory: string,
): Promise<readonly { readonly file: string; readonly size: number }[]> {
  const found: { file: string; size: number }[] = [];
  for (const name of await readdir(directory).catch(() => [])) {
    const file = path.join(directory, name);
    // One that is gone by now has been given its name.
    const { mtimeMs, size } = await stat(file).catch(() => ({ mtimeMs: Infinity, size: 0 }));
    if (Date.now() - mtimeMs > ABANDONED_MS) found.push({ file, size });
  }
  return found;
}
