/** The last lines of the recovery document: what the next worker must do, in one or two sentences. Pure. */
import { bytesOf, code } from './markdown.js';
import { effectLabel, isOpenEffect } from '../domain/effect.js';
import type { Handoff, PlanStep } from './types.js';

/** @param maxBytes of the names of steps that are listed one by one */
export function next(handoff: Handoff, maxBytes: number): string {
  const { plan: steps, attempts: all, artifacts: saved } = handoff;
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
    const effects = askFirst(handoff, maxBytes);
    return holder + (effects === null ? what : `${effects}\n\n${what}`);
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
    ...(names('ambiguous') === '' ? [] : [`Ambiguous until its effects are settled: ${names('ambiguous')}.`]),
    ...[askFirst(handoff, maxBytes)].filter((line) => line !== null),
  ];
  return holder + lines.map((line) => `- ${line}`).join('\n');
}

function askFirst({ effects }: Handoff, maxBytes: number): string | null {
  const open = effects.filter(({ state }) => isOpenEffect(state)).map((effect) => code(effectLabel(effect)));
  if (open.length === 0) return null;
  return `Outcome not known, ask the owner first: ${listed(open, Math.floor(maxBytes / 3))}.`;
}

function listed(names: readonly string[], maxBytes: number): string {
  let size = 0;
  const fitting = names.filter((name) => (size += bytesOf(name) + 2) <= maxBytes);
  const left = names.length - fitting.length;
  return fitting.join(', ') + (left === 0 ? '' : `${fitting.length === 0 ? '' : ' and '}${left} more`);
}
