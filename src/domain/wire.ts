/**
 * What the run workflow says to its activities and to its clients: names and payloads. Both sides import this and
 * nothing else of each other. All payloads are plain JSON and small; results and content stay in the store.
 */
import type { EffectState, OpenEffect, OpenEffects } from './effect.js';
import type { PackedState } from './pack.js';
import type { PackedPlan } from './pack-plan.js';
import type {
  AttemptRef,
  EndKind,
  Failure,
  Gate,
  LaunchSpec,
  LeaseStatus,
  Pins,
  ReassignRecord,
  RunPlan,
  RunState,
  RunStatus,
  SlotState,
  WorkerStatus,
} from './types.js';

/** Any JSON, as a command carries it. */
export type JsonValue =
  null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue };

export const RUN_WORKFLOW = 'batonRun';
export const DEFAULT_TASK_QUEUE = 'baton';
/** Queue on which offers to a worker class wait; whoever polls it and has room takes one. */
export const classQueue = (taskQueue: string, workerClass: string): string =>
  `${taskQueue}/class/${workerClass}`;
/** A host's own queue: attachments of the leases that it claimed. */
export const hostQueue = (taskQueue: string, host: string): string => `${taskQueue}/host/${host}`;
/** Temporal header with the trace that a run belongs to; the name is that of Temporal's own OpenTelemetry package. */
export const TRACE_HEADER = '_tracer-data';
export const workflowIdOf = (tenant: string, run: string): string => `${tenant}/${run}`;

export const SEARCH_ATTRIBUTES = ['BatonTenant', 'BatonPackage', 'BatonStatus', 'BatonWaiting'] as const;

/** Argument of the workflow. `carried` is set by continue-as-new only. */
export interface RunInput {
  readonly tenant: string;
  readonly run: string;
  readonly pins: Pins;
  /** Packed; runs of earlier versions have it whole. */
  readonly plan: PackedPlan | RunPlan;
  /** Control task queue; the class queues are named after it. Given, because a replay runs on a queue of another name. */
  readonly taskQueue: string;
  /** The search attributes that are registered, found at launch: only these are set (an unknown one would hang the run). */
  readonly searchAttributes: readonly string[];
  /** History events after which the run continues as new; null: when the server suggests it. */
  readonly rollOverEvents: number | null;
  /** Offers that are out at once, all classes together. Absent in runs of earlier versions: as many as may be pending. */
  readonly offersAtOnce?: number;
  /** List in `BatonWaiting` the commands that slots wait for. Absent in runs of earlier versions: not, for their histories have no event of it. */
  readonly waitingCommands?: true;
  readonly carried: CarriedState | null;
}

export interface CarriedState {
  /** Packed; runs of earlier versions carry it whole. */
  readonly state: PackedState | RunState;
  readonly commands: readonly RememberedCommand[];
  /** Temporal run id of the execution before, and the activity ids there of leases that are live. */
  readonly previous: {
    readonly workflowRunId: string;
    readonly leases: Readonly<Record<string, string>>;
  } | null;
  /** When the leases of outside holders end unless they beat again, by attempt. */
  readonly deadlines: Readonly<Record<string, number>>;
  /** Offers whose tombstone is not written yet. */
  readonly voids: readonly VoidClaimInput[];
}

export interface RememberedCommand {
  readonly commandId: string;
  readonly digest: string;
  readonly answer: CommandAnswer;
}

// ---- activities ----------------------------------------------------------------------------------------------------

export interface Activities {
  /** On the class queue (queue dispatch) or the control queue (direct). Writes provisional rows. */
  claimSlot(input: ClaimSlotInput): Promise<AttemptRef>;
  /** On the claiming host's queue (direct: control queue). Attaches only; the keeper or the outside holder ends it by token. */
  performAttempt(input: PerformInput): Promise<PerformResult>;
  /** On the control queue, retried without limit. */
  settle(input: SettleAttemptInput): Promise<SettledAttempt>;
  /** Tombstone of an offer that ended without a claim. */
  voidClaim(input: VoidClaimInput): Promise<void>;
  /** On the control queue. `EffectNotFound`, `EffectNotUnresolved` are final. */
  resolveEffect(input: ResolveEffectInput): Promise<EffectState>;
  closeRun(input: { tenant: string; run: string; status: RunStatus; at: number }): Promise<void>;
  /** Deadline (last beat + TTL, server time) of leases that outside holders hold, from an execution's pending activities. */
  leaseDeadlines(input: {
    tenant: string;
    run: string;
    workflowRunId: string;
    leases: readonly { attempt: string; activityId: string; ttlMs: number }[];
  }): Promise<Readonly<Record<string, { deadline: number; beaten: boolean } | null>>>;
}

export interface ClaimSlotInput {
  readonly tenant: string;
  readonly run: string;
  readonly slot: string;
  readonly node: string;
  readonly pins: Pins;
  readonly spec: LaunchSpec;
  readonly workerClass: string;
  readonly lastEpoch: number;
  readonly lastNumber: number;
  /** Owner actor of the predecessor: a successor inherits it unless it names its own. */
  readonly inheritedOwner: string | null;
  /** {@link AttemptRef.trace} of the predecessor. */
  readonly priorTrace?: string | undefined;
  readonly reassign: ReassignRecord | null;
  /** Who claims, for `dispatch: direct`; null: the host that took the offer. */
  readonly direct: {
    readonly worker: string;
    readonly owner: string | null;
    readonly commandId: string;
    /** Who gave the command. Absent: scheduled by an earlier version. */
    readonly actor?: string;
  } | null;
}

export interface PerformInput {
  readonly tenant: string;
  readonly run: string;
  readonly slot: string;
  readonly node: string;
  readonly pins: Pins;
  readonly attempt: AttemptRef;
  /** {@link AttemptRef.trace} of the predecessor. */
  readonly priorTrace?: string | undefined;
}

/** What the holder completes the activity with. A failure carries the staged id in its ApplicationFailure's details[0]. */
export interface PerformResult {
  readonly staged: string;
}

export interface SettleAttemptInput {
  readonly tenant: string;
  readonly run: string;
  readonly slot: string;
  readonly attempt: AttemptRef;
  /** Activity id and Temporal run id of the lease, to read its last beat after an expiry. */
  readonly activityId: string | null;
  readonly end: EndKind;
  readonly staged: string | null;
  readonly failure: Failure | null;
  readonly endedAt: number;
  /** What the run's status becomes if the end stands: saves an activity at the end of the run. */
  readonly closes: RunStatus | null;
}

export interface SettledAttempt {
  readonly end: EndKind;
  readonly workerStatus: WorkerStatus;
  readonly leaseStatus: LeaseStatus;
  readonly failure: Failure | null;
  readonly result: string | null;
  /** Effects of the slot whose outcome is not known. Absent: the worker is of an early version. */
  readonly effects?: OpenEffects | undefined;
}

/** An operator's word on an effect, for the store. */
export interface ResolveEffectInput {
  readonly tenant: string;
  readonly run: string;
  readonly slot: string;
  readonly name: string;
  readonly instance: string | null;
  readonly outcome: 'committed' | 'absent';
  /** Null unless committed. */
  readonly receipt: JsonValue;
  readonly actor: string;
  readonly reason: string;
  readonly commandId: string;
  readonly at: number;
}

export interface VoidClaimInput {
  readonly tenant: string;
  readonly run: string;
  readonly slot: string;
  readonly claimId: string;
}

// ---- updates and queries -------------------------------------------------------------------------------------------

export const UPDATES = [
  'claim',
  'reassign',
  'hold',
  'releaseHold',
  'revoke',
  'cancelSlot',
  'cancelRun',
  'resolveEffect',
] as const;
export type UpdateName = (typeof UPDATES)[number];

/** Query: `state` → {@link StateView}, packed when it is large (`readView`); `commandAnswer` (commandId) → {@link RememberedCommand} | null; `dryRun` (reassign) → {@link DryRun}. */
export const QUERIES = { state: 'state', commandAnswer: 'commandAnswer', dryRun: 'dryRun' } as const;

/** What a query is answered with that came before the workflow task of the run's newest events: to be asked again. */
export const NOT_YET = 'the newest events of the run have no workflow task yet: ask again';

/** Put before a query's name by who knows that the run is closed: then there will be no such task, and it is answered. */
export const OF_CLOSED = 'closed:';

/** What every command answers: the slot after it. `attempt` is set by `claim`. */
export interface CommandAnswer {
  readonly commandId: string;
  /** Null when the command was for the whole run. */
  readonly slot: string | null;
  readonly state: SlotState | RunStatus;
  readonly gate: Gate | null;
  readonly retryTime: number | null;
  readonly spec: string | null;
  readonly attempt: AttemptRef | null;
  /** Set by `resolveEffect`: how the effect stands then. */
  readonly effect?: OpenEffect;
}

export interface StateView {
  readonly state: RunState;
  /** Activity ids of live leases in this execution, by attempt. */
  readonly leases: Readonly<Record<string, string>>;
  readonly rollingOver: boolean;
}

export interface DryRun {
  readonly verdicts: readonly {
    readonly code: string;
    readonly passed: boolean;
    readonly message: string | null;
  }[];
  readonly accepted: boolean;
  readonly spec: string | null;
}
