import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildHandoff } from '../../src/agent/handoff.js';
import { savedItems, stepPlan } from '../../src/agent/step-plan.js';
import { canonicalJson, sha256 } from '../../src/store/canonical.js';
import { aBinding, aPackage, aWorkflow, bound } from '../definitions/fixtures.js';
import { testStore, type TestStore } from '../definitions/store.js';
import { handRun, type HandRun } from './run-fixture.js';

let test: TestStore;
let run: HandRun;
beforeEach(async () => {
  test = await testStore();
  run = await handRun(test.store);
});
afterEach(() => test.end());

const handoffOf = (slot: string, before?: number) =>
  buildHandoff(test.store, { tenant: 'acme', run: 'run-1', slot, before });

describe('buildHandoff', () => {
  it('hands a first worker pins, attachments, input and nothing saved', async () => {
    const { handoff, attachments } = await handoffOf('read.a');
    expect(attachments.map(({ text }) => text)).toEqual(['Be brief.']);
    expect(handoff).toEqual({
      pins: (await test.store.runs.get('acme', 'run-1'))?.pins,
      agent: { name: 'agent', revision: '4' },
      attachments: [{ kind: 'prompt', name: 'main', digest: sha256('Be brief.') }],
      input: { topic: 'x' },
      upstream: {},
      attempts: [],
      artifacts: [],
      effects: [],
      plan: null,
    });
  });

  it('gives results of several slots by slot, and absence as null', async () => {
    const a = await run.claim('read.a');
    await run.succeed(a.fence, { found: 1 });
    expect((await handoffOf('notes')).handoff.upstream).toEqual({
      read: { 'read.a': { found: 1 }, 'read.b': null },
    });
    const notes = await run.claim('notes');
    await run.end(notes.fence, 'expired');
    await run.succeed((await run.claim('notes')).fence, 'text');
    const check = await run.claim('check');
    await run.end(check.fence, 'revoked');
    expect((await handoffOf('publish.1')).handoff.upstream).toEqual({ notes: 'text', check: null });
  });

  it('reads the results of many slots as it reads those of few', async () => {
    const slots = Array.from({ length: 9 }, (_, index) => `${index}`);
    const nodes = [
      { node: 'read', slots },
      { node: 'notes', dependsOn: ['read'] },
    ];
    const binding = { ...aBinding(), nodes: { read: bound('x'), notes: bound('x') } };
    const wide = await handRun(test.store, [aPackage, { ...aWorkflow, nodes }, binding], 'wide');
    await wide.succeed((await wide.claim('read.7')).fence, 'seven');
    const { handoff } = await buildHandoff(test.store, { tenant: 'acme', run: 'wide', slot: 'notes' });
    const expected = Object.fromEntries(slots.map((slot) => [`read.${slot}`, slot === '7' ? 'seven' : null]));
    expect(handoff.upstream).toEqual({ read: expected });
  });

  it('refuses an upstream result whose bytes are gone or damaged', async () => {
    await run.succeed((await run.claim('read.a')).fence, { found: 1 });
    const digest = sha256(canonicalJson({ found: 1 }));
    test.damage(`update blobs set bytes = x'00' where digest = ?`, digest);
    await expect(handoffOf('notes')).rejects.toMatchObject({ code: 'ArtifactMismatch' });
    test.damage('delete from blobs where digest = ?', digest);
    await expect(handoffOf('notes')).rejects.toMatchObject({ code: 'ArtifactMissing' });
    expect((await handoffOf('read.b')).handoff.upstream).toEqual({});
  });

  it('lists earlier attempts with their ends, and what a lost one saved, but not the claim handed over (S21)', async () => {
    const first = await run.claim('notes');
    await run.save(first.fence, { name: 'inventory', step: 'inventory' });
    await run.save(first.fence, { name: 'notes/left-pad', step: 'notes/left-pad' });
    await run.save(first.fence, { kind: 'source', name: 'decisions' });
    await run.end(first.fence, 'expired');
    const reassign = {
      reason: 'host lost',
      actor: 'ada',
      at: 5,
      workerClass: 'senior',
      fromSpec: 'fast',
      toSpec: 'senior',
      predecessor: first.ref.attempt,
    };
    const second = await run.claim('notes', { reassign });
    await run.save(second.fence, { name: 'notes', step: 'notes' });

    const { handoff } = await handoffOf('notes', second.ref.epoch);
    expect(handoff.attempts).toMatchObject([
      {
        number: 1,
        epoch: 1,
        worker: { status: 'lost' },
        lease: { status: 'expired' },
        failure: { code: 'LeaseExpired' },
      },
    ]);
    expect(handoff.artifacts.map(({ attempt, kind, name }) => [attempt, kind, name])).toEqual([
      [first.ref.attempt, 'checkpoint', 'inventory'],
      [first.ref.attempt, 'checkpoint', 'notes/left-pad'],
      [first.ref.attempt, 'source', 'decisions'],
    ]);
    expect(handoff.plan).toEqual([
      { step: 'inventory', status: 'done', by: first.ref.attempt, revision: null },
      { step: 'notes', status: 'repeat', by: null, revision: null },
      { step: 'decisions', status: 'repeat', by: null, revision: null },
    ]);

    const recovery = await handoffOf('notes');
    expect(recovery.handoff.attempts[1]).toMatchObject({
      number: 2,
      worker: { status: 'running' },
      reassignedBy: { reason: 'host lost', toSpec: 'senior' },
    });
    expect(recovery.handoff.plan?.[1]).toEqual({
      step: 'notes',
      status: 'done',
      by: second.ref.attempt,
      revision: null,
    });
  });

  it('takes an outside holder’s artifact of the step’s name for the step', async () => {
    const { ref, fence } = await run.claim('notes', { commandId: 'c-1' });
    await run.save(fence, { name: 'inventory' });
    await run.save(fence, { name: 'notes:1' });
    await run.end(fence, 'expired');
    expect((await handoffOf('notes')).handoff.plan?.slice(0, 2)).toEqual([
      { step: 'inventory', status: 'done', by: ref.attempt, revision: null },
      { step: 'notes', status: 'repeat', by: null, revision: null },
    ]);
  });

  it('shows a live lease past its deadline as expired when asked with the time', async () => {
    await run.claim('notes');
    const ask = { now: 50_000, deadline: 40_000 };
    const { handoff } = await buildHandoff(test.store, { tenant: 'acme', run: 'run-1', slot: 'notes', ask });
    expect(handoff.attempts).toMatchObject([
      { worker: { status: 'lost' }, lease: { status: 'expired' }, endedAt: null },
    ]);
  });

  it('refuses unknown runs, foreign tenants and unknown slots', async () => {
    const ask = { tenant: 'acme', run: 'run-1', slot: 'notes' };
    await expect(buildHandoff(test.store, { ...ask, run: 'run-2' })).rejects.toMatchObject({
      code: 'RunNotFound',
    });
    await expect(buildHandoff(test.store, { ...ask, tenant: 'other' })).rejects.toMatchObject({
      code: 'RunNotFound',
    });
    await expect(buildHandoff(test.store, { ...ask, slot: 'read' })).rejects.toMatchObject({
      code: 'SlotNotFound',
    });
  });

  it('refuses damaged pins', async () => {
    test.damage(`delete from blobs where digest = ?`, sha256('Be brief.'));
    await expect(handoffOf('notes')).rejects.toMatchObject({ code: 'PinsDamaged' });
  });
});

describe('step plan', () => {
  it('counts each saved item of a step once, and no step that only begins alike', () => {
    const names = ['notes', 'notes/a', 'notes/a', 'notes.b', 'notes:c', 'notesX', 'notes/', 'other/a'];
    expect(savedItems('notes', names)).toBe(3);
  });

  it('keeps the declared order and is all repeat when nothing is saved', () => {
    expect(stepPlan(['b', 'a'], [], [], [])).toEqual([
      { step: 'b', status: 'repeat', by: null, revision: null },
      { step: 'a', status: 'repeat', by: null, revision: null },
    ]);
  });

  it.each(['intent', 'accepted', 'unresolved'] as const)(
    'is ambiguous where an effect of a step, or of one of its items, is %s and the step not done',
    (state) => {
      const effects = ['pay', 'mail/ada', 'other'].map((name) => ({ name, state }));
      const plan = stepPlan(['pay', 'mail', 'oth', 'rest'], [], [], effects);
      expect(plan.map(({ status }) => status)).toEqual(['ambiguous', 'ambiguous', 'repeat', 'repeat']);
    },
  );

  it.each(['committed', 'rejected', 'absent'] as const)('is plain repeat where it is %s', (state) => {
    expect(stepPlan(['pay'], [], [], [{ name: 'pay', state }])).toMatchObject([{ status: 'repeat' }]);
  });
});
