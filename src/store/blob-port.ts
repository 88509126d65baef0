/**
 * The object-store port: large bytes under their sha256. What is behind it (files, S3) only has to keep whole objects; that
 * they are the right bytes is checked by whoever reads, since no medium can be trusted with that.
 */
import type { Readable } from 'node:stream';

/** Bytes piece by piece; a `Buffer` in an array is one piece. */
export type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

export interface Stored {
  /** sha256, lower-case hex. */
  readonly digest: string;
  /** In bytes. */
  readonly size: number;
}

export interface BlobStore {
  /**
   * Stores what comes, whole or not at all: a kill or an error in the middle leaves nothing under any digest. Bytes that are
   * there already are replaced by the same bytes, which repairs damaged ones. Holds a few pieces in memory, never all.
   * @throws BatonError `StoreUnavailable`; an error of the source as it is
   */
  put(content: Chunks): Promise<Stored>;
  /** Null when there are no such bytes. Not checked against the digest. @throws BatonError `StoreUnavailable` */
  get(digest: string): Promise<Readable | null>;
  /** Size in bytes of what is there now, or null. @throws BatonError `StoreUnavailable` */
  has(digest: string): Promise<number | null>;
  /** For diagnostics; no secret. */
  readonly location: string;
  /** Ends connections, if there are any. */
  close(): Promise<void>;
}
