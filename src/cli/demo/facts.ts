/** What the demo saw of the system's own records: rows of the store, the run's state and Temporal's history. Plain data. */
import type { AttemptView } from '../../agent/types.js';
import type { RunShown } from '../../client/show.js';
import type { SlotAnswer } from '../../client/slot-handle.js';
import type { Pins, RunState } from '../../domain/types.js';
import type { ArtifactRow, AttemptRow, EffectRow } from '../../store/port.js';
import type { ChildExit } from '../../server/processes.js';
import type { HistoryEvent } from './history.js';

/** The run at one moment; equal digests mean that nothing at all has changed. */
export interface Snapshot {
  readonly state: RunState;
  /** Of the state, the rows of all attempts and the rows of all artifacts. */
  readonly digest: string;
  readonly attempts: readonly AttemptRow[];
  /** Events in Temporal's history. */
  readonly events: number;
}

export interface Killed {
  readonly pid: number;
  readonly exit: ChildExit;
  /** Attempt and worker that died with it. */
  readonly attempt: string;
  readonly worker: string;
  /** Notes saved when it was dead, by any attempt, by the store's rows. */
  readonly saved: number;
  readonly at: number;
}

/** A lease that expired though its host lives, after which the demo gave the slot to the same class again. */
export interface Accident {
  readonly slot: string;
  readonly attempt: string;
  readonly worker: string;
  readonly workerClass: string;
}

/** What the publisher's own database says: it owns the effect, and alone knows. */
export interface OwnerRecord {
  readonly publications: readonly { readonly id: number; readonly digest: string }[];
  /** In order of arrival. `status` null: its answer never left. */
  readonly requests: readonly {
    readonly path: string;
    readonly key: string;
    readonly status: number | null;
  }[];
  /** The kit's own record of effects. */
  readonly effects: readonly {
    readonly key: string;
    readonly state: string;
    readonly attempt: string;
    readonly receipt: unknown;
  }[];
}

/** The last node: a publication whose answer was lost. */
export interface Published {
  readonly killed: Pick<Killed, 'pid' | 'exit' | 'attempt' | 'worker'>;
  readonly ownerAtKill: OwnerRecord;
  readonly ownerAtEnd: OwnerRecord;
  /** The run's own records of the node's effects. */
  readonly recorded: readonly EffectRow[];
  /** Digest of what the publisher serves under the receipt's number; null when it serves nothing. */
  readonly served: string | null;
}

export interface Facts {
  readonly project: string;
  readonly pins: Pins;
  /** Packages in the saved inventory: so many notes are due. */
  readonly packages: number;
  readonly killed: Killed;
  /** Oldest first; none on a machine that does not stand still for longer than a lease lasts. */
  readonly accidents: readonly Accident[];
  /** After the lease expired, before anybody reassigned. */
  readonly waiting: Snapshot;
  /** Milliseconds from the kill to retry-wait. */
  readonly killToRetryWaitMs: number;
  readonly refused: {
    readonly commandId: string;
    readonly code: string;
    readonly message: string;
    readonly after: Snapshot;
  };
  readonly reassign: { readonly commandId: string; readonly reason: string; readonly answer: SlotAnswer };
  readonly end: {
    readonly shown: RunShown;
    readonly attempts: readonly AttemptView[];
    readonly rows: readonly AttemptRow[];
    readonly artifacts: readonly ArtifactRow[];
    readonly history: readonly HistoryEvent[];
    /** Temporal's own word for the workflow's status. */
    readonly temporalStatus: string;
  };
  readonly published: Published;
  readonly report: {
    readonly path: string;
    /** Of the file as it lies on disk. */
    readonly digest: string;
  };
}

/** How the notes came about, counted in the store's rows. */
export interface NoteCounts {
  readonly total: number;
  /** Saved by earlier attempts and used by the one that finished. */
  readonly reused: number;
  /** Saved by the one that finished: what the others had left undone. */
  readonly rest: number;
  /** Saved by more than one attempt: work done twice. */
  readonly repeated: number;
}

export const NOTES = 'notes';
export const PUBLISH = 'publish';

/** Attempts of a slot in order of their epochs. */
export const attemptsOf = ({ end }: Pick<Facts, 'end'>, slot: string): readonly AttemptRow[] =>
  end.rows.filter((row) => row.slot === slot);

/** Distinct notes that were saved by the attempts that are asked for. */
export function notesBy({ end }: Pick<Facts, 'end'>, wanted: (attempt: string) => boolean): Set<string> {
  const saved = end.artifacts.filter((row) => row.slot === NOTES && wanted(row.attempt));
  return new Set(saved.map((row) => row.step).filter((step) => step !== null));
}

export function countNotes(facts: Pick<Facts, 'end'>): NoteCounts {
  const attempts = attemptsOf(facts, NOTES).map((row) => row.attempt);
  const finisher = attempts.at(-1);
  const reused = notesBy(facts, (attempt) => attempt !== finisher);
  const own = notesBy(facts, (attempt) => attempt === finisher);
  const rest = [...own].filter((step) => !reused.has(step)).length;
  const total = reused.size + rest;
  const saved = attempts.map((attempt) => notesBy(facts, (one) => one === attempt).size);
  const repeated = saved.reduce((sum, size) => sum + size, 0) - total;
  return { total, reused: reused.size, rest, repeated };
}
