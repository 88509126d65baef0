/**
 * The plan of a node that declares `steps`: what is done and by whom, and what a successor must repeat. Pure.
 *
 * A declared step is *done* when its own result is saved: by `ctx.step` under exactly that name, or, by a holder from
 * outside (a direct claim, which has no `ctx.step`), as an artifact of exactly that name. Steps of an agent named
 * `<step>/…`, `<step>.…` or `<step>:…` are items of a declared step: they are kept and reused one by one, but until the
 * step itself is saved it stays `repeat`, since only its agent knows how many items there are. One that is not done is
 * `ambiguous` while the outcome of an effect is not known that has its name, or that of one of its items: doing it again
 * might do the effect twice.
 */
import { isOpenEffect } from '../domain/effect.js';
import type { ArtifactRow, AttemptRow, EffectRow } from '../store/port.js';
import type { PlanStep } from './types.js';

/**
 * @param steps step names as the node declares them
 * @param artifacts of the slot's earlier attempts, in order of saving
 * @param attempts the slot's earlier attempts
 * @param effects the slot's effects
 */
export function stepPlan(
  steps: readonly string[],
  artifacts: readonly ArtifactRow[],
  attempts: readonly Pick<AttemptRow, 'attempt' | 'commandId'>[],
  effects: readonly Pick<EffectRow, 'name' | 'state'>[],
): readonly PlanStep[] {
  const open = effects.filter(({ state }) => isOpenEffect(state)).map(({ name }) => name);
  const outside = new Set(attempts.filter((row) => row.commandId !== null).map((row) => row.attempt));
  const savedAs = (row: ArtifactRow): string | null =>
    row.step ?? (outside.has(row.attempt) ? row.name : null);
  return steps.map((step): PlanStep => {
    // The newest of a name is what readers take, `ctx.step` too.
    const saved = artifacts.findLast((row) => savedAs(row) === step);
    return {
      step,
      status: saved ? 'done' : open.some((name) => isOf(step, name)) ? 'ambiguous' : 'repeat',
      by: saved?.attempt ?? null,
      revision: saved?.stepRevision ?? null,
    };
  });
}

const isItem = (step: string, name: string): boolean =>
  name.startsWith(step) && /^[/.:]./su.test(name.slice(step.length));
const isOf = (step: string, name: string): boolean => name === step || isItem(step, name);

/** How many items of a declared step are saved (`notes/left-pad` is an item of `notes`). */
export function savedItems(step: string, names: readonly string[]): number {
  return new Set(names.filter((name) => isItem(step, name))).size;
}
