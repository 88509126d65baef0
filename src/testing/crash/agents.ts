/** In a host process: loads the user's agents, and sees when their steps are run. */
import type { AgentContext, AgentDefinition } from '../../agent/types.js';
import { BatonError } from '../../domain/errors.js';

/** An agent's place, as it is given to the processes: an absolute file URL, and the export or null. */
export interface AgentPlace {
  readonly url: string;
  readonly export: string | null;
}

/** @throws BatonError `InvalidCommand` for a module that does not load or exports no agent, or for two agents of one class */
export async function loadAgents(places: readonly AgentPlace[]): Promise<readonly AgentDefinition[]> {
  const agents: AgentDefinition[] = [];
  for (const place of places) {
    const agent = await loadAgent(place);
    if (agents.some(({ workerClass }) => workerClass === agent.workerClass))
      throw BatonError.of('InvalidCommand', 'two agents have one worker class', {
        field: 'agents',
        workerClass: agent.workerClass,
      });
    agents.push(agent);
  }
  return agents;
}

async function loadAgent({ url, export: name }: AgentPlace): Promise<AgentDefinition> {
  const facts = { field: 'agent', module: url };
  let exported: Record<string, unknown>;
  try {
    exported = (await import(url)) as Record<string, unknown>;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const typescript = /\.[cm]?tsx?$/.test(url)
      ? '; a TypeScript module needs a loader: give `execArgv`, for example `--import tsx`'
      : '';
    throw BatonError.of('InvalidCommand', `the agent’s module does not load: ${why}${typescript}`, facts);
  }
  const found = Object.entries(exported).filter(([, value]) => isAgent(value));
  const names = Object.keys(exported).join(', ') || 'nothing';
  if (name !== null) {
    const agent = exported[name];
    if (isAgent(agent)) return agent;
    const what = `the module’s export ${name} is no agent (an object with \`workerClass\` and \`run\`); it exports ${names}`;
    throw BatonError.of('InvalidCommand', what, { ...facts, field: 'export' });
  }
  const [only] = found;
  const agent = found.find(([key]) => key === 'default') ?? (found.length === 1 ? only : undefined);
  if (agent) return agent[1] as AgentDefinition;
  const what =
    found.length === 0
      ? `the module exports no agent (an object with \`workerClass\` and \`run\`); it exports ${names}`
      : `the module exports several agents (${found.map(([key]) => key).join(', ')}); name one with \`export\``;
  throw BatonError.of('InvalidCommand', what, facts);
}

function isAgent(value: unknown): value is AgentDefinition {
  if (typeof value !== 'object' || value === null) return false;
  const { workerClass, run } = value as Partial<Record<keyof AgentDefinition, unknown>>;
  return typeof workerClass === 'string' && typeof run === 'function';
}

/** The same agent; `onStep` is called whenever a step's function is really run. */
export function observed(
  agent: AgentDefinition,
  onStep: (slot: string, step: string) => void,
): AgentDefinition {
  const { workerClass, name, places } = agent;
  return {
    workerClass,
    ...(name === undefined ? {} : { name }),
    ...(places === undefined ? {} : { places }),
    run: (ctx) => agent.run(watched(ctx, onStep)),
  };
}

const watched = (ctx: AgentContext, onStep: (slot: string, step: string) => void): AgentContext => ({
  ...ctx,
  step: <T>(name: string, fn: () => Promise<T> | T) =>
    ctx.step(name, () => {
      onStep(ctx.slot, name);
      return fn();
    }),
});
