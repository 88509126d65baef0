/** Judges the agents' work log: who was at work, and what ran twice. Pure. */
import type { WorkLine } from './work-log.js';

/**
 * An agent is at work from its start until it ends, is told to stop, or its process is dead.
 *
 * @returns each moment at which two agents of one slot were at work, an agent that was started twice or worked after its end
 */
export function twoAtWork(lines: readonly WorkLine[]): string[] {
  const problems: string[] = [];
  const started = new Set<string>();
  const atWork = new Map<string, { slot: string; pid: number }>();
  for (const line of lines) {
    if (line.what === 'killed') {
      for (const [attempt, { pid }] of atWork) if (pid === line.pid) atWork.delete(attempt);
      continue;
    }
    const { attempt, slot } = line;
    if (line.what === 'start') {
      if (started.has(attempt)) problems.push(`the agent of ${attempt} was started twice`);
      started.add(attempt);
      for (const [other, { slot: where }] of atWork)
        if (where === slot) problems.push(`${attempt} began while ${other} was at work`);
      atWork.set(attempt, { slot, pid: line.pid });
    } else if (line.what === 'step') {
      if (!atWork.has(attempt)) problems.push(`${attempt} ran step ${line.step} after it was told to stop`);
    } else atWork.delete(attempt);
  }
  return problems;
}

/** Steps of the slot that ran more than once, in the order of their first runs. */
export function repeatedSteps(lines: readonly WorkLine[], slot: string): string[] {
  const runs = lines.flatMap((line) => (line.what === 'step' && line.slot === slot ? [line.step] : []));
  return [...new Set(runs)].filter((step) => runs.filter((run) => run === step).length > 1);
}
