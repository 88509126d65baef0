/**
 * `temporal-baton`: the door for callers. Launches runs, reads them and gives commands; never loads Temporal's native worker.
 * Agents and hosts come through `temporal-baton/worker`.
 */
export { BatonClient, LaunchedRun, type BatonClientOptions } from './client/client.js';
export type { AuditRequest, AuditView } from './client/audit.js';
export { RunHandle } from './client/run-handle.js';
export {
  SlotHandle,
  type EffectAnswer,
  type ReasonRequest,
  type ReassignRequest,
  type ResolveEffectRequest,
  type SlotAnswer,
} from './client/slot-handle.js';
export type { Claimed, ClaimRequest } from './client/claim.js';
export type { CollectRequest, CollectView, KeptRun } from './client/collect.js';
export type { CompleteRequest, FailRequest, ReleaseRequest } from './client/ending.js';
export type { BeatAnswer, HeartbeatRequest, HolderAnswer } from './client/holder.js';
export type { SaveAnswer, SaveRequest } from './client/save.js';
export type { RecoveryRead } from './client/history.js';
export type { Launched, LaunchRequest } from './client/launch.js';
export type { RunListed } from './client/list.js';
export type { RunShown, SlotShown } from './client/show.js';

export { COMMANDS, READS } from './access/actions.js';
export type { ActionAsked, ActionName, CommandName, ReadName } from './access/actions.js';
export type { Authorize, AuthorizeAnswer } from './access/authorize.js';
export { verifyBundle, type Verified, type VerifyOptions } from './bundle/verify.js';
export type { Problem, ProblemKind } from './bundle/problems.js';
export type { Exported } from './bundle/write.js';

export { BatonError, END_CODES, ERROR_CODES, isErrorCode } from './domain/errors.js';
export type { ErrorCode, ErrorDetails, ExitCode } from './domain/errors.js';
export { DEFAULT_TASK_QUEUE, SEARCH_ATTRIBUTES, type DryRun } from './domain/wire.js';
export { EFFECT_STATES, type EffectState, type OpenEffect, type OpenEffects } from './domain/effect.js';
export { LEASE_STATUSES, SLOT_STATES, WORKER_STATUSES } from './domain/types.js';
export type {
  AgentRef,
  Counts,
  EndKind,
  Failure,
  Gate,
  LaunchSpec,
  LeasePolicy,
  LeaseStatus,
  Pin,
  Pins,
  RetryPolicy,
  RunStatus,
  SlotState,
  WorkerStatus,
} from './domain/types.js';

export type { ArtifactView, AttemptView, EffectView, Handoff, PlanStep, Trust } from './agent/types.js';
export { recoveryMarkdown, type RecoveryHeading, type RecoveryOptions } from './agent/recovery.js';
export type { Published } from './definitions/publish.js';
export { openStore, type StoreOptions } from './store/open.js';
export { ARTIFACT_KINDS, VERDICTS } from './store/port.js';
export type { CollectedBytes, CollectedRows } from './store/retention-port.js';
export type { ArtifactKind, ArtifactRef, ArtifactRow, Json, Store, Verdict } from './store/port.js';
