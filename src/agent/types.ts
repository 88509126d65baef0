/** What an agent sees of its work, and what it can do. The types of the public door; no logic. */
import type { Readable } from 'node:stream';
import type { EffectState } from '../domain/effect.js';
import type { AgentRef, Failure, Pins } from '../domain/types.js';
import type { EffectOptions } from '../effects/types.js';
import type { ArtifactKind, ArtifactRef, ArtifactRow, AttemptRow, Json } from '../store/port.js';

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
  /**
   * Revision of the saved result; null for none. It is the agent that decides whether it still fits (`ctx.step`'s `revision`):
   * a node declares names only.
   */
  readonly revision: string | null;
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
  /** All effects of the slot, in order of their first intent. */
  readonly effects: readonly EffectView[];
  /** Null when the node declares no steps. */
  readonly plan: readonly PlanStep[] | null;
}

/** One entry of `effects --json` and of the handoff. Times are ISO 8601 UTC. */
export interface EffectView {
  readonly slot: string;
  readonly name: string;
  readonly instance: string | null;
  /** Idempotency key that its owner knows it by. */
  readonly key: string;
  /** `intent`, `accepted` and `unresolved`: the outcome is not known. `absent`: an operator says that it did not happen. */
  readonly state: EffectState;
  /** sha256 of the request's canonical JSON. */
  readonly requestDigest: string;
  /** As its owner gave it, or an operator. */
  readonly receipt: Json;
  /** What it is polled by, once its owner has accepted it. */
  readonly handle: Json;
  readonly failure: Failure | null;
  /** Attempt that recorded the newest intent, and its epoch. */
  readonly attempt: string;
  readonly epoch: number;
  /** The operator who settled it last. */
  /** What an operator said of it, whatever came after. */
  readonly resolvedBy: {
    readonly outcome: 'committed' | 'absent';
    readonly actor: string;
    readonly reason: string;
    readonly at: string;
  } | null;
  readonly intentAt: string;
  readonly updatedAt: string;
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

/**
 * How far a saved artifact can be trusted.
 * - `committed`: saved while its attempt's lease was live beyond doubt.
 * - `after-last-renewal`: left by an attempt that was lost, saved after its last acknowledged beat: the store took it, since
 *   nobody had recorded the loss yet, but the worker may have been cut off already when it made it.
 */
export type Trust = 'committed' | 'after-last-renewal';

/** One entry of `artifacts --json` and of the handoff. Times are ISO 8601 UTC. */
export interface ArtifactView {
  readonly attempt: string;
  readonly kind: ArtifactKind;
  readonly name: string;
  readonly digest: string;
  readonly size: number;
  readonly mediaType: string;
  readonly tags: readonly string[];
  /** Step whose saved result it is, and the revision that the step's caller stated; null for other artifacts. */
  readonly step: string | null;
  readonly stepRevision: string | null;
  /** Provenance: under which epoch, by which agent (`name@revision`, null in rows of an early version), from what. */
  readonly epoch: number;
  readonly agentRevision: string | null;
  readonly derivedFrom: readonly ArtifactRef[];
  readonly savedAt: string;
  readonly trust: Trust;
}

export interface StepOptions {
  /**
   * Version of what the step does, 1 to 128 code points. A result that was saved under another revision, or under none, is not
   * used: the step runs again, and the earlier result is kept and listed. Steps inside have revisions of their own.
   */
  readonly revision?: string;
}

export interface StepsOptions<I> extends StepOptions {
  /** Most items at work at once. Default 4. */
  readonly concurrency?: number;
  /** Names an item, the same in every attempt. Default: a text item itself, else its place in the list. */
  readonly key?: (item: I, index: number) => string;
}

export interface LastCheckpoint {
  readonly value: Json;
  /** The attempt that saved it, and its number in the slot. */
  readonly attempt: string;
  readonly number: number;
  /** False when it is a predecessor's. */
  readonly own: boolean;
  readonly digest: string;
  /** ms, by the clock of the process that saved it. */
  readonly savedAt: number;
  readonly agentRevision: string | null;
}

/** What to save: `content`, or the path of a `file`. */
export type ArtifactInput = {
  readonly kind: ArtifactKind;
  /** 1 to 256 code points. */
  readonly name: string;
  /** Default by the content: JSON, UTF-8 text, or `application/octet-stream`. */
  readonly mediaType?: string;
  /** Up to 32, each of up to 128 code points. */
  readonly tags?: readonly string[];
  /** Artifacts of this run that it was made from, of any slot and attempt. */
  readonly derivedFrom?: readonly ArtifactRef[];
} & (
  | { readonly content: Json | Uint8Array | Readable; readonly file?: never }
  | { readonly content?: never; readonly file: string }
);

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
   * null) of at most 16 MiB; `T` is what that JSON is taken for.
   *
   * Inside of `fn`, `ctx.step('inner')` is the step `outer/inner`: saved for itself, so that a successor which runs the outer
   * one again gets it back. What `fn` throws is thrown on as it is and saves nothing; the attempt's failure names the step.
   *
   * @param name 1 to 256 code points, those of the steps around it included
   * @throws BatonError `InvalidCommand` (name, a result that is no JSON), `TooLarge`, `StaleLease`, `StoreUnavailable`
   */
  step<T>(name: string, fn: () => Promise<T> | T, options?: StepOptions): Promise<T>;
  /**
   * A step for each item, named `name/<key>`, a few at once. Gives the results in the order of the items. After the first
   * error no further item is begun; those at work go on and save what they have.
   *
   * @throws BatonError as {@link step}; `InvalidCommand` when two items have one key
   */
  steps<I, T>(
    name: string,
    items: Iterable<I>,
    fn: (item: I, index: number) => Promise<T> | T,
    options?: StepsOptions<I>,
  ): Promise<T[]>;
  /**
   * Has an act outside the system done at most once for its slot, whatever dies and whichever answer is lost (docs/effects.md).
   * The intent is recorded, then `perform` is called with an idempotency key and an authority token; a later call, also of a
   * successor, gets the recorded receipt, or asks the owner by `lookup` before anything is sent again. Two calls at once with one
   * name and instance share one.
   *
   * @param name 1 to 256 characters; with `instance` it names the effect in its slot
   * @returns the receipt; `T` is what that JSON is taken for
   * @throws BatonError `EffectRejected` (the owner's definite no, also on every later call), `EffectUnresolved` (nobody can tell
   *   whether it happened; nothing was sent, and the slot cannot be completed before it is settled), `EffectConflict` (other request
   *   under the same name), `StaleLease`, `TooLarge`, `InvalidCommand`; and what `perform` threw when its owner says that nothing has
   *   happened, after three sendings
   */
  effect<T = Json>(name: string, options: EffectOptions): Promise<T>;
  /**
   * Saves a checkpoint, at most 16 MiB of JSON. The newest of a name, of any attempt of the slot, is what
   * {@link lastCheckpoint} gives. If that gave this attempt a predecessor's, the new one is recorded as derived from it;
   * `derivedFrom` (also empty) says otherwise.
   */
  checkpoint(
    name: string,
    value: Json,
    options?: { tags?: readonly string[]; derivedFrom?: readonly ArtifactRef[] },
  ): Promise<ArtifactRow>;
  /** Newest checkpoint of a name and whose it is. */
  lastCheckpoint(name: string): Promise<LastCheckpoint | null>;
  /**
   * Saves an artifact; text and JSON are stored as UTF-8, a stream or a file piece by piece, whatever its size. Whole or not
   * at all. The same name again replaces nothing: it is a newer version.
   *
   * @throws BatonError `InvalidCommand`, `TooLarge`, `ArtifactMissing` (`derivedFrom` names nothing of this run), `StaleLease`,
   *   `StoreUnavailable`; what the stream throws as it is
   */
  save(input: ArtifactInput): Promise<ArtifactRow>;
  /** Bytes of an artifact of this run, digest checked. @throws BatonError `ArtifactMissing`, `ArtifactMismatch` */
  read(artifact: { digest: string }): Promise<Uint8Array>;
  /**
   * Like {@link read}, piece by piece. Whether the bytes are right is known at their end: a damaged artifact's stream fails
   * there with `ArtifactMismatch` instead of ending, so act on what was read only after the end.
   */
  readStream(artifact: { digest: string }): Promise<Readable>;
  /** {@link handoff} as Markdown for a model or a person, with the decisions' texts, cut to a size (default 32 KiB). */
  handoffMarkdown(options?: { maxBytes?: number }): Promise<string>;
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
