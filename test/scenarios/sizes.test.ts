/** S24: what is too large is refused at the caller with size and limit, or kept by reference; the attempt can still end. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { defineAgent } from '../../src/agent/types.js';
import { batonJson, type ErrorJson } from '../cli/cli.js';
import { startBaton } from '../support/baton.js';
import { spec } from '../support/definitions.js';
import { expectInvariants, expectRefused } from '../support/invariants.js';
import { launchDirect, launchNodes, untilSettled } from '../support/steps.js';

const BIG = 'x'.repeat(3_000_000);
const INLINE = { limit: 64 * 1024, unit: 'bytes' };
const TEXT = { limit: 4_000, unit: 'code points' };

test('S24 a direct holder: 3 MB of result, error, progress and reason are refused with size and limit; a saved one is kept', async () => {
  const baton = await startBaton();
  const run = await launchDirect(baton, {
    ttl: '60s',
    retry: { mode: 'auto', backoff: { initial: 1, max: 1 } },
  });
  const slot = run.slot('a');
  const first = await slot.claim({ workerClass: 'coder', worker: 'w1' });
  const { token } = first.lease;
  const cases: Record<string, [act: () => Promise<unknown>, facts: object]> = {
    result: [() => slot.complete(token, { result: { report: BIG } }), { field: 'result', ...INLINE }],
    progress: [() => slot.heartbeat(token, { progress: BIG }), { field: 'progress', ...INLINE }],
    error: [() => slot.fail(token, { code: 'X', message: BIG }), { field: 'message', ...TEXT }],
    release: [() => slot.release(token, { reason: BIG }), { field: 'reason', ...TEXT }],
    revoke: [() => slot.revoke({ reason: BIG }), { field: 'reason', ...TEXT }],
    hold: [() => slot.hold({ reason: `${BIG}🙂` }), { field: 'reason', size: 3_000_001, ...TEXT }],
    cancel: [() => run.cancel({ reason: BIG }), { field: 'reason', ...TEXT }],
    launch: [() => baton.as().launch({ package: 'job', input: BIG }), { field: 'input', ...INLINE }],
  };
  for (const [what, [act, facts]] of Object.entries(cases)) {
    const refused = await expectRefused(baton, run.run, 'TooLarge', act);
    expect(refused.details, what).toMatchObject({ size: expect.any(Number) as number, ...facts });
    expect(refused.message.length, what).toBeLessThan(500);
    await expectInvariants(baton, run.run);
  }
  const { artifact } = await slot.save(token, { kind: 'source', name: 'report', bytes: Buffer.from(BIG) });
  expect(artifact.size).toBe(3_000_000);
  // The attempt can still end, here as failed with the longest message there is.
  const longest = '🙂'.repeat(4_000);
  await slot.fail(token, { code: 'TooMuch', message: longest });
  await untilSettled(run);
  expect((await run.attempts('a'))[0]?.failure).toEqual({ code: 'TooMuch', message: longest });
  await expectInvariants(baton, run.run);
  const second = await slot.claim({ workerClass: 'coder', worker: 'w2' });
  expect(second.handoff.artifacts).toMatchObject([{ name: 'report', size: 3_000_000 }]);
  expect(Buffer.from(await run.read(artifact)).toString()).toBe(BIG);
  // Exactly at the limit is not over it.
  const most = 'y'.repeat(64 * 1024 - 2);
  await slot.complete(second.lease.token, { result: most });
  expect(await run.result()).toEqual({ a: most });
  await expectInvariants(baton, run.run);
});

test('S24 a hosted agent: 200 artifacts and steps of 3 MB are kept by reference; 3 MB of progress, result and error do no harm', async () => {
  const baton = await startBaton();
  const refusals: unknown[] = [];
  await baton.startHost([
    defineAgent({
      workerClass: 'saver',
      run: async (ctx) => {
        for (let index = 0; index < 200; index += 1)
          await ctx.save({ kind: 'source', name: `part-${index}`, content: `part ${index}` });
        await ctx.step('big', () => BIG);
        await ctx.checkpoint('big', BIG);
        try {
          ctx.progress(BIG);
        } catch (error) {
          refusals.push(error);
        }
        return ctx.handoff.artifacts.length;
      },
    }),
    defineAgent({
      workerClass: 'thrower',
      run: (ctx) =>
        ctx.number === 1
          ? Promise.reject(new Error(BIG))
          : ctx.number === 2
            ? Promise.resolve(BIG)
            : Promise.resolve('small'),
    }),
    defineAgent({
      workerClass: 'reader',
      run: async (ctx) => [ctx.upstream, (await ctx.step('read', () => BIG)).length],
    }),
  ]);
  const retry = { mode: 'auto', failures: 9, backoff: { initial: 1, max: 1 } };
  const on = (workerClass: string) => [
    spec({ dispatch: 'queue', classes: [workerClass], ttl: '20s', retry }),
  ];
  const run = await launchNodes(baton, {
    a: { launch: on('saver') },
    b: { launch: on('thrower') },
    c: { dependsOn: ['a', 'b'], launch: on('reader') },
  });
  expect(await run.result()).toEqual({ a: 0, b: 'small', c: [{ a: 0, b: 'small' }, 3_000_000] });
  expect(refusals).toMatchObject([{ code: 'TooLarge', details: { field: 'progress', ...INLINE } }]);
  expect((await run.artifacts('a')).filter(({ name }) => name.startsWith('part-'))).toHaveLength(200);
  const failures = (await run.attempts('b')).map(({ failure }) => failure);
  expect(failures[0]).toEqual({ code: 'AgentError', message: 'x'.repeat(4_000) });
  expect(failures[1]).toMatchObject({ code: 'TooLarge' });
  expect(failures[1]?.message).toMatch(/size=3000002.*limit=65536/);
  expect(failures[2]).toBeNull();
  await expectInvariants(baton, run.run);
});

test(
  'S24 the command line refuses the same with exit code 2, from a file too',
  { timeout: 120_000 },
  async () => {
    const baton = await startBaton();
    const run = await launchDirect(baton, { ttl: '120s' });
    const { lease } = await run.slot('a').claim({ workerClass: 'coder', worker: 'w1' });
    const cwd = await mkdtemp(path.join(os.tmpdir(), 'baton-sizes-'));
    try {
      await writeFile(path.join(cwd, 'big.json'), JSON.stringify(BIG));
      const env = {
        TEMPORAL_ADDRESS: baton.address,
        BATON_TENANT: baton.tenant,
        BATON_ACTOR: 'ada',
        BATON_TASK_QUEUE: baton.taskQueue,
        BATON_STORE: baton.storeUrl,
      };
      const holder = [run.run, 'a', '--lease', lease.token];
      for (const [args, field] of [
        [['complete', ...holder, '--result', '@big.json'], 'result'],
        [['fail', ...holder, '--code', 'X', '--message', '@big.json'], 'message'],
        [['reassign', run.run, 'a', '--class', 'coder', '--reason', '@big.json'], 'reason'],
      ] as const) {
        const { exitCode, json } = await batonJson<ErrorJson>(args, { cwd, env });
        expect([exitCode, json.error.code], args[0]).toEqual([2, 'TooLarge']);
        expect(json.error.details, args[0]).toMatchObject({ field, size: expect.any(Number) as number });
      }
      await expectInvariants(baton, run.run);
      expect((await run.slot('a').complete(lease.token, { result: 1 })).state).toBe('succeeded');
    } finally {
      await rm(cwd, { recursive: true, force: true });
    }
  },
);
