/**
 * Door `temporal-baton/effects`: for the services that own effects, and for what stands between them and an agent. Loads
 * neither Temporal's native worker nor a database driver.
 */
export { effectOwner } from './owner/owner.js';
export type {
  EffectCall,
  EffectOwner,
  EffectOwnerOptions,
  EffectRequest,
  LookupAnswer,
  OwnerAnswer,
  Stop,
  Work,
} from './owner/owner.js';
export type { EffectRef, Recorded } from './owner/protocol.js';
export { kyselyEngine, postgresEngine, sqliteEngine } from './owner/engines.js';
export type { Dialect, Mode, OwnerEngine, PostgresConnection, SqliteHandle } from './owner/engines.js';
export { effectRoutes, type EffectRoutesOptions, type Middleware, type RequestWork } from './owner/routes.js';

export {
  authorityCheck,
  type AuthorityCheck,
  type AuthorityCheckOptions,
  type CheckOptions,
  type Purpose,
} from './check.js';
export {
  startAuthorityServer,
  type AuthorityServer,
  type AuthorityServerOptions,
} from './authority-server.js';
export { httpAuthority, type HttpAuthorityOptions } from './http-authority.js';
export { httpOwner, type HttpOwnerOptions, type OwnerCall } from './http-owner.js';
export { accepted, EffectRejected, isAccepted, type Accepted } from './outcome.js';
export type { EffectCallInput, EffectOptions, OwnerAnswerTo } from './types.js';
export { authorityToken, peekAuthority, readAuthority } from './token.js';

export { BatonError } from '../domain/errors.js';
export type { Failure } from '../domain/types.js';
export type { Fence, Json } from '../store/port.js';
