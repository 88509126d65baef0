/**
 * The object-store port: large bytes under their sha256. What is behind it (files, S3) only has to keep whole objects; that
 * they are the right bytes is checked by whoever reads, since no medium can be trusted with that.
 */
import type { Readable } from 'node:stream';
import type { Db } from './schema.js';

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
   * @param announce is waited for when the digest is known and nothing is in its place yet; where it fails, nothing comes there
   * @throws BatonError `StoreUnavailable`; an error of the source, or of `announce`, as it is
   */
  put(content: Chunks, announce?: (stored: Stored) => Promise<void>): Promise<Stored>;
  /** Null when there are no such bytes. Not checked against the digest. @throws BatonError `StoreUnavailable` */
  get(digest: string): Promise<Readable | null>;
  /** Size in bytes of what is there now, or null. @throws BatonError `StoreUnavailable` */
  has(digest: string): Promise<number | null>;
  /** For diagnostics; no secret. */
  readonly location: string;
  /** Where bytes may be; more than one when it was set anew. */
  readonly places: readonly BlobPlace[];
  /** Ends connections, if there are any. */
  close(): Promise<void>;
}

export interface Listed extends Stored {
  /** When it was written there, in epoch milliseconds by the place's clock; 0: not known, and long ago. */
  readonly at: number;
}

/** What the collection needs of one place. All of it may throw `StoreUnavailable`. */
export interface BlobPlace {
  readonly location: string;
  /** All objects of ours, in no order; what else is there is left out. */
  list(): AsyncIterable<Listed>;
  has(digest: string): Promise<number | null>;
  /**
   * Nothing there is fine. Over within seconds, one way or the other: whoever puts the same bytes waits.
   * @param trx in which a place within the database removes it
   */
  remove(digest: string, trx: Db): Promise<void>;
  /** Directory of this machine in which uploads are written first. */
  readonly uploads: string;
  /** For a place that several stores can be set to by mistake: each writes its name there before its first object. */
  readonly users?: {
    register(store: string): Promise<void>;
    stores(): Promise<readonly string[]>;
  };
}
