/** All combinations of the reassign matrix on the pure domain. */
import { parseCommand } from '../../src/domain/commands.js';
import { check, obey } from '../../src/domain/decide.js';
import type { RunState, Slot } from '../../src/domain/types.js';
import { AT, commandOf, SLOT, stateOf } from './craft.js';
import { expected, verdictText, type Verdict } from './expected.js';
import { everyCombination, worded, type Combination, type Factor } from './factors.js';

export interface DomainVerdicts {
  readonly combinations: number;
  readonly accepted: number;
  /** Combinations whose verdict is another than expected, or that changed what they must not; the first 20 in words. */
  readonly wrong: number;
  readonly examples: readonly string[];
}

/** @param table what is expected; default the table of this folder */
export function judgeDomain(table: (combination: Combination) => Verdict = expected): DomainVerdicts {
  const examples: string[] = [];
  let combinations = 0;
  let accepted = 0;
  let wrong = 0;
  for (const combination of everyCombination()) {
    combinations += 1;
    const want = table(combination);
    const problem = problemOf(combination, want);
    if ('accepted' in want) accepted += 1;
    if (problem === null) continue;
    wrong += 1;
    if (examples.length < 20) examples.push(`${worded(combination)}: ${problem}`);
  }
  return { combinations, accepted, wrong, examples };
}

function problemOf(combination: Combination, want: Verdict): string | null {
  const state = frozenState(combination);
  const parsed = parsedCommand(combination);
  const refused = parsed.ok ? check(state, parsed.command, AT) : parsed.refusal;
  if ('refused' in want)
    return refused?.code === want.refused ? null : `${refused?.code ?? 'accepted'}, expected ${want.refused}`;
  if (refused || !parsed.ok) return `${refused?.code}, expected ${verdictText(want)}`;
  return changedTooMuch(state, obey(state, parsed.command, AT), want.accepted);
}

/** Shared between combinations, and frozen: a judgement that changes what it judges throws. */
const frozenState = shared(['run', 'slot', 'worker', 'lease', 'owner'], (combination) =>
  deepFreeze(stateOf(combination)),
);
const parsedCommand = shared(['tenant', 'run', 'slot', 'reason', 'workerClass'], (combination) =>
  parseCommand('reassign', commandOf(combination)),
);

function shared<T>(by: readonly Factor[], make: (combination: Combination) => T): (of: Combination) => T {
  const made = new Map<string, T>();
  return (combination) => {
    const key = by.map((factor) => combination[factor]).join();
    const known = made.get(key) ?? make(combination);
    made.set(key, known);
    return known;
  };
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}

/** What an accepted reassign leaves: the specification and the gate are new, and nothing that a claim would make. */
export function changedTooMuch(before: RunState, after: RunState, spec: string): string | null {
  const from = before.slots[SLOT] as Slot;
  const to = after.slots[SLOT] as Slot;
  if (to.spec !== spec) return `selected ${to.spec}, expected ${spec}`;
  if (to.state !== 'retry-wait' || to.gate !== 'open' || to.retryTime !== null)
    return 'the slot was not reopened';
  if (to.active !== null || to.pendingWorker !== null) return 'a worker came into being';
  const keeps = ['slot', 'node', 'prior', 'epoch', 'number', 'counts', 'ending'] as const;
  const lost = keeps.filter((field) => JSON.stringify(from[field]) !== JSON.stringify(to[field]));
  return lost.length > 0 ? `changed ${lost.join(', ')}` : null;
}
