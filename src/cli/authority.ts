/** Options of the commands that run a control worker: where it serves the authority check for effect owners elsewhere. */
import type { Command } from 'commander';
import type { AuthorityEndpoint } from '../host/control.js';
import { BatonError } from '../domain/errors.js';
import { portInput } from './input.js';

export interface AuthorityOptions {
  readonly authorityPort?: string;
  readonly authorityHost?: string;
}

/** Adds the options to a command. */
export function addAuthorityOptions(command: Command): Command {
  return command
    .option(
      '--authority-port <n>',
      'serve the authority check over HTTP there; 0 takes a free port (default: not)',
    )
    .option(
      '--authority-host <host>',
      'address on which it is served (default: 127.0.0.1, this machine alone)',
    );
}

/** What `runControl` takes of them. @throws BatonError `InvalidCommand` */
export function authorityInput(options: AuthorityOptions): { authority?: AuthorityEndpoint } {
  const { authorityPort, authorityHost: host } = options;
  if (authorityPort === undefined) {
    if (host === undefined) return {};
    throw BatonError.of('InvalidCommand', '`authority-host` needs `authority-port`', {
      field: 'authority-host',
    });
  }
  const port = portInput('authority-port', authorityPort);
  return { authority: { port, ...(host === undefined ? {} : { host }) } };
}
