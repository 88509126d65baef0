/** What an agent sees of its work, and what it can do. The types of the public door; no logic. */
import type { AgentRef, Failure, Pins } from '../domain/types.js';
import type { ArtifactKind, ArtifactRow, AttemptRow, Json } from '../store/port.js';

export interface LoadedAttachment {
  readonly kind: string;
  readonly name: string;
  readonly digest: string;
  /** The pinned bytes as UTF-8. */
  readonly text: string;
}

export interface PlanStep {
  readonly step: string;
  readonly status: 'done' | 'repeat' | 'ambiguous';
  /** Attempt whose saved result is reused, when done. */
  readonly by: string | null;
}

/** What a claim hands to the worker; the JSON of `baton recovery` and of `claim`. */
export interface Handoff {
  readonly pins: Pins;
  readonly agent: AgentRef;
  readonly attachments: readonly { kind: string; name: string; digest: string }[];
  /** The run's input. */
  readonly input: Json;
  /** Result of each node this one depends on; absent (null) for a failed optional one; keyed by slot for nodes with several slots. */
  readonly upstream: Readonly<Record<string, Json>>;
  /** All attempts of the slot before this one, in the shape of `attempts --json`. */
  readonly attempts: readonly AttemptView[];
  readonly artifacts: readonly ArtifactView[];
  readonly effects: readonly Json[];
  /** Null when the node declares no steps. */
  readonly plan: readonly PlanStep[] | null;
}

/** One entry of `attempts --json`. Times are ISO 8601 UTC. */
export interface AttemptView {
  readonly attempt: string;
  readonly slot: string;
  readonly number: number;
  readonly epoch: number;
  readonly workerClass: string;
  readonly ownerActor: string | null;
  readonly worker: { readonly id: string; readonly status: AttemptRow['workerStatus'] };
  readonly lease: {
    readonly id: string;
    readonly status: AttemptRow['leaseStatus'];
    readonly deadline: string | null;
  };
  readonly spec: string;
  readonly reassignedBy: {
    reason: string;
    actor: string;
    at: string;
    workerClass: string;
    fromSpec: string;
    toSpec: string;
  } | null;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly failure: Failure | null;
}

export interface ArtifactView {
  readonly attempt: string;
  readonly kind: ArtifactKind;
  readonly name: string;
  readonly digest: string;
  readonly size: number;
}

export interface AgentContext {
  readonly tenant: string;
  readonly run: string;
  readonly slot: string;
  readonly node: string;
  readonly attempt: string;
  readonly number: number;
  readonly epoch: number;
  readonly workerClass: string;
  readonly worker: string;
  readonly pins: Pins;
  readonly agent: AgentRef;
  readonly attachments: readonly LoadedAttachment[];
  readonly input: Json;
  readonly upstream: Readonly<Record<string, Json>>;
  readonly handoff: Handoff;
  /** Fires when the attempt loses its authority; every save after that is refused with `StaleLease`. */
  readonly signal: AbortSignal;
  /**
   * Runs `fn` once per slot: its result is saved under the live lease and every later call, also of a successor, gets the
   * saved value without running `fn`. Two calls at once with one name share one run. The result must be JSON (nothing is
   * null), at most what an artifact may have; `T` is what that JSON is taken for.
   */
  step<T>(name: string, fn: () => Promise<T> | T): Promise<T>;
  /** Saves a checkpoint. The newest of a name, of any attempt of the slot, is what {@link lastCheckpoint} gives. */
  checkpoint(name: string, value: Json): Promise<ArtifactRow>;
  lastCheckpoint(name: string): Promise<{ value: Json; attempt: string } | null>;
  /** Saves an artifact; text and JSON are stored as UTF-8. */
  save(input: {
    kind: ArtifactKind;
    name: string;
    content: Json | Uint8Array;
    mediaType?: string;
  }): Promise<ArtifactRow>;
  /** Bytes of an artifact of this run, digest checked. */
  read(artifact: { digest: string }): Promise<Uint8Array>;
  /** Shown as the activity's heartbeat details; sent with the next beat, so calling it often costs nothing. */
  progress(value: Json): void;
}

export interface AgentDefinition {
  readonly workerClass: string;
  /** Worker ids are `<name>-<n>`; default: host name and pid. */
  readonly name?: string;
  /** How many agents of this class the host runs at once. Default 1. */
  readonly places?: number;
  /** Returns the slot's result (JSON, at most 64 KiB; save larger ones as artifacts). A throw is a failed attempt. */
  run(ctx: AgentContext): Promise<unknown>;
}

/** Declares an agent for a host. */
export function defineAgent(definition: AgentDefinition): AgentDefinition {
  return definition;
}
