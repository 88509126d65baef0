/** Where a door gets its hook from: a function, a policy file, or nothing, which allows everything. */
import { BatonError } from '../domain/errors.js';
import type { Authorize } from './authorize.js';

export interface AccessOptions {
  /** Asked before every command and read; whatever is not `true` refuses with `NotAuthorized`. Default: everything is allowed. */
  readonly authorize?: Authorize;
  /** Path of a policy file (YAML), instead of `authorize`. Read once, at first use. */
  readonly policy?: string;
}

/** Gives the hook, or null when everything is allowed. @throws BatonError `InvalidCommand` for a policy file that is not valid */
export type Access = () => Promise<Authorize | null>;

/** Key under which a plugin on the Temporal client offers its hook: an {@link Access}. */
export const ACCESS_OF_PLUGIN = Symbol.for('temporal-baton.access');

/**
 * @param elsewhere the hook where neither is given
 * @throws BatonError `InvalidCommand` when both are
 */
export function accessOf({ authorize, policy }: AccessOptions, elsewhere: Access = noRules): Access {
  if (authorize !== undefined && policy !== undefined) {
    throw BatonError.of('InvalidCommand', 'give `authorize` or `policy`, not both', { field: 'policy' });
  }
  if (authorize !== undefined) return () => Promise.resolve(authorize);
  if (policy === undefined) return elsewhere;
  let loaded: Promise<Authorize> | undefined;
  return () => {
    // A YAML parser is loaded only for those who have a policy.
    loaded ??= import('./policy.js').then(({ loadPolicy }) => loadPolicy(policy));
    return loaded;
  };
}

const noRules: Access = () => Promise.resolve(null);
