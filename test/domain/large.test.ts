/**
 * Work for each change of a large run: in proportion to its slots, never to their square. Looks at the plan are counted,
 * since times say nothing on a machine that has other work.
 */
import { describe, expect, test } from 'vitest';
import { observe } from '../../src/domain/decide.js';
import { createRun, endRun } from '../../src/domain/run.js';
import type { PlanNode, RunState } from '../../src/domain/types.js';
import { waitingList, waitsFor } from '../../src/domain/waits.js';
import { closesWith, wants } from '../../src/domain/wants.js';
import { accept, attempt, node, NOW, pins, spec, steer, verdict } from './kit.js';

const launch = [spec('one', { dispatch: 'queue' })];
const names = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`);

/** Shapes of `count` slots; each is quadratic for a rule that looks at all pairs of its kind. */
const SHAPES: Readonly<Record<string, (count: number) => PlanNode[]>> = {
  'a node for each slot': (count) => names(count).map((name) => node(name, { launch })),
  'one node of all slots': (count) => [node('n', { slots: names(count), launch })],
  'half of the slots wait for one node of the other half': (count) => [
    node('first', { slots: names(count / 2), launch }),
    ...names(count / 2).map((name) => node(`after-${name}`, { dependsOn: ['first'], launch })),
  ],
  'a chain': (count) =>
    names(count).map((name, index) => node(name, { launch, dependsOn: index > 0 ? [`n${index - 1}`] : [] })),
};

/** Looks at lists of the plan for an attempt from claim to record, with all that the run does after each change. */
function looksFor(nodes: PlanNode[]): number {
  let looks = 0;
  const counted = <T extends object>(list: T): T =>
    new Proxy(list, {
      get: (target, key, receiver) => {
        looks += 1;
        return Reflect.get(target, key, receiver) as unknown;
      },
    });
  const plan = { nodes: counted(nodes.map((one) => ({ ...one, slots: counted(one.slots) }))) };
  let state: RunState = createRun({ tenant: 'acme', run: 'r1', pins, plan }, NOW);
  const after = () => {
    wants(state, NOW, 200);
    waitingList(state, { commands: true });
    for (const slot of Object.values(state.slots)) waitsFor(state, slot);
  };
  // What is made once for a plan is not work for each change.
  after();
  looks = 0;
  const slot = Object.keys(state.slots)[0] as string;
  const about = { slot, attempt: 'att-1' };
  state = observe(state, { kind: 'claimed', slot, attempt: attempt(1) }, NOW);
  after();
  const end = { end: 'success', staged: 's', failure: null } as const;
  state = observe(state, { kind: 'attempt-ended', ...about, ...end }, NOW);
  closesWith(state, state.slots[slot]!, NOW);
  after();
  state = observe(state, { kind: 'settled', ...about, settled: verdict('success', null, 'sha256:x') }, NOW);
  after();
  const other = Object.values(state.slots).find((one) => one.state === 'open');
  if (other) state = accept(state, steer('cancelSlot', other.slot));
  after();
  endRun(state, 'cancelled', NOW);
  return looks;
}

describe('one attempt of a large run', () => {
  test.each(Object.entries(SHAPES))(
    '%s: four times the slots need about four times the looks',
    (_what, shape) => {
      const [small, large] = [looksFor(shape(250)), looksFor(shape(1_000))];
      expect(large).toBeLessThan(6 * small);
    },
  );
});
