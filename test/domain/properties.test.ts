/** The invariants of a run, after every step of random histories. */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ENDS } from '../../src/domain/attempt.js';
import { dryRunReassign } from '../../src/domain/reassign.js';
import { isOver } from '../../src/domain/run.js';
import { isTerminalLease, isTerminalWorker, type RunState, type Slot } from '../../src/domain/types.js';
import { waitsFor } from '../../src/domain/waits.js';
import { closesWith, wants } from '../../src/domain/wants.js';
import { somePlan, someStep, type Step } from './arbitraries.js';
import { reassign } from './kit.js';
import { World } from './model.js';

const counted = (world: World, slot: Slot, period: number | null) => {
  const real = world.entries(slot.slot).filter((entry) => entry.end !== 'never-attached');
  const of = (what: 'failures' | 'losses' | 'releases') =>
    real.filter(
      ({ end, period: at }) =>
        end && end !== 'never-attached' && ENDS[end].count === what && (period === null || at === period),
    ).length;
  return { claims: real.length, failures: of('failures'), losses: of('losses'), releases: of('releases') };
};

function holds(world: World, before: RunState): void {
  const { state, now } = world;
  const seen = new Set<string>();
  for (const slot of world.slots) {
    const was = before.slots[slot.slot] as Slot;
    // I1, I2: an active slot has exactly one attempt, no other has any, and no attempt has two slots.
    expect(slot.active !== null).toBe(slot.state === 'active');
    if (slot.active) {
      expect(seen.has(slot.active.attempt)).toBe(false);
      seen.add(slot.active.attempt);
      expect(slot.active.epoch).toBe(slot.epoch);
      if (slot.ending) expect(slot.ending).toMatchObject({ end: 'success', attempt: slot.active });
      // Never a second one beside or instead of one that is not over.
      if (was.active && was.active.attempt !== slot.active.attempt)
        throw new Error('replaced a live attempt');
    }
    // Epochs only grow, and every attempt has a greater one than those before.
    if (was.epoch !== null) expect(slot.epoch).toBeGreaterThanOrEqual(was.epoch);
    const epochs = world.entries(slot.slot).map((entry) => entry.ref.epoch);
    expect(epochs).toEqual([...new Set(epochs)].sort((a, b) => a - b));
    if (slot.active && slot.active.attempt !== was.active?.attempt)
      expect(slot.active.epoch).toBeGreaterThan(was.epoch ?? 0);
    // I6, and what the states promise.
    expect(slot.gate !== null).toBe(slot.state === 'retry-wait');
    if (slot.state === 'retry-wait') {
      expect(slot.prior && isTerminalWorker(slot.prior.status)).toBe(true);
      expect((slot.retryTime !== null) === (slot.gate === 'time')).toBe(true);
    }
    if (slot.prior && !slot.ending) expect(isTerminalLease(slot.prior.leaseStatus)).toBe(true);
    expect(slot.hold !== null).toBe(slot.state === 'on-hold');
    expect(slot.pendingWorker !== null).toBe(slot.state === 'claiming');
    expect(slot.before !== null).toBe(slot.state === 'claiming' || slot.state === 'active');
    expect(slot.result !== null).toBe(slot.state === 'succeeded');
    // Counts are those of the ledger: every attempt once, by the end that stands.
    expect(slot.counts).toEqual(counted(world, slot, null));
    const { failures, losses } = counted(world, slot, world.reassigns.get(slot.slot) ?? 0);
    expect(slot.spent).toEqual({ failures, losses });
    const real = world.entries(slot.slot).filter((entry) => entry.end !== 'never-attached');
    expect(slot.number).toBe(Math.max(0, ...real.map((entry) => entry.ref.number)));
    // What is over stays over.
    if (isOver(was)) expect(slot.state).toBe(was.state);
    expect(waitsFor(state, slot) === null).toBe(isOver(slot) && !slot.ending);
  }
  if (before.status !== 'running') expect(state.status).toBe(before.status);
  asks(state, now);
}

/** What the run wants of the world fits its state. */
function asks(state: RunState, now: number): void {
  const { offers, leases, settles, finished, deadline } = wants(state, now);
  const slots = Object.values(state.slots);
  expect([...leases.keys()]).toEqual(
    slots.flatMap((slot) => (slot.active && !slot.ending ? [slot.active.attempt] : [])),
  );
  expect([...settles.keys()]).toEqual(slots.filter((slot) => slot.ending).map((slot) => slot.slot));
  for (const name of offers.keys()) {
    const slot = state.slots[name] as Slot;
    expect(slot.ending === null && (slot.state === 'open' || slot.state === 'retry-wait')).toBe(true);
    if (slot.gate === 'time') expect(slot.retryTime).toBeLessThanOrEqual(now);
    expect(slot.gate).not.toBe('reassign');
  }
  if (deadline !== null) expect(Number.isInteger(deadline)).toBe(true);
  const closes = slots.map((slot) => closesWith(state, slot, now)).filter((status) => status !== null);
  if (closes.length > 0) expect(settles.size).toBe(1);
  if (state.status === 'running') {
    expect(finished).toBe(false);
    // Never stuck: something other than blocked slots is left.
    expect(slots.some((slot) => !isOver(slot) && slot.state !== 'blocked')).toBe(true);
    return;
  }
  expect(offers.size).toBe(0);
  expect(leases.size).toBe(0);
  expect(finished).toBe(settles.size === 0);
}

/** Right after a reassign: nobody works, nothing was begun, and nothing is counted but the budgets anew. */
function reopened(before: Slot, after: Slot): void {
  expect(after).toMatchObject({
    state: 'retry-wait',
    gate: 'open',
    active: null,
    pendingWorker: null,
    ending: null,
  });
  const { counts, epoch, number, prior, slot, node, failure } = before;
  expect(after).toMatchObject({
    counts,
    epoch,
    number,
    prior,
    slot,
    node,
    failure,
    spent: { failures: 0, losses: 0 },
  });
  expect(prior && isTerminalWorker(prior.status) && isTerminalLease(prior.leaseStatus)).toBe(true);
}

function walk(world: World, steps: readonly Step[]): void {
  world.lossless = (state, carried) => {
    if (!isDeepStrictEqual(carried, state)) expect(carried).toStrictEqual(state);
  };
  for (const step of steps) {
    const before = world.state;
    const given = world.step(step);
    if (given) {
      const { command, refused } = given;
      if (command.name === 'reassign') {
        if (!refused) reopened(before.slots[command.slot] as Slot, world.state.slots[command.slot] as Slot);
        else dryRunReassign(world.state, command, world.now);
      }
    }
    // Most random steps are not possible and change nothing.
    if (world.state !== before) holds(world, before);
  }
}

/** Helps the run to its end, as patient operators and workers would. Throws when that is not possible. */
function finish(world: World): void {
  for (let rounds = 0; rounds < 60; rounds += 1) {
    if (wants(world.state, world.now).finished) return;
    for (const { slot: name } of world.slots) {
      const current = () => world.state.slots[name] as Slot;
      const signed = {
        tenant: 'acme',
        run: 'r1',
        slot: name,
        actor: current().prior?.ownerActor ?? 'ada',
        commandId: 'f',
      };
      world.deliver(name);
      world.settle(current(), null);
      if (current().state === 'on-hold') world.give({ name: 'releaseHold', ...signed, reason: 'go' });
      if (current().gate === 'reassign') world.give(reassign({ ...signed, workerClass: 'human' }));
      for (const spec of ['one', 'two'])
        world.give({ name: 'claim', ...signed, workerClass: 'human', worker: 'w', spec });
      world.take(name);
      world.deliver(name);
      world.end(current(), 'success');
      world.settle(current(), null);
    }
    world.pass(300_000);
  }
  throw new Error(`the run does not end: ${JSON.stringify(world.state, null, 1)}`);
}

test('the invariants hold after every step, and every run can still be brought to its end', () => {
  let closed = 0;
  let reassigned = 0;
  fc.assert(
    fc.property(somePlan, fc.array(someStep, { minLength: 60, maxLength: 120 }), (plan, steps) => {
      const world = new World(plan);
      walk(world, steps);
      if (world.state.status !== 'running') closed += 1;
      reassigned += world.reassigns.size;
      const before = world.state;
      finish(world);
      holds(world, before);
      expect(world.slots.every(isOver)).toBe(true);
      expect(world.slots.every((slot) => slot.ending === null)).toBe(true);
    }),
    { numRuns: Number(process.env['BATON_PROPERTY_RUNS'] ?? 100) },
  );
  // The histories reach what they are to test.
  expect(closed).toBeGreaterThan(3);
  expect(reassigned).toBeGreaterThan(3);
});
