/** The explorer's options, checked, with their defaults. */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { BatonError } from '../../domain/errors.js';
import type { AgentPlace } from './agents.js';
import type { AgentModule, ExploreOptions } from './types.js';

export interface Settings {
  readonly agents: readonly AgentPlace[];
  readonly ttlMs: number;
  readonly parallel: number;
  readonly timeoutMs: number;
  /** How hosts are started. */
  readonly host: { readonly execArgv: readonly string[]; readonly env: NodeJS.ProcessEnv };
  readonly say: (message: string) => void;
}

/** Longest wait that Node's timers take. */
const MAX_MS = 2 ** 31 - 1;

/** @throws BatonError `InvalidCommand` naming the field */
export function settingsOf(options: ExploreOptions): Settings {
  const { agent, agents, execArgv = loaderOptions(process.execArgv), env } = options;
  const given = [...(agent === undefined ? [] : [agent]), ...(agents ?? [])];
  if (given.length === 0)
    throw BatonError.of('InvalidCommand', 'give the module of an agent: `agent` or `agents`', {
      field: 'agent',
    });
  if (typeof options.package !== 'string' || options.package === '')
    throw BatonError.of('InvalidCommand', 'give the package that is launched', { field: 'package' });
  return {
    agents: given.map(placeOf),
    ttlMs: whole('ttlMs', options.ttlMs ?? 2_000, 1_000, MAX_MS),
    parallel: whole('parallel', options.parallel ?? 2, 1, 32),
    timeoutMs: whole('timeoutMs', options.timeoutMs ?? 60_000, 1_000, MAX_MS),
    host: { execArgv, env: { ...process.env, ...env } },
    say: options.onProgress ?? (() => undefined),
  };
}

function placeOf(given: AgentModule | string | URL): AgentPlace {
  const place: AgentModule = typeof given === 'string' || given instanceof URL ? { module: given } : given;
  const { module, export: name = null } = place;
  // A likely slip, which types do not catch in plain JavaScript.
  if (typeof module !== 'string' && !(module instanceof URL)) {
    const what =
      'an agent is given as the path or URL of a module that exports it, not as itself: its hosts are processes of their own';
    throw BatonError.of('InvalidCommand', what, { field: 'agent' });
  }
  const text = String(module);
  const url = text.startsWith('file:') ? text : pathToFileURL(path.resolve(text)).href;
  return { url, export: name };
}

function whole(field: string, value: number, min: number, max: number): number {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return value;
  throw BatonError.of('InvalidCommand', `\`${field}\` must be a whole number from ${min} to ${max}`, {
    field,
    value,
  });
}

const WITH_VALUE = ['--import', '--require', '-r', '--loader', '--experimental-loader', '--conditions', '-C'];

/** A test that was itself started with a loader finds its agents loaded by it too; a debugger's port is not for two. */
function loaderOptions(execArgv: readonly string[]): readonly string[] {
  return execArgv.flatMap((option, index) => {
    if (WITH_VALUE.includes(option)) return [option, execArgv[index + 1] ?? ''];
    const [name = ''] = option.split('=');
    const wanted = option.includes('=') && WITH_VALUE.includes(name);
    return wanted || name === '--experimental-strip-types' ? [option] : [];
  });
}
