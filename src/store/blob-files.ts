/** Large bytes as files named by their digest: `<store>.blobs/ab/<digest>`. Written aside, synced, then renamed. */
import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { sha256 } from './canonical.js';
import { fileError } from './engine-errors.js';

export interface BlobFiles {
  /** Makes the file, whole or not at all; a damaged one is replaced. Throws `StoreUnavailable`. */
  write(digest: string, bytes: Uint8Array): Promise<void>;
  /** Null when there is no such file. Not checked against the digest. Throws `StoreUnavailable`. */
  read(digest: string): Promise<Uint8Array | null>;
  /** Size in bytes, or null when there is no such file. Throws `StoreUnavailable`. */
  size(digest: string): Promise<number | null>;
}

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';
/** What a killed process left half written is removed after this time. */
const ABANDONED_MS = 24 * 3_600_000;

/** @param root directory of the files; made when the first one is written */
export function blobFiles(root: string): BlobFiles {
  const directoryOf = (digest: string): string => path.join(root, digest.slice(0, 2));
  const fileOf = (digest: string): string => path.join(directoryOf(digest), digest);
  const aside = path.join(root, 'tmp');
  let swept = false;

  const read = async (digest: string): Promise<Uint8Array | null> => {
    try {
      return await readFile(fileOf(digest));
    } catch (error) {
      if (isMissing(error)) return null;
      throw fileError(error, fileOf(digest));
    }
  };

  const place = async (digest: string, bytes: Uint8Array): Promise<void> => {
    await mkdir(aside, { recursive: true });
    await mkdir(directoryOf(digest), { recursive: true });
    if (!swept) {
      swept = true;
      await sweep(aside);
    }
    const temporary = path.join(aside, `${digest}.${randomBytes(6).toString('hex')}`);
    try {
      await withFile(temporary, 'wx', async (file) => {
        await file.writeFile(bytes);
        await file.sync();
      });
      await rename(temporary, fileOf(digest));
      await withFile(directoryOf(digest), 'r', (directory) => directory.sync());
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => undefined); // the first error is the one to tell
      throw error;
    }
  };

  return {
    read,
    async write(digest, bytes) {
      const there = await read(digest);
      if (there !== null && sha256(there) === digest) return;
      try {
        await place(digest, bytes);
      } catch (error) {
        throw fileError(error, fileOf(digest));
      }
    },
    async size(digest) {
      try {
        return (await stat(fileOf(digest))).size;
      } catch (error) {
        if (isMissing(error)) return null;
        throw fileError(error, fileOf(digest));
      }
    },
  };
}

async function withFile(
  file: string,
  flags: string,
  use: (handle: FileHandle) => Promise<void>,
): Promise<void> {
  const handle = await open(file, flags);
  try {
    await use(handle);
  } finally {
    await handle.close();
  }
}

async function sweep(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const file = path.join(directory, name);
    const made = await stat(file).then(
      (found) => found.mtimeMs,
      () => Infinity,
    );
    if (Date.now() - made > ABANDONED_MS) await rm(file, { force: true });
  }
}
