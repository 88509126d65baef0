/**
 * The agent of the remote job: starts it, polls it, and has it stopped when the slot or its run is cancelled. What happens to
 * the job when the agent dies is nothing: it runs on, and the successor polls the same one.
 */
import { defineAgent, type AgentContext, type AgentDefinition } from '../../src/agent/types.js';
import { BatonError, httpOwner, type OwnerCall } from '../../src/effects/index.js';
import type { Json } from '../../src/store/port.js';

const POLL_MS = 100;

/** @returns an agent for hosts of that worker class */
export function jobAgent(workerClass: string, name?: string): AgentDefinition {
  return defineAgent({
    workerClass,
    ...(name === undefined ? {} : { name }),
    run: count,
  });
}

async function count(ctx: AgentContext): Promise<unknown> {
  const { below, service } = inputOf(ctx.input);
  const jobs = httpOwner(`${service}/jobs`);
  // The call that the job was started or found by: what its withdrawal needs.
  let known: OwnerCall | undefined;
  const remember = <A extends OwnerCall, T>(ask: (call: A) => Promise<T>): ((call: A) => Promise<T>) => {
    return (call) => {
      known = call;
      return ask(call);
    };
  };
  try {
    return await ctx.effect('count', {
      request: { below },
      perform: remember(jobs.perform),
      lookup: remember(jobs.lookup),
      poll: remember(jobs.poll),
      pollMs: POLL_MS,
    });
  } catch (error) {
    // The job service may have heard of the lease's end before this host has.
    const over = ctx.signal.aborted || (error instanceof BatonError && error.code === 'StaleLease');
    if (over && known) await withdraw(jobs, known);
    throw error;
  }
}

/**
 * The lease is over, for one of several reasons, and the owner asks which: when the slot or its run was cancelled, nobody comes
 * after this attempt and the job is stopped; when the attempt was lost, released or revoked, the job is the successor's, and
 * the answer is `StaleLease`.
 */
async function withdraw(jobs: ReturnType<typeof httpOwner>, call: OwnerCall): Promise<void> {
  try {
    const { state } = await jobs.withdraw(call);
    console.log(JSON.stringify({ withdrawn: state }));
  } catch (error) {
    const code = error instanceof BatonError ? error.code : String(error);
    console.log(JSON.stringify({ left: code }));
  }
}

function inputOf(input: Json): { below: number; service: string } {
  const { below, service } = (input ?? {}) as { below?: unknown; service?: unknown };
  if (typeof below === 'number' && typeof service === 'string') return { below, service };
  throw new Error('the run\'s input needs {"below": 1000000, "service": "http://127.0.0.1:7400"}');
}
