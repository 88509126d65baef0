/** Door `temporal-baton/worker`: what runs agents. Loads Temporal's native worker; the main door does not. */
export type { ActionAsked, ActionName } from './access/actions.js';
export type { Authorize, AuthorizeAnswer } from './access/authorize.js';
export { BatonPlugin, type BatonPluginOptions } from './host/plugin.js';
export { startHost, type Host, type HostOptions } from './host/host.js';
export {
  startControlWorker,
  type AuthorityEndpoint,
  type ControlWorker,
  type ControlWorkerOptions,
} from './host/control.js';
export type { DeploymentVersion } from './host/deployment.js';
export type { Running } from './host/workers.js';
export { defineAgent } from './agent/types.js';
export type {
  AgentContext,
  AgentDefinition,
  ArtifactInput,
  ArtifactView,
  AttemptView,
  Handoff,
  LastCheckpoint,
  LoadedAttachment,
  PlanStep,
  StepOptions,
  StepsOptions,
  Trust,
} from './agent/types.js';
export { accepted, EffectRejected, type Accepted } from './effects/outcome.js';
export type { EffectCallInput, EffectOptions, OwnerAnswerTo } from './effects/types.js';
export { openStore, type StoreOptions } from './store/open.js';
export type { ArtifactKind, ArtifactRef, ArtifactRow, Json, Store } from './store/port.js';
export { BatonError } from './domain/errors.js';
