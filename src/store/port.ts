/**
 * The store port. The workflow decides; the store records and fences: every write of a worker is one statement that
 * touches a row only where attempt and epoch match and the lease is live, and no row touched is `StaleLease`.
 * Any call may throw `StoreUnavailable`. Rows are plain JSON; times are epoch milliseconds given by the caller.
 */
import type { EffectState, OpenEffects } from '../domain/effect.js';
import type { Readable } from 'node:stream';
import type { Chunks } from './blob-port.js';
import type { RetentionStore } from './retention-port.js';
import type {
  AttemptRef,
  EndKind,
  Failure,
  LeaseStatus,
  Pins,
  ReassignRecord,
  RunStatus,
  WorkerStatus,
} from '../domain/types.js';

export type RevisionKind = 'package' | 'workflow' | 'binding';
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export interface RevisionRow {
  readonly tenant: string;
  readonly kind: RevisionKind;
  readonly name: string;
  readonly revision: number;
  /** sha256 of `content`'s canonical JSON (RFC 8785), lower-case hex. */
  readonly digest: string;
  readonly content: Json;
  readonly publishedAt: number;
  readonly publishedBy: string;
  readonly accepted: { readonly actor: string; readonly at: number } | null;
}

export interface RevisionStore {
  /**
   * Gives the document the next number of its kind and name. Equal content returns the revision that has it (accepting
   * it if `accept` and nobody has yet). `revision` states a number: other content there is `RevisionConflict`; a number
   * beyond the next one is `RevisionConflict` too.
   */
  publish(input: {
    tenant: string;
    kind: RevisionKind;
    name: string;
    revision: number | null;
    content: Json;
    accept: boolean;
    actor: string;
    at: number;
  }): Promise<RevisionRow>;
  /** Records who accepted it and when; the first acceptance stands. `UnknownRevision` when there is none. */
  accept(input: {
    tenant: string;
    kind: RevisionKind;
    name: string;
    revision: number;
    actor: string;
    at: number;
  }): Promise<RevisionRow>;
  /** `revision` null: the newest accepted one, else the newest draft. Null when the name is unknown. */
  get(tenant: string, kind: RevisionKind, name: string, revision: number | null): Promise<RevisionRow | null>;
  /** Content of a pinned revision, its digest checked: `PinsDamaged` when it is gone or differs. Never another revision. */
  pinned(tenant: string, kind: RevisionKind, pin: { ref: string; digest: string }): Promise<Json>;
}

export interface RunRow {
  readonly tenant: string;
  readonly run: string;
  /** Digest of what was launched (pins and input): tells a repeated launch from a conflict. */
  readonly digest: string;
  readonly pins: Pins;
  readonly input: Json;
  /** A projection: the run's workflow decides. */
  readonly status: RunStatus;
  readonly createdAt: number;
  readonly endedAt: number | null;
}

export interface RunStore {
  /**
   * Inserts, or returns the row that exists with the same digest; with another digest `RunConflict`, and also for an id whose run was
   * collected.
   */
  create(row: Omit<RunRow, 'status' | 'endedAt'>): Promise<RunRow>;
  get(tenant: string, run: string): Promise<RunRow | null>;
  /** Newest first. */
  list(tenant: string): Promise<readonly RunRow[]>;
  /** Records the end; the first terminal status stands. */
  close(input: { tenant: string; run: string; status: RunStatus; at: number }): Promise<void>;
}

/** Names one lease holder's authority in every fenced write. */
export interface Fence {
  readonly tenant: string;
  readonly run: string;
  readonly slot: string;
  readonly attempt: string;
  readonly epoch: number;
}

export interface ClaimInput {
  readonly tenant: string;
  readonly run: string;
  readonly slot: string;
  readonly node: string;
  /** (Temporal run id, offer's activity id): fresh for each offer. */
  readonly claimId: string;
  /** Temporal's try of the claim activity, from 1. A later try overwrites a provisional row; an earlier one is `StaleLease`. */
  readonly try: number;
  readonly worker: string;
  readonly workerClass: string;
  readonly ownerActor: string | null;
  readonly spec: string;
  /** Newest epoch and attempt number that the workflow knows of. */
  readonly lastEpoch: number;
  readonly lastNumber: number;
  readonly hostQueue: string;
  readonly ttlMs: number;
  readonly maxDurationMs: number | null;
  /** The reassign that led to this claim. */
  readonly reassign: ReassignRecord | null;
  /** Command id of a direct claim: part of the lease token. Null for hosts. */
  readonly commandId: string | null;
  readonly at: number;
}

/** Where the live lease's activity is, so that its token can be beaten and completed. */
export interface Attachment {
  readonly workflowRunId: string;
  readonly activityId: string;
  readonly taskToken: Uint8Array;
}

/** What the holder says of its end before the activity is completed or failed with its id; not terminal. */
export interface Staged {
  readonly id: string;
  readonly kind: 'completion' | 'failure' | 'release';
  /** Digest of the result artifact's bytes (completion). */
  readonly result: string | null;
  readonly failure: Failure | null;
}

export interface AttemptRow {
  readonly tenant: string;
  readonly run: string;
  readonly slot: string;
  readonly node: string;
  readonly attempt: string;
  readonly number: number;
  readonly epoch: number;
  readonly claimId: string;
  readonly worker: string;
  readonly workerClass: string;
  readonly workerStatus: WorkerStatus;
  readonly ownerActor: string | null;
  readonly lease: string;
  readonly leaseStatus: LeaseStatus;
  readonly spec: string;
  readonly hostQueue: string;
  readonly ttlMs: number;
  readonly maxDurationMs: number | null;
  readonly reassign: ReassignRecord | null;
  readonly commandId: string | null;
  readonly claimedAt: number;
  /** Server time of the first attachment. */
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly failure: Failure | null;
  /** Last beat + TTL as far as the store was told (outside holders' beats, and at the end); null: ask Temporal. */
  readonly deadline: number | null;
  readonly attachment: Attachment | null;
  readonly staged: Staged | null;
}

export interface SettleInput {
  readonly fence: Fence;
  readonly end: EndKind;
  /** Staged id that the activity's end carried. */
  readonly staged: string | null;
  readonly failure: Failure | null;
  readonly endedAt: number;
  readonly deadline: number | null;
}

/** How the attempt stands in the store after settling: the truth from then on. */
export interface Settled {
  readonly end: EndKind;
  readonly workerStatus: WorkerStatus;
  readonly leaseStatus: LeaseStatus;
  readonly failure: Failure | null;
  readonly result: string | null;
  /** Effects of the slot whose outcome is not known. */
  readonly effects: OpenEffects;
}

export interface AttemptStore {
  /**
   * One transaction: writes attempt and lease rows, provisional. Epoch = max(lastEpoch, the store's newest of the slot) + 1,
   * number likewise over attempts that are not void. Idempotent by claim id (same try, or the same host queue and worker: same answer). Voids other
   * provisional rows of the slot. Refuses a voided claim id or an earlier try with `StaleLease`, a live lease of the slot
   * with `AlreadyLeased`.
   */
  claim(input: ClaimInput): Promise<AttemptRef>;
  /**
   * Makes a provisional row live (worker `running`), or moves a live one to a new activity after continue-as-new
   * (`startedAt` stays the first). `StaleLease` when it is void or terminal, or the fence differs.
   */
  attach(input: { fence: Fence; attachment: Attachment; at: number }): Promise<AttemptRow>;
  /**
   * Fenced. Same content again: the staged id that exists. Other content: `CompletionConflict`. A completion while an effect
   * of the slot is open is `EffectUnresolved`, and the lease stays live.
   */
  stage(input: {
    fence: Fence;
    kind: Staged['kind'];
    result: string | null;
    failure: Failure | null;
  }): Promise<Staged>;
  /** Fenced by live lease: what an outside holder's beat moved the deadline to. */
  beat(input: { fence: Fence; deadline: number }): Promise<void>;
  /**
   * Writes the terminal statuses once; repeated, answers what is recorded. A `success` needs a staged completion with that
   * id and its result's bytes, a `failure` or `released` that comes from the holder needs a staged row with that id: else
   * the end becomes `outside` with `CompletedOutside`. (`released` with staged null is a command's and is taken as it is.)
   */
  settle(input: SettleInput): Promise<Settled>;
  /** Tombstone for an offer that ended otherwise, whether or not a row exists; a provisional row becomes void. Idempotent. */
  voidClaim(input: { tenant: string; run: string; slot: string; claimId: string }): Promise<void>;
  get(tenant: string, run: string, attempt: string): Promise<AttemptRow | null>;
  /** In order of epoch; void rows are left out. */
  list(tenant: string, run: string, slot?: string): Promise<readonly AttemptRow[]>;
  /** The slot's attempt with the highest epoch, void rows left out; null before the first claim. */
  newest(tenant: string, run: string, slot: string): Promise<AttemptRow | null>;
}

export const ARTIFACT_KINDS = ['result', 'decision', 'source', 'checkpoint'] as const;
export type ArtifactKind = (typeof ARTIFACT_KINDS)[number];

/** Names one saved artifact of a run: who saved it and its bytes. */
export interface ArtifactRef {
  readonly attempt: string;
  readonly digest: string;
}

export interface ArtifactRow {
  readonly tenant: string;
  readonly run: string;
  readonly slot: string;
  readonly attempt: string;
  readonly number: number;
  readonly epoch: number;
  readonly kind: ArtifactKind;
  readonly name: string;
  readonly digest: string;
  readonly size: number;
  readonly mediaType: string;
  /** Name of the step whose saved result this is, or null. */
  readonly step: string | null;
  /** Revision that the step's caller stated; null for none, and for what is no step's result. */
  readonly stepRevision: string | null;
  /** In the order given. */
  readonly tags: readonly string[];
  /** `name@revision` of the agent that the slot's node was bound to; null in rows of an early version. */
  readonly agentRevision: string | null;
  /** What it was made from, in the order given. */
  readonly derivedFrom: readonly ArtifactRef[];
  /** By the clock of the process that saved it, ms. */
  readonly savedAt: number;
}

export interface ArtifactStore {
  /**
   * Stores bytes by sha256. Whole or not at all: a kill in the middle leaves nothing addressable. Bytes that no row refers to are
   * collected some time after they were last put; a save that comes later than that is `ArtifactMissing`.
   */
  putBytes(bytes: Uint8Array): Promise<{ digest: string; size: number }>;
  /** Like {@link putBytes} for bytes that come piece by piece; holds a few pieces in memory, never all (a store in memory does). */
  putStream(content: Chunks): Promise<{ digest: string; size: number }>;
  /** Bytes, digest checked: `ArtifactMissing` when gone, `ArtifactMismatch` when they differ. */
  readBytes(digest: string): Promise<Uint8Array>;
  /**
   * Like {@link readBytes}, piece by piece. The digest is known at the end only: a stream of damaged bytes fails there with
   * `ArtifactMismatch`, instead of ending.
   */
  readStream(digest: string): Promise<Readable>;
  /**
   * Fenced metadata row pointing to bytes already put (`ArtifactMissing` without, `ArtifactMismatch` on another size). The
   * same kind and name again in one attempt replaces nothing: it adds a row, and the newest is what readers take.
   */
  save(input: {
    fence: Fence;
    kind: ArtifactKind;
    name: string;
    digest: string;
    size: number;
    mediaType: string;
    step: string | null;
    stepRevision?: string | null;
    tags?: readonly string[];
    agentRevision?: string | null;
    /** Not looked up: that they are of this run is for the caller to know. */
    derivedFrom?: readonly ArtifactRef[];
    at: number;
  }): Promise<ArtifactRow>;
  /** In order of saving; of all attempts, lost ones too. */
  list(tenant: string, run: string, slot?: string): Promise<readonly ArtifactRow[]>;
}

/** An effect as the slot's attempts have left it: one row for its whole life, whoever works on it. */
export interface EffectRow {
  readonly tenant: string;
  readonly run: string;
  readonly slot: string;
  readonly name: string;
  readonly instance: string | null;
  /** Idempotency key, the same in every attempt. */
  readonly key: string;
  /** sha256 of the request's canonical JSON. */
  readonly requestDigest: string;
  readonly state: EffectState;
  /** As its owner gave it, or an operator; null unless `committed` (and where the receipt is null). */
  readonly receipt: Json;
  /** What it is polled by, once the owner has accepted it. */
  readonly handle: Json;
  /** The owner's no (`rejected`), or why the outcome is not known (`unresolved`). */
  readonly failure: Failure | null;
  /** Attempt that recorded the newest intent, and its epoch. */
  readonly attempt: string;
  readonly epoch: number;
  /** The operator who settled it last. */
  /** The operator's word, as it was; what its owner or a later sending made of it is the rest of the row. */
  readonly resolvedBy: {
    readonly outcome: 'committed' | 'absent';
    readonly actor: string;
    readonly reason: string;
    readonly at: number;
  } | null;
  readonly intentAt: number;
  readonly updatedAt: number;
}

/** What a worker records of an effect. `intent`: it is about to send, again or for the first time. */
export type EffectRecord =
  | { readonly state: 'intent' }
  | { readonly state: 'accepted'; readonly handle: Json }
  | { readonly state: 'committed'; readonly receipt: Json }
  | { readonly state: 'rejected'; readonly failure: Failure }
  | { readonly state: 'unresolved'; readonly failure: Failure };

export interface EffectStore {
  /**
   * Records the intent unless the effect is known. Fenced by the live lease (`StaleLease`), also where a row is there already;
   * nothing new begins once the attempt has staged its end.
   *
   * @returns the row, and whether this call wrote it
   */
  begin(input: {
    fence: Fence;
    name: string;
    instance: string | null;
    key: string;
    requestDigest: string;
    at: number;
  }): Promise<{ readonly row: EffectRow; readonly begun: boolean }>;
  /**
   * Fenced by the live lease (`StaleLease`). Returns the row as it then stands: where the state that is there may not be
   * followed by this one (an operator was faster, or it is settled), what is there stands.
   */
  record(input: { fence: Fence; key: string; record: EffectRecord; at: number }): Promise<EffectRow>;
  /**
   * An operator's word: `committed` with a receipt, or `absent`. Unless somebody holds a lease of the slot an effect may be in any
   * open state, else `unresolved` only: other states are `EffectNotUnresolved`, no such effect is `EffectNotFound`. The first
   * word stands; the same command again gives the row as it is.
   */
  resolve(input: {
    tenant: string;
    run: string;
    slot: string;
    name: string;
    instance: string | null;
    outcome: { readonly state: 'committed'; readonly receipt: Json } | { readonly state: 'absent' };
    actor: string;
    reason: string;
    commandId: string;
    at: number;
  }): Promise<EffectRow>;
  /** In order of their first intent. */
  list(tenant: string, run: string, slot?: string): Promise<readonly EffectRow[]>;
  /** Effects of a slot whose outcome is not known, oldest first. */
  open(tenant: string, run: string, slot: string): Promise<OpenEffects>;
}

/** First answers of commands that do not pass the run's workflow (heartbeat, save, complete, fail, release). */
export interface CommandLog {
  recall(tenant: string, run: string, commandId: string): Promise<{ digest: string; answer: Json } | null>;
  /** The first answer stands and is returned; a second with another digest is `CommandConflict`. */
  remember(input: {
    tenant: string;
    run: string;
    commandId: string;
    name: string;
    digest: string;
    answer: Json;
    at: number;
  }): Promise<Json>;
  /** In order of time. Without the answers, which may hold what only their receivers may know. */
  list(tenant: string, run: string): Promise<readonly CommandRow[]>;
}

export interface CommandRow {
  readonly commandId: string;
  readonly name: string;
  /** As its sender made it, to tell a repeat from another command. */
  readonly digest: string;
  readonly at: number;
}

/** How a command ended. `unknown`: it failed on the way, and may have been carried out or may be yet. */
export const VERDICTS = ['accepted', 'refused', 'unknown'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** One command and its verdict, without anything that the command carried. */
export interface AuditEntry {
  readonly tenant: string;
  /** Null for what is of no run. Whether the tenant has such a run is not said. */
  readonly run: string | null;
  readonly slot: string | null;
  /** As the client was told; see `Authorize`. */
  readonly actor: string;
  /** Name of the command, or of a read that was refused by the policy. */
  readonly command: string;
  /** Null when the caller chose none and no answer told one. */
  readonly commandId: string | null;
  readonly verdict: Verdict;
  /** Error code; null for what was accepted. */
  readonly code: string | null;
  /** Why it was refused, in words. */
  readonly reason: string | null;
  readonly at: number;
}

export interface AuditRow extends AuditEntry {
  /** Number of the entry in the store; later ones are higher. */
  readonly entry: number;
}

export interface AuditQuery {
  readonly tenant: string;
  readonly run?: string | undefined;
  readonly actor?: string | undefined;
  readonly verdict?: Verdict | undefined;
  /** Not before this time, in epoch milliseconds. */
  readonly since?: number | undefined;
  /** Only entries with a lower number: the next page. */
  readonly before?: number | undefined;
  /** Most entries. */
  readonly limit: number;
}

/** What was commanded, by whom, and what became of it: a refusal leaves no trace elsewhere. Entries never change. */
export interface AuditLog {
  /** A command that was accepted before under the same id is not written again. */
  record(entry: AuditEntry): Promise<void>;
  /** Newest first. */
  list(query: AuditQuery): Promise<readonly AuditRow[]>;
}

export interface Store {
  readonly revisions: RevisionStore;
  readonly runs: RunStore;
  readonly attempts: AttemptStore;
  readonly artifacts: ArtifactStore;
  readonly effects: EffectStore;
  readonly commands: CommandLog;
  readonly audit: AuditLog;
  readonly retention: RetentionStore;
  /** Secret of this store, made once: signs lease tokens. */
  key(): Promise<Uint8Array>;
  /** For diagnostics: engine and where it is, no secret. */
  describe(): { engine: string; location: string };
  close(): Promise<void>;
}
