/** Large bytes as files named by their digest: `<store>.blobs/ab/<digest>`. Written aside, synced, then renamed. */
import { constants } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { BlobPlace, BlobStore } from './blob-port.js';
import { fileError } from './engine-errors.js';
import { spool } from './spool.js';

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';
/** A digest from elsewhere must not lead out of the directory. */
const isDigest = (digest: string): boolean => /^[0-9a-f]{64}$/.test(digest);

/** @param root directory of the files; made when the first one is written */
export function blobFiles(root: string): BlobStore {
  const directoryOf = (digest: string): string => path.join(root, digest.slice(0, 2));
  const fileOf = (digest: string): string => path.join(directoryOf(digest), digest);
  const judged = (error: unknown, digest: string): null => {
    if (isMissing(error)) return null;
    throw fileError(error, fileOf(digest));
  };

  const has = async (digest: string): Promise<number | null> => {
    if (!isDigest(digest)) return null;
    try {
      return (await stat(fileOf(digest))).size;
    } catch (error) {
      return judged(error, digest);
    }
  };
  const uploads = path.join(root, 'tmp');

  const namesIn = (directory: string): Promise<readonly string[]> =>
    readdir(directory).catch((error: unknown) => {
      if (isMissing(error)) return [];
      throw fileError(error, directory);
    });

  const place: BlobPlace = {
    location: root,
    uploads,
    has,
    async *list() {
      for (const shelf of await namesIn(root)) {
        if (!/^[0-9a-f]{2}$/.test(shelf)) continue;
        for (const digest of await namesIn(path.join(root, shelf))) {
          if (!isDigest(digest) || !digest.startsWith(shelf)) continue;
          // Gone since: somebody else collects too.
          const found = await stat(fileOf(digest)).catch((error: unknown) => judged(error, digest));
          if (found) yield { digest, size: found.size, at: found.mtimeMs };
        }
      }
    },
    async remove(digest) {
      await rm(fileOf(digest), { force: true }).catch((error: unknown) => judged(error, digest));
    },
  };

  return {
    location: root,
    places: [place],
    async put(content, announce) {
      const { file, digest, size } = await spool(uploads, content);
      await announce?.({ digest, size }).catch(async (error: unknown) => {
        await rm(file, { force: true }).catch(() => undefined); // the first error is the one to tell
        throw error;
      });
      try {
        await mkdir(directoryOf(digest), { recursive: true });
        await rename(file, fileOf(digest));
        const directory = await open(directoryOf(digest), constants.O_RDONLY);
        await directory.sync().finally(() => directory.close());
      } catch (error) {
        await rm(file, { force: true }).catch(() => undefined); // the first error is the one to tell
        throw fileError(error, fileOf(digest));
      }
      return { digest, size };
    },
    async get(digest) {
      if (!isDigest(digest)) return null;
      try {
        // Opened here, so that a missing file is told before the first byte is asked for.
        return (await open(fileOf(digest))).createReadStream();
      } catch (error) {
        return judged(error, digest);
      }
    },
    has,
    close: () => Promise.resolve(),
  };
}
