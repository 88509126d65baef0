/** Door `temporal-baton/worker`: what runs agents. Loads Temporal's native worker; the main door does not. */
export { BatonPlugin, type BatonPluginOptions } from './host/plugin.js';
export { startHost, type Host, type HostOptions } from './host/host.js';
export {
  startControlWorker,
  type AuthorityEndpoint,
  type ControlWorker,
  type ControlWorkerOptions,
} from './host/control.js';
export type { Running } from './host/workers.js';
export { defineAgent } from './agent/types.js';
export type {
  AgentContext,
  AgentDefinition,
  ArtifactView,
  AttemptView,
  Handoff,
  LoadedAttachment,
  PlanStep,
} from './agent/types.js';
export { openStore } from './store/open.js';
export type { ArtifactKind, ArtifactRow, Json, Store } from './store/port.js';
export { BatonError } from './domain/errors.js';
