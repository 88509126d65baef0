/** S15: other tenants. What a tenant does not own does not exist for it, and every answer says the same. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { type WorkflowUpdateFailedError } from '@temporalio/client';
import type { ApplicationFailure } from '@temporalio/common';
import { afterEach, expect, test } from 'vitest';
import type { RunHandle } from '../../src/client/run-handle.js';
import { UPDATES, workflowIdOf } from '../../src/domain/wire.js';
import { batonJson, type ErrorJson } from '../cli/cli.js';
import { startBaton, type Baton } from '../support/baton.js';
import { documents, spec } from '../support/definitions.js';
import { expectInvariants, expectRefused, stateOf } from '../support/invariants.js';
import { launchDirect, launchNodes } from '../support/steps.js';

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

/** Everything that a caller can do with a run and a lease token. */
function everything(
  run: RunHandle,
  lease: string,
  digest = 'd'.repeat(64),
): Readonly<Record<string, () => Promise<unknown>>> {
  const slot = run.slot('a');
  const reason = { reason: 'mine now' };
  return {
    claim: () => slot.claim({ workerClass: 'coder', worker: 'w' }),
    reassign: () => slot.reassign({ workerClass: 'coder', ...reason }),
    hold: () => slot.hold(reason),
    releaseHold: () => slot.releaseHold(reason),
    revoke: () => slot.revoke(reason),
    cancelSlot: () => slot.cancel(reason),
    cancelRun: () => run.cancel(reason),
    resolveEffect: () => slot.resolveEffect({ name: 'pay', outcome: 'absent', ...reason }),
    heartbeat: () => slot.heartbeat(lease),
    save: () => slot.save(lease, { kind: 'source', name: 'x', bytes: Buffer.from('x') }),
    complete: () => slot.complete(lease, { result: 1 }),
    fail: () => slot.fail(lease, { code: 'X', message: 'x' }),
    release: () => slot.release(lease, reason),
    dryRun: () => slot.dryRunReassign({ workerClass: 'coder', ...reason }),
    show: () => run.show(),
    showSlot: () => slot.show(),
    attempts: () => run.attempts(),
    attemptsOfSlot: () => slot.attempts(),
    artifacts: () => run.artifacts(),
    artifactsOfSlot: () => slot.artifacts(),
    effects: () => run.effects(),
    effectsOfSlot: () => slot.effects(),
    artifactRows: () => run.artifactRows(),
    read: () => run.read({ digest }),
    readStream: () => run.readStream({ digest }),
    recovery: () => run.recovery('a'),
    recoveryOfSlot: () => slot.recovery(),
    recoveryRead: () => run.recoveryRead('a'),
    recoveryMarkdown: () => run.recoveryMarkdown('a'),
    audit: () => run.audit(),
    result: () => run.result(),
  };
}

/** The refusal with the run's name taken out: what is left must be the same for every run. */
async function answerOf(act: () => Promise<unknown>, run: string): Promise<string> {
  const error = await act().then(
    (answer) => expect.fail(`answered: ${JSON.stringify(answer)}`),
    (thrown: unknown) => thrown as { code: string; message: string; details: unknown },
  );
  const { code, message, details } = error;
  return JSON.stringify({ code, message, details }).replaceAll(run, 'RUN');
}

test('S15 a foreign tenant gets one answer for every command and read, whether the run is open, closed or absent', async () => {
  const baton = await startBaton();
  const run = await launchDirect(baton, { ttl: '60s' });
  const { lease } = await run.slot('a').claim({ workerClass: 'coder', worker: 'w1' });
  const { artifact } = await run
    .slot('a')
    .save(lease.token, { kind: 'source', name: 'x', bytes: Buffer.from('mine') });
  const closed = await launchDirect(baton, { ttl: '60s' });
  await closed.cancel({ reason: 'over' });
  await closed.result().catch(() => undefined);
  const before = JSON.stringify((await stateOf(baton, run.run)).state);

  const foreign = baton.as('eve', { tenant: `${baton.tenant}x` });
  for (const name of Object.keys(everything(run, lease.token))) {
    const answers = await Promise.all(
      [run.run, closed.run, 'no-such-run'].map((id) => {
        const act = everything(foreign.run(id), lease.token, artifact.digest)[name];
        return answerOf(act ?? (() => Promise.resolve()), id);
      }),
    );
    expect(new Set(answers).size, `${name}: ${answers.join('\n')}`).toBe(1);
    expect(answers[0], name).toContain('"RunNotFound"');
  }
  expect(await foreign.list()).toEqual([]);
  for (const { code } of await foreign.audit({ limit: 1_000 })) expect(code).toBe('RunNotFound');
  // Bytes are kept by digest for all tenants together; a digest opens none of another run's.
  const other = await launchDirect(baton, { ttl: '60s' });
  await expect(other.read(artifact)).rejects.toMatchObject({ code: 'ArtifactMissing' });
  expect(Buffer.from(await run.read(artifact)).toString()).toBe('mine');
  expect(JSON.stringify((await stateOf(baton, run.run)).state)).toBe(before);
  await expectInvariants(baton, run.run);
  // The owner goes on as if nothing had been.
  expect((await run.slot('a').complete(lease.token, { result: 1 })).state).toBe('succeeded');
});

test('S15 raw updates with a foreign tenant, to the very workflow, are RunNotFound for each command', async () => {
  const baton = await startBaton();
  const run = await launchDirect(baton, { ttl: '60s' });
  const handle = baton.temporal.workflow.getHandle(workflowIdOf(baton.tenant, run.run));
  const of: Record<string, object> = {
    claim: { slot: 'a', workerClass: 'coder', worker: 'w' },
    reassign: { slot: 'a', workerClass: 'coder', reason: 'x' },
    cancelRun: { reason: 'x' },
    resolveEffect: { slot: 'a', effect: 'pay', outcome: 'absent', reason: 'x' },
  };
  for (const tenant of [`${baton.tenant}x`, baton.tenant.toUpperCase(), 'constructor', '__proto__'])
    for (const name of UPDATES) {
      const fields = of[name] ?? { slot: 'a', reason: 'x' };
      await expectRefused(baton, run.run, 'RunNotFound', () =>
        handle
          .executeUpdate(name, { args: [{ tenant, run: run.run, actor: 'eve', commandId: 'c', ...fields }] })
          .catch((error: unknown) => {
            const { type, message } = (error as WorkflowUpdateFailedError).cause as ApplicationFailure;
            throw Object.assign(new Error(message), { code: type, details: {} });
          }),
      );
    }
  await expectInvariants(baton, run.run);
});

test('S15 `Acme` and `acme` are two tenants, and `acme ` is none', async () => {
  const baton = await startBaton();
  const client = (tenant: string) => baton.as('ada', { tenant });
  const upper = `Acme-${baton.tenant}`;
  const lower = upper.toLowerCase();
  for (const [tenant, prompt] of [
    [upper, 'Upper.'],
    [lower, 'lower.'],
  ] as const)
    await client(tenant).publish({ documents: documents({ a: { launch: [spec({ ttl: '60s' })], prompt } }) });
  const one = await client(upper).launch({ package: 'job', run: 'same' });
  const two = await client(lower).launch({ package: 'job', run: 'same' });
  const claimed = await one.slot('a').claim({ workerClass: 'coder', worker: 'w1' });
  expect(await two.attempts()).toEqual([]);
  expect(await two.slot('a').show()).toMatchObject({ state: 'open', counts: { claims: 0 } });
  const other = await two.slot('a').claim({ workerClass: 'coder', worker: 'w1' });
  expect(other.handoff.attachments).not.toEqual(claimed.handoff.attachments);
  await expect(two.slot('a').heartbeat(claimed.lease.token)).rejects.toMatchObject({ code: 'StaleLease' });
  expect((await client(upper).list()).map(({ run }) => run)).toEqual(['same']);
  await one.slot('a').complete(claimed.lease.token, { result: 'upper' });
  expect(await one.result()).toEqual({ a: 'upper' });
  expect((await two.show()).status).toBe('running');
  for (const tenant of ['acme ', ' acme', 'acme\n', '', 'ac/me', 'acmé', 'a'.repeat(129), 'acme\u200b'])
    expect(() => client(tenant), tenant).toThrow(expect.objectContaining({ code: 'InvalidCommand' }));
});

test('S15 inside one tenant, the lease of one run or slot is no authority on another', async () => {
  const baton = await startBaton();
  const nodes = { a: { launch: [spec({ ttl: '60s' })] }, b: { launch: [spec({ ttl: '60s' })] } };
  const one = await launchNodes(baton, nodes);
  const two = await launchNodes(baton, nodes);
  const worker = { workerClass: 'coder', worker: 'w1' };
  const ofOne = await one.slot('a').claim(worker);
  const ofTwo = await two.slot('a').claim(worker);
  const withLease = ['heartbeat', 'save', 'complete', 'fail', 'release'];
  for (const name of withLease) {
    const act = everything(two, ofOne.lease.token)[name] ?? (() => Promise.resolve());
    await expectRefused(baton, two.run, 'StaleLease', act);
  }
  await expectRefused(baton, one.run, 'StaleLease', () => one.slot('b').heartbeat(ofOne.lease.token));
  // Nor one that is put together from two, or made up.
  const [attempt] = ofTwo.lease.token.split('.');
  const [, signature] = ofOne.lease.token.split('.');
  for (const forged of [
    `${attempt}.${signature}`,
    `${attempt}.`,
    `${attempt}`,
    '.',
    'x',
    `${ofTwo.lease.token}x`,
    ofTwo.lease.id,
    ofTwo.attempt,
  ])
    await expectRefused(baton, two.run, 'StaleLease', () => two.slot('a').heartbeat(forged));
  expect((await two.slot('a').heartbeat(ofTwo.lease.token)).lease.id).toBe(ofTwo.lease.id);
  await expectInvariants(baton, one.run);
  await expectInvariants(baton, two.run);
});

test(
  'S15 the command line answers a foreign tenant as the library does, with exit code 3',
  { timeout: 180_000 },
  async () => {
    const baton = await startBaton();
    const run = await launchDirect(baton, { ttl: '60s' });
    const { lease } = await run.slot('a').claim({ workerClass: 'coder', worker: 'w1' });
    const cwd = await mkdtemp(path.join(os.tmpdir(), 'baton-tenants-'));
    folders.push(cwd);
    await writeFile(path.join(cwd, 'x.txt'), 'x');
    const call = (tenant: string, args: readonly string[]) =>
      batonJson<ErrorJson>(args, { cwd, env: environment(baton, tenant) });
    const of = (id: string): readonly (readonly string[])[] => [
      ['show', id],
      ['attempts', id],
      ['artifacts', id],
      ['recovery', id, 'a'],
      ['claim', id, 'a', '--class', 'coder', '--worker', 'w'],
      ['heartbeat', id, 'a', '--lease', lease.token],
      ['complete', id, 'a', '--lease', lease.token, '--result', '1'],
      ['fail', id, 'a', '--lease', lease.token, '--code', 'X', '--message', 'x'],
      ['reassign', id, 'a', '--class', 'coder', '--reason', 'x'],
      ['cancel', id, '--reason', 'x'],
      ['effects', id],
      ['resolve-effect', id, 'a', 'pay', '--absent', '--reason', 'x'],
      ['save', id, 'a', '--lease', lease.token, '--kind', 'source', '--name', 'x', 'x.txt'],
      ['release', id, 'a', '--lease', lease.token, '--reason', 'x'],
      ['hold', id, 'a', '--reason', 'x'],
      ['release-hold', id, 'a', '--reason', 'x'],
      ['revoke', id, 'a', '--reason', 'x'],
      ['cancel', id, 'a', '--reason', 'x'],
      ['reassign', id, 'a', '--class', 'coder', '--reason', 'x', '--dry-run'],
      ['watch', id],
      ['audit', id],
    ];
    const absent = of('no-such-run');
    for (const [index, args] of of(run.run).entries()) {
      const [real, none] = await Promise.all([call('eve', args), call('eve', absent[index] ?? [])]);
      expect(real.exitCode, args.join(' ')).toBe(3);
      expect(real.json.error.code, args.join(' ')).toBe('RunNotFound');
      const plain = JSON.stringify(real.json).replaceAll(run.run, 'RUN');
      expect(plain).toBe(JSON.stringify(none.json).replaceAll('no-such-run', 'RUN'));
    }
    for (const tenant of [`${baton.tenant} `, `${baton.tenant}\t`]) {
      const refused = await call(tenant, ['show', run.run]);
      expect([refused.exitCode, refused.json.error.code]).toEqual([2, 'InvalidCommand']);
    }
    await expectInvariants(baton, run.run);
  },
);

const environment = (baton: Baton, tenant: string): Record<string, string> => ({
  TEMPORAL_ADDRESS: baton.address,
  BATON_TENANT: tenant,
  BATON_ACTOR: 'eve',
  BATON_TASK_QUEUE: baton.taskQueue,
  BATON_STORE: baton.storeUrl,
});
