/**
 * Door `temporal-baton/effects`: for the services that own effects, and for what stands between them and an agent. Loads
 * neither Temporal's native worker nor a database driver.
 */
export { authorityToken, peekAuthority, readAuthority } from './token.js';
export { BatonError } from '../domain/errors.js';
export type { Fence } from '../store/port.js';
