/** Large bytes as files named by their digest: `<store>.blobs/ab/<digest>`. Written aside, synced, then renamed. */
import { constants } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { BlobStore } from './blob-port.js';
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

  return {
    location: root,
    async put(content) {
      const { file, digest, size } = await spool(path.join(root, 'tmp'), content);
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
    async has(digest) {
      if (!isDigest(digest)) return null;
      try {
        return (await stat(fileOf(digest))).size;
      } catch (error) {
        return judged(error, digest);
      }
    },
    close: () => Promise.resolve(),
  };
}
