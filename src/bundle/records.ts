/** The records of a run as `export` writes them and the report shows them: the shapes of `--json`, and more. Types only. */
import type { ArtifactView, AttemptView, EffectView } from '../agent/types.js';
import type { SlotShown } from '../client/show.js';
import type { Failure, Pins, RunStatus } from '../domain/types.js';
import type { Json, RevisionKind } from '../store/port.js';

/** Times are ISO 8601 UTC, digests sha256 in lower-case hex. */
export interface RunRecord {
  readonly format: string;
  readonly exportedAt: string;
  /** The run was still open: this is how it stood at `exportedAt`. */
  readonly snapshot: boolean;
  /** Who told the slots: the run's workflow, or the store alone, which knows no gates and no deadlines. */
  readonly source: 'workflow' | 'store';
  /** Whether a Temporal server was asked. If not, a lease may stand as live here although its time was over. */
  readonly server: boolean;
  readonly tenant: string;
  readonly run: string;
  readonly workflowId: string;
  readonly status: RunStatus;
  readonly createdAt: string;
  readonly endedAt: string | null;
  readonly deadline: string | null;
  readonly failure: Failure | null;
  readonly pins: Pins;
  /** Digest of pins and input, as recorded at launch. */
  readonly launchDigest: string;
  readonly input: Json;
  readonly revisions: Readonly<Record<RevisionKind, RevisionRecord>>;
  /** In plan order, as `baton show` gives them. */
  readonly slots: readonly SlotShown[];
}

export interface RevisionRecord {
  readonly publishedAt: string;
  readonly publishedBy: string;
  readonly accepted: { readonly actor: string; readonly at: string } | null;
}

export interface AttemptRecord extends AttemptView {
  readonly node: string;
  readonly claimId: string;
  /** Of a direct claim. */
  readonly commandId: string | null;
  readonly ttlMs: number;
  readonly maxDurationMs: number | null;
  readonly claimedAt: string;
  /** Attempt whose end led to the reassign that led to this one. */
  readonly predecessor: string | null;
  /** What its holder said of its end, and the digest of the result that it gave. */
  readonly staged: {
    readonly kind: 'completion' | 'failure' | 'release';
    readonly result: string | null;
  } | null;
}

export interface ArtifactRecord extends ArtifactView {
  readonly slot: string;
  /** Of the attempt. */
  readonly number: number;
}

/** A command that was accepted, as far as the store was told. What it was answered is not kept here: that may be a lease token. */
export interface CommandRecord {
  readonly commandId: string;
  readonly name: string;
  /** Tells it from another command of the same id. Of those that pass the run's workflow it is a short one, no sha256. */
  readonly digest: string;
  readonly at: string;
}

export interface RunRecords {
  readonly run: RunRecord;
  /** Contents of the pinned revisions. */
  readonly pinned: Readonly<Record<RevisionKind, Json>>;
  /** sha256 of the bytes of everything that is attached to the run's nodes. */
  readonly attached: readonly string[];
  /** In order of epoch. */
  readonly attempts: readonly AttemptRecord[];
  /** In order of saving. */
  readonly artifacts: readonly ArtifactRecord[];
  /** In order of their first intent. */
  readonly effects: readonly EffectView[];
  readonly commands: readonly CommandRecord[];
}
