import { expect, test } from 'vitest';
import { defineAgent } from '../../src/agent/types.js';
import { workflowIdOf } from '../../src/domain/wire.js';
import { startBaton } from '../support/baton.js';
import { removeBytes } from '../support/engine.js';
import { documents, spec } from '../support/definitions.js';
import { expectInvariants, expectRefused, stateOf } from '../support/invariants.js';
import { launchDirect, launchNodes, untilSettled } from '../support/steps.js';
import { waitFor } from '../support/wait.js';

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('utf8');

test('S16 a run keeps its pins, byte for byte, whatever is published later', async () => {
  const baton = await startBaton();
  const client = baton.as();
  const first = documents({ a: { launch: [spec({ ttl: '1s' })], prompt: 'Prompt one. ü\n' } });
  const second = documents({
    a: { launch: [spec({ id: 'other', classes: ['poet'], ttl: '1s' })], prompt: 'Prompt two.' },
  });
  await client.publish({ documents: first });
  const run = await client.launch({ package: 'job' });
  const { pins } = await run.show();
  const before = await run.slot('a').claim({ workerClass: 'coder', worker: 'w1' });
  await untilSettled(run);
  await client.publish({ documents: second });
  await expectRefused(baton, run.run, 'NoCompatibleLaunchSpec', () =>
    run.slot('a').reassign({ workerClass: 'poet', reason: 'x' }),
  );
  await run.slot('a').reassign({ workerClass: 'coder', reason: 'x' });
  const after = await run.slot('a').claim({ workerClass: 'coder', worker: 'w2' });
  expect(after.handoff.pins).toEqual(before.handoff.pins);
  expect(after.handoff.pins).toEqual(pins);
  expect(after.handoff.attachments).toEqual(before.handoff.attachments);
  const prompt = after.handoff.attachments[0];
  expect(text(await run.read({ digest: prompt?.digest ?? '' }))).toBe('Prompt one. ü\n');
  await expectInvariants(baton, run.run);

  const next = await client.launch({ package: 'job' });
  expect(next.pins.binding.ref).not.toBe(run.pins.binding.ref);
  const claimed = await next.slot('a').claim({ workerClass: 'poet', worker: 'w3' });
  expect(text(await next.read({ digest: claimed.handoff.attachments[0]?.digest ?? '' }))).toBe('Prompt two.');

  // Revision 1 goes: whoever needs it is told, and nothing falls back to revision 2.
  await untilSettled(run);
  await run.slot('a').reassign({ workerClass: 'coder', reason: 'x' });
  await removeBytes(baton.storeUrl, prompt?.digest ?? '');
  const refused = await run
    .slot('a')
    .claim({ workerClass: 'coder', worker: 'w4' })
    .then(
      () => expect.fail('claimed with damaged pins'),
      (error: unknown) => error as { code: string; message: string },
    );
  expect(refused.code).toBe('PinsDamaged');
  expect(await run.slot('a').show()).toMatchObject({
    state: 'retry-wait',
    gate: 'open',
    counts: { claims: 2 },
  });
  expect(await run.attempts('a')).toHaveLength(2);
  await expectInvariants(baton, run.run);
});

test('S16 a host’s claim on damaged pins is no attempt, shows as a failed claim and does not spin', async () => {
  const baton = await startBaton();
  const run = await launchNodes(baton, {
    a: { launch: [spec({ dispatch: 'queue' })], prompt: 'Gone soon.' },
  });
  const { attachments } = await run.recovery('a');
  await removeBytes(baton.storeUrl, attachments[0]?.digest ?? '');
  let starts = 0;
  await baton.startHost([defineAgent({ workerClass: 'coder', run: async () => void (starts += 1) })]);
  const failure = await waitFor(async () => (await stateOf(baton, run.run)).state.slots['a']?.claimFailure);
  expect(failure).toMatchObject({ code: 'PinsDamaged', times: 1 });
  expect(await run.slot('a').show()).toMatchObject({ state: 'open', counts: { claims: 0 } });
  expect(await run.attempts('a')).toEqual([]);
  expect(starts).toBe(0);
  await expectInvariants(baton, run.run);
});

test('S21 late work is kept: what a lost attempt saved is addressable and handed over', async () => {
  const baton = await startBaton();
  const run = await launchDirect(baton, { ttl: '3s' });
  const slot = run.slot('a');
  const { attempt, lease } = await slot.claim({ workerClass: 'coder', worker: 'machine-1' });
  await slot.save(lease.token, { kind: 'source', name: 'notes', bytes: Buffer.from('half done') });
  await slot.save(lease.token, { kind: 'decision', name: 'plan', bytes: Buffer.from('B') });
  await untilSettled(run);
  await expectRefused(baton, run.run, 'StaleLease', () =>
    slot.save(lease.token, { kind: 'source', name: 'late', bytes: Buffer.from('no') }),
  );
  await slot.reassign({ workerClass: 'coder', reason: 'the machine is gone' });
  const successor = await slot.claim({ workerClass: 'coder', worker: 'machine-2' });
  expect(successor.handoff.artifacts.map(({ attempt: by, kind, name }) => ({ by, kind, name }))).toEqual([
    { by: attempt, kind: 'source', name: 'notes' },
    { by: attempt, kind: 'decision', name: 'plan' },
  ]);
  expect(successor.handoff.attempts).toMatchObject([
    { attempt, worker: { status: 'lost' }, lease: { status: 'expired' } },
  ]);
  const notes = successor.handoff.artifacts[0];
  expect(text(await run.read({ digest: notes?.digest ?? '' }))).toBe('half done');
  await expectInvariants(baton, run.run);
});

test('S25 a command before the first workflow task is carried out, and after a roll-over slots and pins are there', async () => {
  const baton = await startBaton({ control: false });
  const run = await launchDirect(baton, { ttl: '5s' });
  const claim = run.slot('a').claim({ workerClass: 'coder', worker: 'w1' });
  claim.catch(() => undefined);
  await baton.startControl();
  const { lease } = await claim;
  expect((await run.slot('a').complete(lease.token, { result: 1 })).state).toBe('succeeded');

  const rolling = await launchNodes(baton, { a: { launch: [spec({ ttl: '2s' })] } }, { rollOverEvents: 40 });
  const handle = baton.temporal.workflow.getHandle(workflowIdOf(baton.tenant, rolling.run));
  const pins = (await rolling.show()).pins;
  const seen = new Set<string>();
  while (seen.size < 3) {
    seen.add((await handle.describe()).runId);
    // Sent again and again, so that some meet the roll-over itself.
    await rolling.slot('a').hold({ reason: 'roll' });
    await rolling.slot('a').releaseHold({ reason: 'roll' });
  }
  const shown = await rolling.show();
  expect(shown.pins).toEqual(pins);
  expect(shown.slots).toMatchObject([{ slot: 'a', state: 'open' }]);
  expect(await rolling.slot('a').claim({ workerClass: 'coder', worker: 'w1' })).toMatchObject({
    number: 1,
    epoch: 1,
  });
  await expectInvariants(baton, rolling.run);
});
