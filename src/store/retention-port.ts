/**
 * The retention port: what takes closed runs and unused bytes out of the store. It decides nothing about Temporal: that a run is
 * closed there too is for the caller to know. Times are epoch milliseconds given by the caller.
 */
import type { RunStatus } from '../domain/types.js';

/**
 * Bytes that were put within this time are never collected: between a put and the row that refers to it lies a save, a publication
 * or an upload, and clocks differ.
 */
export const MIN_GRACE_MS = 3_600_000;

/** Rows of one run, or of several, by what they are. An attempt's lease goes with it and is counted beside it. */
export const COLLECTED_ROWS = [
  'attempts',
  'leases',
  'effects',
  'artifacts',
  'commands',
  'audit',
  'voidClaims',
] as const;
export type CollectedRows = Readonly<Record<(typeof COLLECTED_ROWS)[number], number>>;

/** A run that may be old enough, as the store has it. */
export interface OldRun {
  readonly run: string;
  readonly status: RunStatus;
  readonly createdAt: number;
  readonly endedAt: number | null;
  /** Its collection has begun and was interrupted: nothing is left to be decided. */
  readonly collecting: boolean;
  /** Effects whose outcome is not known. */
  readonly openEffects: number;
  /** Leases that are provisional or live. */
  readonly heldLeases: number;
}

/** Why the store keeps a run: it is open, too young, held by somebody, has open effects, or there is none. */
export type KeptByStore = 'open' | 'young' | 'held' | 'effects' | 'unknown';

export interface CollectedBytes {
  /** Where they were: the database, a directory, a bucket. No secret. */
  readonly place: string;
  readonly objects: number;
  readonly bytes: number;
}

export interface Swept {
  readonly bytes: readonly CollectedBytes[];
  /** Places that were left alone, and why. */
  readonly skipped: readonly { readonly place: string; readonly why: string }[];
}

export interface RetentionStore {
  /**
   * Runs of the tenant that ended before a time, those that are open and began before it, and those whose collection was
   * interrupted; in order of their ids.
   *
   * @param query.after only ids behind this one: the next page
   */
  runs(query: {
    tenant: string;
    before: number;
    after: string | null;
    limit: number;
  }): Promise<readonly OldRun[]>;
  /** Rows that would go with the run. */
  count(tenant: string, run: string): Promise<CollectedRows>;
  /**
   * Removes a closed run: marks it, which makes it unknown to every reader and keeps new attempts out, then removes its rows in
   * batches, and empties its own row, which keeps the id. Interrupted anywhere, the same again goes on.
   *
   * @param input.before it must have ended before this time
   * @param input.batch most rows of one transaction; an attempt with its lease is one. Default 500
   * @returns what was removed by this call; `kept` says why nothing was
   */
  collect(input: {
    tenant: string;
    run: string;
    before: number;
    by: string;
    at: number;
    batch?: number;
  }): Promise<{ readonly kept: KeptByStore | null; readonly rows: CollectedRows }>;
  /** True for a run that was collected, or is being. */
  isCollected(tenant: string, run: string): Promise<boolean>;
  /**
   * Removes bytes that no row refers to, of any tenant, and that were last put before a time; one transaction for each.
   *
   * @param input.at now: the time that bytes of earlier versions, which have none, are given
   * @param input.without runs (`tenant/run`) to be left out of account, as if they were collected: for a dry run
   * @param input.dryRun changes nothing, and tells what would go
   */
  sweep(input: {
    before: number;
    at: number;
    dryRun: boolean;
    without?: ReadonlySet<string>;
  }): Promise<Swept>;
}
