/** The last lines of the recovery document: what the next worker must do, in one or two sentences. Pure. */
import { bytesOf, code } from './markdown.js';
import type { Handoff, PlanStep } from './types.js';

/** @param maxBytes of the names of steps that are listed one by one */
export function next({ plan: steps, attempts: all, artifacts: saved }: Handoff, maxBytes: number): string {
  const working = all.find((attempt) => attempt.endedAt === null && attempt.worker.status === 'running');
  const done = all.find((attempt) => attempt.worker.status === 'succeeded');
  if (done !== undefined) return `Nothing: attempt #${done.number} succeeded.`;
  const holder =
    working === undefined
      ? ''
      : `Attempt #${working.number} holds a live lease; this is how it stands now.\n\n`;
  if (steps === null) {
    const what =
      saved.length === 0
        ? 'Start from the beginning.'
        : `Build on the ${saved.length} saved artifacts; do the rest.`;
    return holder + what;
  }
  const names = (status: PlanStep['status']): string =>
    listed(
      steps.filter((step) => step.status === status).map((step) => code(step.step)),
      Math.floor(maxBytes / 3),
    );
  const lines = [
    ...(names('done') === '' ? [] : [`Reuse: ${names('done')}.`]),
    ...(names('repeat') === ''
      ? ['Nothing is to be repeated; only the result is missing.']
      : [`Must be repeated: ${names('repeat')}.`]),
    ...(names('ambiguous') === '' ? [] : [`Outcome unknown, ask its owner first: ${names('ambiguous')}.`]),
  ];
  return holder + lines.map((line) => `- ${line}`).join('\n');
}

function listed(names: readonly string[], maxBytes: number): string {
  let size = 0;
  const fitting = names.filter((name) => (size += bytesOf(name) + 2) <= maxBytes);
  const left = names.length - fitting.length;
  return fitting.join(', ') + (left === 0 ? '' : `${fitting.length === 0 ? '' : ' and '}${left} more`);
}
