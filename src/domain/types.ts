/**
 * The nouns of Baton (design, section 1) as data. Everything here is plain JSON, so that it can be carried through
 * Temporal as it is. Times are milliseconds since 1970 (UTC) and come from the Temporal server; the domain has no clock.
 */

import type { OpenEffects } from './effect.js';

/** A revision fixed at launch: `name@revision` and the sha256 of its canonical content. */
export interface Pin {
  readonly ref: string;
  readonly digest: string;
}

export interface Pins {
  readonly package: Pin;
  readonly workflow: Pin;
  readonly binding: Pin;
}

/** Resolved prompt, skill or library text of a node; `digest` is the sha256 of its bytes. */
export interface Attachment {
  readonly kind: string;
  readonly name: string;
  readonly digest: string;
}

export interface AgentRef {
  readonly name: string;
  readonly revision: string;
}

export interface LeasePolicy {
  /** Heartbeat timeout of the lease. Default 60 s. */
  readonly ttlMs: number;
  /** Longest an attempt may take, or null for no limit. */
  readonly maxDurationMs: number | null;
}

export interface RetryPolicy {
  readonly mode: 'auto' | 'manual';
  readonly backoff: { readonly initialMs: number; readonly factor: number; readonly maxMs: number };
  /** Failures reported before the budget is used up. Default 3. */
  readonly failures: number;
  /** Losses (crash, expiry) before the budget is used up. Default 5. */
  readonly losses: number;
  readonly onExhausted: 'wait' | 'fail';
}

/** How one slot may be worked on. */
export interface LaunchSpec {
  readonly id: string;
  readonly workerClasses: readonly string[];
  readonly dispatch: 'queue' | 'direct';
  readonly lease: LeasePolicy;
  readonly retry: RetryPolicy;
}

/**
 * A policy of a node: when that many losses or failures have been counted since the last reassign, the slot is reassigned to
 * another class. Each policy acts once in a slot's life, so that budgets still end a slot that nobody can do.
 */
export interface Escalation {
  /** Names the policy's actor: `policy:<name>`. */
  readonly name: string;
  readonly count: 'failures' | 'losses';
  readonly after: number;
  readonly workerClass: string;
  /** Recorded with the reassign; null: the count in words. */
  readonly reason: string | null;
}

/** A node of the workflow revision joined with its binding: all that a run needs to know of it. */
export interface PlanNode {
  readonly node: string;
  /** Slot names, unique in the run: `[node]`, or `node.a`, `node.1`… */
  readonly slots: readonly string[];
  readonly dependsOn: readonly string[];
  readonly optional: boolean;
  /** Step names that recovery reports on, or null when the node declares none. */
  readonly steps: readonly string[] | null;
  readonly agent: AgentRef;
  readonly attachments: readonly Attachment[];
  readonly launch: readonly LaunchSpec[];
  /** In order of precedence. Absent: none. */
  readonly escalate?: readonly Escalation[];
  /** Time a slot has from when it first opens; absent: no limit. */
  readonly deadlineMs?: number;
}

export interface RunPlan {
  readonly nodes: readonly PlanNode[];
  /** Time the run has from its start; absent: no limit. */
  readonly deadlineMs?: number;
}

export const SLOT_STATES = [
  'blocked',
  'open',
  'claiming',
  'active',
  'on-hold',
  'retry-wait',
  'succeeded',
  'failed',
  'cancelled',
] as const;
export type SlotState = (typeof SLOT_STATES)[number];
export type Gate = 'time' | 'reassign' | 'open';
export type RunStatus = 'running' | 'succeeded' | 'failed' | 'cancelled' | 'terminated';

export const WORKER_STATUSES = [
  'claimed',
  'running',
  'succeeded',
  'failed',
  'released',
  'lost',
  'cancelled',
] as const;
export type WorkerStatus = (typeof WORKER_STATUSES)[number];
export const LEASE_STATUSES = ['provisional', 'live', 'released', 'expired', 'revoked', 'void'] as const;
export type LeaseStatus = (typeof LEASE_STATUSES)[number];

export const isTerminalWorker = (status: WorkerStatus): boolean =>
  status !== 'claimed' && status !== 'running';
export const isTerminalLease = (status: LeaseStatus): boolean =>
  status !== 'provisional' && status !== 'live';

/** Why an attempt or a slot failed, as its reporter said it. */
export interface Failure {
  readonly code: string;
  readonly message: string;
}

/** How an attempt ended (the table of design, section 2, one name a row). */
export type EndKind =
  | 'success'
  | 'failure'
  | 'outside' // completion or failure by somebody who is not the holder
  | 'expired' // missed beats
  | 'max-duration'
  | 'released'
  | 'revoked'
  | 'cancelled'
  | 'never-attached';

/** One claim's record as the run keeps it while the attempt matters to it; the store keeps all of them. */
export interface AttemptRef {
  readonly attempt: string;
  readonly number: number;
  readonly epoch: number;
  readonly worker: string;
  readonly workerClass: string;
  readonly ownerActor: string | null;
  readonly lease: string;
  readonly spec: string;
  /** Task queue on which the lease's activity runs: the host's own, or the control queue for `direct`. */
  readonly hostQueue: string;
  readonly ttlMs: number;
  readonly maxDurationMs: number | null;
  readonly startedAt: number;
  /** W3C `traceparent` of the span in which it was claimed; absent where nothing is traced. Decides nothing. */
  readonly trace?: string | undefined;
}

/** The worker before: kept through reassign, so that provenance and guards can be judged. */
export interface PriorWorker {
  readonly attempt: string;
  readonly number: number;
  readonly worker: string;
  readonly workerClass: string;
  readonly ownerActor: string | null;
  readonly status: WorkerStatus;
  readonly leaseStatus: LeaseStatus;
  /** See {@link AttemptRef.trace}. */
  readonly trace?: string | undefined;
}

/** An attempt's end on its way into the store. `status` is the end as the run saw it; settle may correct a success. */
export interface Ending {
  readonly attempt: AttemptRef;
  readonly end: EndKind;
  readonly failure: Failure | null;
  /** Id of the staged completion or failure that the activity's end carried, if any. */
  readonly staged: string | null;
  readonly endedAt: number;
  /** The slot's counts before this end, so that settle's verdict can replace the run's. */
  readonly undo: Pick<Slot, 'counts' | 'spent' | 'prior' | 'reassign'>;
  /** Where the slot stood before the claim, for a claim that turns out never to have attached. */
  readonly before: BeforeClaim;
}

/** What a failed claim puts the slot back to. */
export type BeforeClaim = Pick<
  Slot,
  | 'gate'
  | 'retryTime'
  | 'spec'
  | 'workerClass'
  | 'prior'
  | 'reassign'
  | 'number'
  | 'counts'
  | 'spent'
  | 'failure'
> & { readonly state: 'open' | 'retry-wait' };

/** A reassign as it is recorded: with the attempt that it led to, and in the run until the next claim. */
export interface ReassignRecord {
  readonly reason: string;
  readonly actor: string;
  readonly at: number;
  readonly workerClass: string;
  readonly fromSpec: string;
  readonly toSpec: string;
  /** Attempt of the prior worker. */
  readonly predecessor: string;
}

/** What is kept of a slot's newest reassign for people to see, whoever has claimed since. */
export interface LastReassign extends Pick<ReassignRecord, 'actor' | 'at' | 'workerClass'> {
  /** Its beginning; the whole is with the attempt that it led to. */
  readonly reason: string;
}

export interface Counts {
  readonly claims: number;
  readonly failures: number;
  readonly losses: number;
  readonly releases: number;
}

/** One obligation of the run. */
export interface Slot {
  readonly slot: string;
  readonly node: string;
  readonly state: SlotState;
  /** Set in `retry-wait` only. */
  readonly gate: Gate | null;
  /** Id of the selected launch specification. */
  readonly spec: string;
  /** Class to which the slot is offered. */
  readonly workerClass: string;
  readonly retryTime: number | null;
  /** Worker named by a direct claim that is under way. */
  readonly pendingWorker: string | null;
  /** Set while `claiming` and `active`. */
  readonly before: BeforeClaim | null;
  readonly active: AttemptRef | null;
  /** End of the last attempt that the store has not recorded yet. With state `active`: a success being verified. */
  readonly ending: Ending | null;
  readonly prior: PriorWorker | null;
  /** Of the next attempt, or the one at work. */
  readonly reassign: ReassignRecord | null;
  /** Absent: never reassigned, or by an early version. */
  readonly lastReassign?: LastReassign;
  /** Newest epoch the run knows of; null before the first claim. */
  readonly epoch: number | null;
  /** Number of the newest attempt. */
  readonly number: number;
  readonly counts: Counts;
  /** Spent since the last reassign. */
  readonly spent: { readonly failures: number; readonly losses: number };
  /** Digest of the result artifact. */
  readonly result: string | null;
  /** Why the slot's last attempt, or the slot itself, failed. */
  readonly failure: Failure | null;
  /** While on hold: where the slot goes back to, and why it was held. */
  readonly hold: {
    readonly from: 'open' | 'retry-wait' | 'blocked';
    readonly gate: Gate | null;
    readonly reason: string;
    readonly actor: string;
    readonly at: number;
  } | null;
  /** When the slot fails unless it is over by then; set when it first opens, if its node has a deadline. */
  readonly deadline?: number;
  /** Names of the escalations that have acted. */
  readonly escalated?: readonly string[];
  /** Effects whose outcome nobody knew when the last attempt ended; absent: none. */
  readonly effects?: OpenEffects;
  /** Why the last claim failed and how many in a row did; a claim failure is not an attempt. */
  readonly claimFailure: (Failure & { readonly at: number; readonly times: number }) | null;
}

/** The whole state of a run: what its workflow holds and carries through continue-as-new. */
export interface RunState {
  readonly tenant: string;
  readonly run: string;
  readonly pins: Pins;
  readonly plan: RunPlan;
  readonly status: RunStatus;
  /** When the run fails unless it is over by then, if its workflow has a deadline. */
  readonly deadline?: number;
  /** Why the run as a whole failed, where no slot says it. */
  readonly failure?: Failure;
  /** Keyed by slot name, in plan order. */
  readonly slots: Readonly<Record<string, Slot>>;
}
