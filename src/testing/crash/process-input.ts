/** What the explorer's processes are told, and how they are started. */
import { fileURLToPath } from 'node:url';
import { startChild, type Child } from '../../server/processes.js';
import type { AgentPlace } from './agents.js';
import type { CrashCell } from './types.js';

export interface ProcessInput {
  /** `check` loads the agents and ends; `control` and `host` run until they are ended. */
  readonly role: 'check' | 'control' | 'host';
  /** File for the records, see records.ts. */
  readonly records: string;
  readonly agents: readonly AgentPlace[];
  /** Null for `check`. */
  readonly temporal: {
    readonly address: string;
    readonly namespace: string;
    /** The server is the explorer's own: the environment's credentials are for another one. */
    readonly own: boolean;
    readonly storeUrl: string;
    /** One for a host, all of them for the control process. */
    readonly taskQueues: readonly string[];
  } | null;
  /** Where a host kills itself; null for nowhere. */
  readonly kill: Pick<CrashCell, 'point' | 'when'> | null;
}

/** Built, also when the explorer itself is run from source: the processes need no compiler then. */
const FILE = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? '../../../dist/src/testing/crash/process.js' : './process.js',
    import.meta.url,
  ),
);

export function startProcess(
  input: ProcessInput,
  options: { readonly execArgv: readonly string[]; readonly env: NodeJS.ProcessEnv },
): Promise<Child> {
  const args = [...options.execArgv, FILE, JSON.stringify(input)];
  return startChild(process.execPath, args, { name: `crash explorer’s ${input.role}`, env: options.env });
}
