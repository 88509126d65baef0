/** An operator, or somebody hostile, with Temporal's own command line; and agents that tell what they were told. */
import { execa } from 'execa';
import { defineAgent, type AgentContext, type AgentDefinition } from '../../src/agent/types.js';
import { workflowIdOf } from '../../src/domain/wire.js';
import type { Baton } from './baton.js';
import { temporalCli } from './server.js';

export interface ToolResult {
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** Milliseconds that the call took, start of the program included. */
  readonly tookMs: number;
}

/** Runs `temporal <args>` on a run; `--address` and `--workflow-id` are added. */
export async function temporalTool(
  baton: Pick<Baton, 'address' | 'tenant'>,
  run: string,
  args: readonly string[],
): Promise<ToolResult> {
  const from = performance.now();
  const { exitCode, stdout, stderr } = await execa(
    await temporalCli(),
    [...args, '--address', baton.address, '--workflow-id', workflowIdOf(baton.tenant, run)],
    { reject: false, timeout: 30_000, env: { TEMPORAL_CONFIG_FILE: '/nonexistent' } },
  );
  return { exitCode, stdout, stderr, tookMs: performance.now() - from };
}

/** Like {@link temporalTool}, for a call that must succeed. */
export async function operate(
  baton: Pick<Baton, 'address' | 'tenant'>,
  run: string,
  args: readonly string[],
): Promise<void> {
  const { exitCode, stderr, stdout } = await temporalTool(baton, run, args);
  if (exitCode !== 0) throw new Error(`temporal ${args.join(' ')}: ${stderr}${stdout}`);
}

/** Activity id of a slot's lease by its epoch. */
export const leaseActivity = (slot: string, epoch: number): string => `work:${slot}:${epoch}`;

export interface Watched {
  readonly ctx: AgentContext;
  /** Why the agent was told to stop, or null. */
  told: unknown;
  /** Ends the agent's work with a result; without it, it works until it is told to stop. */
  finish(result: unknown): void;
}

/** An agent that works until it is told to stop or to finish. `atWork` is the greatest number at once, by slot. */
export function watched(workerClass = 'coder', places = 4) {
  const runs: Watched[] = [];
  const working = new Map<string, number>();
  const seen = { atWork: 0 };
  const agent: AgentDefinition = defineAgent({
    workerClass,
    places,
    run: (ctx) => {
      const key = `${ctx.run}/${ctx.slot}`;
      working.set(key, (working.get(key) ?? 0) + 1);
      seen.atWork = Math.max(seen.atWork, working.get(key) ?? 0);
      return new Promise((resolve, reject) => {
        const end = () => working.set(key, (working.get(key) ?? 1) - 1);
        const entry: Watched = {
          ctx,
          told: null,
          finish: (result) => {
            end();
            resolve(result);
          },
        };
        runs.push(entry);
        ctx.signal.addEventListener('abort', () => {
          entry.told = ctx.signal.reason;
          end();
          reject(new Error('told to stop'));
        });
      });
    },
  });
  return { agent, runs, seen };
}

/** Holds the store's write lock, as a crashed backup would, until released. */
export async function lockStore(baton: Pick<Baton, 'storeUrl'>): Promise<() => void> {
  const { default: Database } = await import('better-sqlite3');
  const database = new Database(baton.storeUrl.slice('sqlite:'.length));
  database.exec('BEGIN IMMEDIATE');
  return () => {
    database.exec('ROLLBACK');
    database.close();
  };
}

/** Ids of the run's pending activities of a type. */
export async function pendingOf(baton: Baton, run: string, type: string): Promise<string[]> {
  const { raw } = await baton.temporal.workflow.getHandle(workflowIdOf(baton.tenant, run)).describe();
  return (raw.pendingActivities ?? [])
    .filter(({ activityType }) => activityType?.name === type)
    .map(({ activityId }) => activityId ?? '');
}
