/** Bytes of a digest, checked on their way to the reader. */
import { createHash } from 'node:crypto';
import { pipeline, Transform, type Readable } from 'node:stream';
import { BatonError } from '../domain/errors.js';
import { unavailable } from './engine-errors.js';

/**
 * @param digest what the bytes must have
 * @returns the same bytes; where they would end it fails with `ArtifactMismatch` instead when they are not the right ones, so
 *   that nobody takes a damaged or shortened artifact for whole. `StoreUnavailable` when the medium fails on the way.
 */
export function verified(digest: string, bytes: Readable): Readable {
  const hash = createHash('sha256');
  let size = 0;
  const check = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      size += chunk.byteLength;
      done(null, chunk);
    },
    flush(done) {
      const actual = hash.digest('hex');
      done(actual === digest ? null : damaged(digest, actual, size));
    },
  });
  bytes.once('error', (error: Error) =>
    check.destroy(
      error instanceof BatonError
        ? error
        : unavailable(`the bytes cannot be read: ${error.message}`, error, { digest }),
    ),
  );
  // Destroys the one when the other is; errors are told by the stream that is given out.
  return pipeline(bytes, check, () => undefined);
}

export const damaged = (digest: string, actual: string, size: number): BatonError =>
  BatonError.of('ArtifactMismatch', 'the stored bytes are damaged', { digest, actual, size });

/** All of a stream, in memory. */
export async function collect(bytes: Readable): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of bytes) pieces.push(piece as Uint8Array);
  return Buffer.concat(pieces);
}
