/** How runs travel: nothing is lost on the way, and the largest run still fits. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { packPlan, unpackPlan } from '../../src/domain/pack-plan.js';
import {
  carry,
  MAX_CARRIED_BYTES,
  packState,
  readView,
  unpackState,
  viewOf,
  type PackedState,
} from '../../src/domain/pack.js';
import { createRun } from '../../src/domain/run.js';
import type { RunPlan, RunState, Slot } from '../../src/domain/types.js';
import type { RememberedCommand, RunInput } from '../../src/domain/wire.js';
import { somePlan, someStep } from './arbitraries.js';
import { accept, attempt, craft, node, NOW, pins, prior, reassign, round, spec, start } from './kit.js';
import { World } from './model.js';

const json = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
const size = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
const carriedOver = (state: RunState): RunState => unpackState(json(packState(state)), state);

test('a plan is the same after packing, whatever its slots are called', () => {
  const plan = {
    nodes: [
      node('a'),
      node('b', { slots: ['b.1', 'b.2', 'b.3'], dependsOn: ['a'], optional: true, steps: ['s'] }),
      node('c', { slots: ['c.x', 'c.1'], attachments: [{ kind: 'prompt', name: 'p', digest: 'd' }] }),
      node('d', { slots: ['d.1'], launch: [spec('other')] }),
    ],
  };
  expect(unpackPlan(json(packPlan(plan)))).toEqual(plan);
  expect(unpackPlan(plan)).toBe(plan);
});

test('a run is the same after packing, after every step of random histories', () => {
  fc.assert(
    fc.property(somePlan, fc.array(someStep, { maxLength: 40 }), (plan, steps) => {
      const world = new World(plan);
      expect(unpackPlan(json(packPlan(plan)))).toEqual(plan);
      for (const step of steps) {
        world.step(step);
        expect(carriedOver(world.state)).toEqual(world.state);
        expect(Object.keys(carriedOver(world.state).slots)).toEqual(Object.keys(world.state.slots));
      }
    }),
    { numRuns: 200 },
  );
});

test('a run that an earlier version carries whole is read as it is', () => {
  const state = round(start(), 1, 'expired');
  expect(unpackState(json(state), state)).toEqual(state);
});

test('what the run carries does not grow with the attempts of its slots', () => {
  let state = start(node('a', { launch: [spec('one')] }));
  const sizes: number[] = [];
  for (let number = 1; number <= 200; number += 1) {
    state = round(state, number, 'released');
    sizes.push(size(packState(state)));
  }
  expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThan(50);
});

describe('the largest run', () => {
  const names = Array.from({ length: 2_000 }, (_, index) => `node-number-${index + 1}`);
  const plan: RunPlan = { nodes: names.map((name) => node(name)) };
  const fresh = createRun({ tenant: 'acme', run: 'r1', pins, plan }, NOW);
  const every = (change: (slot: Slot, index: number) => Partial<Slot>): RunState => {
    const slots = Object.entries(fresh.slots).map(([name, slot], index) => [
      name,
      { ...slot, ...change(slot, index) },
    ]);
    return { ...fresh, slots: Object.fromEntries(slots) as RunState['slots'] };
  };
  const long = 'ä'.repeat(4_000);
  const id = '0b0a1c9e-6c1e-4a38-9d0b-7a4b5f3c2d1e';
  const commands = Array.from({ length: 500 }, (_, index): RememberedCommand => {
    const answered = { slot: 'a', state: 'active', gate: null, retryTime: null, spec: 'one' } as const;
    const answer = { commandId: `${id}${index}`, ...answered, attempt: attempt(1, { attempt: id }) };
    return { commandId: `${id}${index}`, digest: pins.package.digest, answer };
  });
  const input: RunInput = {
    ...{ tenant: 'acme', run: 'r1', pins, taskQueue: 'baton', searchAttributes: [], rollOverEvents: null },
    plan: packPlan(plan),
    carried: null,
  };
  const rest = { commands, previous: null, deadlines: {}, voids: [] };
  const active = every((slot, index) => {
    if (index >= 1_000) return { number: 1, epoch: 1, state: 'succeeded', prior: prior(), result: id };
    const { gate, retryTime, spec: selected, workerClass, reassign: none, number, counts, spent } = slot;
    const before = { state: 'open', gate, retryTime, spec: selected, workerClass, number, counts } as const;
    const ref = attempt(1, { attempt: id, lease: id, hostQueue: `baton/host/${id}` });
    const was = { ...before, reassign: none, spent, prior: null, failure: null };
    return { state: 'active', active: ref, before: was, epoch: 1, number: 1 };
  });
  const failed = every(() => ({
    state: 'retry-wait',
    gate: 'reassign',
    prior: prior({ attempt: id }),
    failure: { code: 'AgentError', message: long },
  }));

  test.each([
    ['that nobody has touched', fresh],
    ['of which half is active', active],
    ['in which every slot failed at length', failed],
    [
      'in which every slot is reassigned at length too',
      every(() => ({
        ...failed.slots['node-number-1'],
        reassign: { ...accept(waitingOne(), reassign()).slots['a']!.reassign!, reason: long },
      })),
    ],
  ])('fits, %s', (_what, state) => {
    const next = carry(input, state, rest);
    expect(size(next)).toBeLessThanOrEqual(MAX_CARRIED_BYTES);
    expect(next.carried?.commands.length).toBeGreaterThanOrEqual(50);
    // The newest stay.
    expect(next.carried?.commands.at(-1)).toEqual(commands.at(-1));
    const back = unpackState(json(next.carried?.state as PackedState), {
      ...state,
      plan: unpackPlan(input.plan),
    });
    expect(Object.keys(back.slots)).toEqual(names);
    const view = json(viewOf({ state, leases: {}, rollingOver: false }));
    expect(size(view)).toBeLessThanOrEqual(MAX_CARRIED_BYTES);
    expect(Object.keys(readView(view).state.slots)).toEqual(names);
  });

  test('loses nothing while it fits', () => {
    const next = carry(input, active, { ...rest, commands: commands.slice(0, 10) });
    expect(unpackState(json(next.carried?.state as PackedState), { ...active, plan })).toEqual(active);
    expect(readView(json(viewOf({ state: active, leases: {}, rollingOver: true })))).toEqual({
      state: active,
      leases: {},
      rollingOver: true,
    });
  });

  test('an end that is not recorded keeps its words while failures are cut', () => {
    const ending = { code: 'Revoked', message: long };
    const one = craft(
      failed,
      {
        ending: {
          attempt: attempt(1),
          end: 'revoked',
          failure: ending,
          staged: null,
          endedAt: NOW,
          undo: { ...fresh.slots['node-number-1']!, prior: null, reassign: null },
          before: { ...fresh.slots['node-number-1']!, state: 'open', prior: null },
        },
      },
      'node-number-1',
    );
    const { carried } = carry(input, one, { ...rest, commands: [] });
    const slots = (carried?.state as PackedState).slots;
    expect(slots[0]?.ending?.failure).toEqual(ending);
    expect(slots[0]?.failure?.message).toBe(`${'ä'.repeat(60)}…`);
  });
});

function waitingOne(): RunState {
  return craft(start(), { state: 'retry-wait', gate: 'reassign', prior: prior() });
}
