/** S17 and S18: a completion counts only with its bytes, nothing partial is addressable, and whose checkpoint it is. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { expect, test } from 'vitest';
import { defineAgent, type AgentContext } from '../../src/agent/types.js';
import { BatonClient } from '../../src/client/client.js';
import type { Store } from '../../src/store/port.js';
import { watchStore } from '../../src/testing/watch-store.js';
import { startBaton, type Baton } from '../support/baton.js';
import { spec } from '../support/definitions.js';
import { expectInvariants, expectRefused } from '../support/invariants.js';
import { watched } from '../support/operator.js';
import { fixture, startNode } from '../support/processes.js';
import { launchDirect, launchNodes, untilSettled } from '../support/steps.js';
import { waitFor } from '../support/wait.js';

/** A caller whose store treats bytes as told: a disk that lies is found out by whoever comes after. */
function callerOver(baton: Baton, putBytes: Store['artifacts']['putBytes']): BatonClient {
  const store = watchStore(baton.store, (call, proceed) =>
    call.name === 'artifacts.putBytes' ? putBytes(call.args[0] as Uint8Array) : proceed(),
  );
  const { tenant, taskQueue } = baton;
  return new BatonClient(baton.temporal, { tenant, actor: 'ada', store, taskQueue });
}
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

test('S17 a completion without its bytes is refused, and the attempt lives on to repair it', async () => {
  const baton = await startBaton();
  const run = await launchDirect(baton, { ttl: '30s' });
  const slot = run.slot('a');
  const { lease } = await slot.claim({ workerClass: 'coder', worker: 'w1' });
  const put = baton.store.artifacts.putBytes.bind(baton.store.artifacts);
  const lies: Record<string, [code: string, Store['artifacts']['putBytes']]> = {
    'missing bytes': [
      'ArtifactMissing',
      async (bytes) => ({ digest: sha256(bytes), size: bytes.byteLength }),
    ],
    'wrong digest': ['ArtifactMissing', async (bytes) => put(Buffer.concat([bytes, Buffer.from('!')]))],
    'wrong size': [
      'ArtifactMismatch',
      async (bytes) => {
        const stored = await put(bytes);
        return { ...stored, size: stored.size + 1 };
      },
    ],
  };
  for (const [what, [code, lie]] of Object.entries(lies)) {
    const liar = callerOver(baton, lie).run(run.run).slot('a');
    await expectRefused(baton, run.run, code, () =>
      liar.complete(lease.token, { result: { report: what } }),
    ).catch((error: unknown) => {
      throw new Error(what, { cause: error });
    });
    expect((await slot.heartbeat(lease.token)).state, what).toBe('active');
    expect((await run.attempts('a')).at(-1)).toMatchObject({
      worker: { status: 'running' },
      lease: { status: 'live' },
    });
    await expectInvariants(baton, run.run);
  }
  expect(await run.artifacts('a')).toEqual([]);

  // Repaired: the same result, with its bytes.
  const result = { report: 'missing bytes' };
  const done = await slot.complete(lease.token, { result });
  expect(done.state).toBe('succeeded');
  await expectInvariants(baton, run.run);
  expect(await slot.complete(lease.token, { result })).toEqual(done);
  await expectRefused(baton, run.run, 'CompletionConflict', () =>
    slot.complete(lease.token, { result: { report: 'another' } }),
  );
  expect(await run.result()).toEqual({ a: result });
  expect(await run.artifacts('a')).toMatchObject([{ kind: 'result', trust: 'committed' }]);
  // After the close of the run too.
  expect(await slot.complete(lease.token, { result })).toEqual(done);
  await expectRefused(baton, run.run, 'CompletionConflict', () =>
    slot.complete(lease.token, { result: null }),
  );
});

test('S17 killed in the middle of a save: nothing partial is addressable, and the successor goes on', async () => {
  const baton = await startBaton();
  const workerClass = 'saver';
  const run = await launchNodes(baton, {
    a: { launch: [spec({ classes: [workerClass], dispatch: 'queue', ttl: '2s', retry: { mode: 'auto' } })] },
  });
  const { address, storeUrl, taskQueue } = baton;
  const host = await startNode(fixture(import.meta.url, 'fixtures/saving-host.ts'), [
    JSON.stringify({ address, storeUrl, taskQueue, workerClass }),
  ]);
  await host.ready(/^in the middle$/, 60_000);
  const blobs = `${storeUrl.slice('sqlite:'.length)}.blobs`;
  const parts = () => readdir(path.join(blobs, 'tmp'));
  // Else there would be nothing partial to be found.
  await waitFor(async () => (await parts()).length === 1);
  expect(host.kill('SIGKILL')).toBe(true);
  await host.exited;
  await untilSettled(run);
  await expectInvariants(baton, run.run);
  expect(await parts()).toHaveLength(1);
  const [part = ''] = await parts();
  const partial = await readFile(path.join(blobs, 'tmp', part));
  expect(partial.byteLength).toBeGreaterThan(0);

  const artifacts = await run.artifacts('a');
  expect(artifacts.map(({ name }) => name)).toEqual(['small', 'large']);
  for (const artifact of artifacts) expect(sha256(await run.read(artifact))).toBe(artifact.digest);
  // Neither by its own digest, nor as a file with a digest's name.
  await expect(run.read({ digest: sha256(partial) })).rejects.toMatchObject({ code: 'ArtifactMissing' });
  for (const shelf of (await readdir(blobs)).filter((name) => name !== 'tmp'))
    for (const name of await readdir(path.join(blobs, shelf)))
      expect(sha256(await readFile(path.join(blobs, shelf, name)))).toBe(name);

  const { agent, runs } = watched(workerClass);
  await baton.startHost([agent]);
  await waitFor(() => runs.length === 1);
  const { ctx, finish } = runs[0]!;
  expect(ctx.handoff.artifacts.map(({ name }) => name)).toEqual(['small', 'large']);
  // Saving whole what the predecessor left half done.
  await ctx.save({ kind: 'source', name: 'half', content: partial });
  finish('done');
  expect(await run.result()).toEqual({ a: 'done' });
  expect((await run.artifacts('a')).map(({ name }) => name)).toEqual(['small', 'large', 'half', 'result']);
  await expectInvariants(baton, run.run);
});

test('S18 whose checkpoint: an outside holder of the same name, and what its successor builds on', async () => {
  const baton = await startBaton();
  const run = await launchDirect(baton, { ttl: '6s' });
  const slot = run.slot('a');
  const checkpoint = (lease: string, name: string, more: object = {}) =>
    slot.save(lease, { kind: 'checkpoint', name, bytes: Buffer.from(`"${name}"`), ...more });
  const first = await slot.claim({ workerClass: 'coder', worker: 'w1' });
  const { artifact: c1 } = await checkpoint(first.lease.token, 'c1');
  await untilSettled(run);
  await expectInvariants(baton, run.run);
  await slot.reassign({ workerClass: 'coder', reason: 'w1 went silent' });
  const second = await slot.claim({ workerClass: 'coder', worker: 'w1' });
  await expectRefused(baton, run.run, 'StaleLease', () => checkpoint(first.lease.token, 'c2'));
  await slot.heartbeat(second.lease.token);
  await expectInvariants(baton, run.run);

  const { attempts, artifacts } = second.handoff;
  expect(attempts).toMatchObject([
    { attempt: first.attempt, number: 1, worker: { id: 'w1', status: 'lost' } },
  ]);
  expect(artifacts).toMatchObject([{ attempt: first.attempt, epoch: 1, kind: 'checkpoint', name: 'c1' }]);
  const basis = { attempt: c1.attempt, digest: c1.digest };
  await checkpoint(second.lease.token, 'c3', { derivedFrom: [basis] });
  await expectRefused(baton, run.run, 'ArtifactMissing', () =>
    checkpoint(second.lease.token, 'c4', { derivedFrom: [{ ...basis, attempt: second.attempt }] }),
  );
  expect((await slot.complete(second.lease.token, { result: 1 })).state).toBe('succeeded');
  expect(await run.artifacts('a')).toMatchObject([
    { attempt: first.attempt, name: 'c1', derivedFrom: [] },
    { attempt: second.attempt, name: 'c3', epoch: 2, derivedFrom: [basis] },
    { attempt: second.attempt, kind: 'result' },
  ]);
  await expectInvariants(baton, run.run);
});

test('S18 whose checkpoint: hosted agents of one worker name, while the first one is still at work', async () => {
  const baton = await startBaton();
  const run = await launchNodes(baton, { a: { launch: [spec({ dispatch: 'queue', ttl: '3s' })] } });
  // Beats that go nowhere while blocked; everything else gets through.
  let blocked = false;
  const connection = await NativeConnection.connect({ address: baton.address });
  const client = new Client({ connection });
  const beat = client.activity.heartbeat.bind(client.activity) as (...args: unknown[]) => Promise<void>;
  client.activity.heartbeat = async (...args: unknown[]) =>
    blocked ? new Promise<void>(() => undefined) : beat(...args);
  let loser: AgentContext | undefined;
  let stop: () => void = () => undefined;
  const stubborn = defineAgent({
    workerClass: 'coder',
    name: 'w',
    run: async (ctx) => {
      loser = ctx;
      await ctx.checkpoint('at', 'c1');
      await new Promise<void>((resolve) => (stop = resolve));
    },
  });
  const lostHost = await baton.startHost([stubborn], { connection, client });
  await waitFor(async () => (await run.artifacts('a')).length === 1);
  blocked = true;
  await untilSettled(run);
  await run.slot('a').reassign({ workerClass: 'coder', reason: 'host lost' });
  const { agent, runs } = watched();
  await baton.startHost([{ ...agent, name: 'w' }]);
  await waitFor(() => runs.length === 1);
  await expectInvariants(baton, run.run);

  await expect(loser!.checkpoint('at', 'c2')).rejects.toMatchObject({ code: 'StaleLease' });
  const { ctx, finish } = runs[0]!;
  expect(ctx.worker).toBe(loser!.worker);
  const last = await ctx.lastCheckpoint('at');
  expect(last).toMatchObject({ value: 'c1', attempt: loser!.attempt, number: 1, own: false });
  const built = await ctx.checkpoint('at', 'c3');
  expect(built.derivedFrom).toEqual([{ attempt: loser!.attempt, digest: last?.digest }]);
  expect(await ctx.handoffMarkdown()).toContain('`at`');
  finish('done');
  stop();
  await lostHost.shutdown();
  expect(await run.result()).toEqual({ a: 'done' });
  const checkpoints = (await run.artifacts('a')).filter(({ kind }) => kind === 'checkpoint');
  expect(checkpoints).toMatchObject([
    { attempt: loser!.attempt, epoch: 1, derivedFrom: [], agentRevision: 'tester@1' },
    { attempt: ctx.attempt, epoch: 2, derivedFrom: built.derivedFrom },
  ]);
  await expectInvariants(baton, run.run);
});
