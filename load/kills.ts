/** SIGKILLs hosts that are at work, spread over the load, and puts a new host in the place of each. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Child } from '../src/server/processes.js';
import { readWork, writeWork, type WorkLine } from '../faults/work-log.js';

export interface Kill {
  readonly pid: number;
  /** Epoch milliseconds, right before the signal. */
  readonly at: number;
  /** Attempts whose agents were in the middle of their steps. */
  readonly attempts: readonly string[];
}

export interface KillsOptions {
  readonly kills: number;
  /** Attempts that will have ended when all is done: the kills come at even parts of them. */
  readonly attempts: number;
  readonly workLog: string;
  readonly hosts: Set<Child>;
  readonly startHost: () => Promise<Child>;
  /** All runs have ended. */
  readonly over: AbortSignal;
  readonly onKill: (kill: Kill) => void;
}

const LOOK_MS = 100;

/** Ends when the last host was killed or `over` fires. A kill that found no host at work is not made up for: it is missing in the count. */
export async function killHosts(options: KillsOptions): Promise<void> {
  const { kills, attempts, workLog, hosts, over } = options;
  for (let done = 0; done < kills && !over.aborted;) {
    await sleep(LOOK_MS);
    const lines = readWork(workLog);
    const ended = lines.filter(({ what }) => what === 'end').length;
    if (ended < ((done + 1) * attempts) / (kills + 1)) continue;
    for (const host of hosts) {
      // Not the first of the set each time, and only where there is something to lose.
      if (atWork(lines, host.pid).length === 0) continue;
      const kill = await tryKill(host, workLog);
      if (kill === null) continue;
      hosts.delete(host);
      options.onKill(kill);
      done += 1;
      hosts.add(await options.startHost());
      break;
    }
  }
}

/** Stopped first: what its agents have done cannot change between the look and the kill. */
async function tryKill(host: Child, workLog: string): Promise<Kill | null> {
  host.kill('SIGSTOP');
  const attempts = atWork(readWork(workLog), host.pid);
  if (attempts.length === 0) {
    host.kill('SIGCONT');
    return null;
  }
  const at = Date.now();
  host.kill('SIGKILL');
  await host.exited;
  writeWork(workLog, { what: 'killed' }, host.pid);
  return { pid: host.pid, at, attempts };
}

/** Attempts of the process that have begun their second step, so that there is a saved one to take over, and not ended. */
function atWork(lines: readonly WorkLine[], pid: number): string[] {
  const steps = new Map<string, number>();
  for (const line of lines) {
    if (line.pid !== pid || line.what === 'killed') continue;
    if (line.what === 'start') steps.set(line.attempt, 0);
    else if (line.what === 'step') steps.set(line.attempt, (steps.get(line.attempt) ?? 0) + 1);
    else steps.delete(line.attempt);
  }
  return [...steps].flatMap(([attempt, begun]) => (begun >= 2 ? [attempt] : []));
}
