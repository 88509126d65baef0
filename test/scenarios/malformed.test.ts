/** S26: commands and signals that nobody should send, by Temporal's own command line and by a raw client. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { temporal } from '@temporalio/proto';
import { type WorkflowUpdateFailedError } from '@temporalio/client';
import type { ApplicationFailure } from '@temporalio/common';
import { expect, test } from 'vitest';
import type { RunHandle } from '../../src/client/run-handle.js';
import { QUERIES, UPDATES, workflowIdOf } from '../../src/domain/wire.js';
import { startBaton, type Baton } from '../support/baton.js';
import {
  eventsOf,
  expectInvariants,
  expectNoFailedTasks,
  expectRefused,
  stateOf,
} from '../support/invariants.js';
import { operate, temporalTool } from '../support/operator.js';
import { launchDirect } from '../support/steps.js';

const { UpdateWorkflowExecutionLifecycleStage: Stage } = temporal.api.enums.v1;
const { Payloads } = temporal.api.common.v1;

/** The client's own types would not let most of this through. */
interface Sender {
  executeUpdate(name: string, options: { args: readonly unknown[] }): Promise<unknown>;
}

const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;

/** A good command after all that: nothing was broken. */
async function expectInOrder(baton: Baton, run: RunHandle): Promise<void> {
  await expectInvariants(baton, run.run);
  await run.slot('a').hold({ reason: 'still here' });
  await run.slot('a').releaseHold({ reason: 'still here' });
  await expectInvariants(baton, run.run);
}

test(
  'S26 by Temporal’s command line: each is refused with its code at once, and leaves no event',
  { timeout: 180_000 },
  async () => {
    const baton = await startBaton();
    const run = await launchDirect(baton, { ttl: '60s' });
    const good = {
      tenant: baton.tenant,
      run: run.run,
      slot: 'a',
      reason: 'why',
      actor: 'eve',
      commandId: 'c',
    };
    const json = (value: unknown) => ['--input', JSON.stringify(value)];
    const without = (field: string) =>
      json(Object.fromEntries(Object.entries(good).filter(([key]) => key !== field)));
    const cases: readonly [what: string, name: string, input: readonly string[], says: RegExp][] = [
      ['no argument', 'hold', [], /takes one JSON object/],
      ['null', 'hold', json(null), /takes one JSON object/],
      ['a text', 'hold', json('hold it'), /takes one JSON object/],
      ['a number', 'hold', json(1e308), /takes one JSON object/],
      ['an array', 'hold', json([good]), /takes one JSON object/],
      ['two arguments', 'hold', [...json(good), ...json(good)], /takes one JSON object/],
      ['an empty object', 'hold', json({}), /`tenant` must be/],
      ['no tenant', 'hold', without('tenant'), /`tenant` must be/],
      ['no run', 'hold', without('run'), /`run` must be/],
      ['no slot', 'hold', without('slot'), /`slot` must be/],
      ['no actor', 'hold', without('actor'), /`actor` must be/],
      ['no command id', 'hold', without('commandId'), /`commandId` must be/],
      ['no reason', 'hold', without('reason'), /no reason was given/],
      ['a null slot', 'hold', json({ ...good, slot: null }), /`slot` must be/],
      ['a slot that is an object', 'hold', json({ ...good, slot: { toString: 1 } }), /`slot` must be/],
      ['an unknown field', 'hold', json({ ...good, force: true }), /has no field `force`/],
      ['a reason that is a number', 'hold', json({ ...good, reason: 7 }), /`reason` must be a text/],
      ['an unknown slot', 'hold', json({ ...good, slot: 'z' }), /has no such slot/],
      ['a slot of the language', 'hold', json({ ...good, slot: 'constructor' }), /has no such slot/],
      ['deep nesting', 'hold', ['--input', `{"slot":${nested(2_000)}}`], /`tenant` must be/],
      ['an unknown command', 'explode', json(good), /No registered handler/],
      ['a command of the language', 'constructor', json(good), /No registered handler/],
    ];
    // A query is answered after the first task, whose events do not count here.
    await stateOf(baton, run.run);
    const before = (await eventsOf(baton, run.run)).length;
    for (const [what, name, input, says] of cases) {
      const state = JSON.stringify((await stateOf(baton, run.run)).state);
      const result = await temporalTool(baton, run.run, [
        'workflow',
        'update',
        'execute',
        '--name',
        name,
        ...input,
      ]);
      expect(result.exitCode, `${what}: ${result.stdout}`).toBe(1);
      expect(result.stderr, what).toMatch(says);
      // The start of the program is in it, on a machine that may be loaded.
      expect(result.tookMs, what).toBeLessThan(5_000);
      expect(JSON.stringify((await stateOf(baton, run.run)).state), `I4 ${what}`).toBe(state);
    }
    expect((await eventsOf(baton, run.run)).length).toBe(before);
    await expectNoFailedTasks(baton, run.run);
    // And a good one by the same tool works.
    await operate(baton, run.run, ['workflow', 'update', 'execute', '--name', 'hold', ...json(good)]);
    expect(await run.slot('a').show()).toMatchObject({ state: 'on-hold' });
    await run.slot('a').releaseHold({ reason: 'done' });
    await expectInOrder(baton, run);
  },
);

test('S26 by Temporal’s command line: a huge argument is refused, by the server or by the run', async () => {
  const baton = await startBaton();
  const run = await launchDirect(baton, { ttl: '60s' });
  const folder = await mkdtemp(path.join(os.tmpdir(), 'baton-malformed-'));
  try {
    for (const size of [1_500_000, 3_000_000]) {
      const file = path.join(folder, `${size}.json`);
      const command = {
        tenant: baton.tenant,
        run: run.run,
        slot: 'a',
        reason: 'x'.repeat(size),
        actor: 'eve',
        commandId: 'c',
      };
      await writeFile(file, JSON.stringify(command));
      const result = await temporalTool(baton, run.run, [
        'workflow',
        'update',
        'execute',
        '--name',
        'hold',
        '--input-file',
        file,
      ]);
      expect(result.exitCode).toBe(1);
      // A refusal repeats the request to the server, which takes no message of more than 2 MB: beyond it these are its words.
      expect(result.stderr).toMatch(
        size < 2_000_000 ? /`reason` is too long/ : /unexpected workflow task failure|limit/,
      );
      await expectInvariants(baton, run.run);
    }
    await expectInOrder(baton, run);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test(
  'S26 by a raw client: every command with every kind of nonsense is InvalidCommand within a second or so',
  { timeout: 180_000 },
  async () => {
    const baton = await startBaton();
    const run = await launchDirect(baton, { ttl: '60s' });
    const handle = baton.temporal.workflow.getHandle(workflowIdOf(baton.tenant, run.run));
    const circularLike = JSON.parse(nested(3_000)) as unknown;
    const nonsense: readonly (readonly unknown[])[] = [
      [],
      [null],
      [undefined],
      [0],
      [''],
      [[]],
      [[{}]],
      [{}],
      [{ tenant: 1, run: [], slot: {}, actor: true, commandId: null }],
      [{ tenant: baton.tenant, run: run.run, slot: circularLike, actor: 'eve', commandId: 'c' }],
      [circularLike],
      [{ ['__proto__x']: {}, constructor: { prototype: {} } }],
      [new Uint8Array([1, 2, 3])],
      [{}, {}, {}],
    ];
    for (const name of UPDATES)
      for (const args of nonsense) {
        const from = performance.now();
        await expectRefused(baton, run.run, 'InvalidCommand', () =>
          (handle as unknown as Sender).executeUpdate(name, { args }).catch((error: unknown) => {
            const { type, message } = (error as WorkflowUpdateFailedError).cause as ApplicationFailure;
            expect(message.length).toBeLessThan(1_000);
            throw Object.assign(new Error(message), { code: type, details: {} });
          }),
        );
        // Twice the run's state and the rows are read in it, on a machine that may be loaded.
        expect(performance.now() - from).toBeLessThan(10_000);
      }
    await expectInOrder(baton, run);
  },
);

test.each([
  ['an encoding that nobody has', 'binary/encrypted', '{}'],
  ['JSON that is cut off', 'json/plain', '{"tenant":'],
  ['nesting that is deeper than any stack', 'json/plain', nested(400_000)],
  ['a slot of such nesting', 'json/plain', `{"tenant":"t","run":"r","slot":${nested(400_000)}}`],
])('S26 by a raw client: an argument of %s is refused', async (_what, encoding, data) => {
  const baton = await startBaton();
  const run = await launchDirect(baton, { ttl: '60s' });
  for (const name of ['hold', 'claim', 'cancelRun']) {
    const { outcome } = await baton.temporal.workflowService.updateWorkflowExecution({
      namespace: 'default',
      workflowExecution: { workflowId: workflowIdOf(baton.tenant, run.run) },
      waitPolicy: {
        lifecycleStage: Stage.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED,
      },
      request: {
        meta: { updateId: `raw-${name}`, identity: 'eve' },
        input: {
          name,
          args: Payloads.create({
            payloads: [{ metadata: { encoding: Buffer.from(encoding) }, data: Buffer.from(data) }],
          }),
        },
      },
    });
    expect(outcome?.failure?.applicationFailureInfo?.type, outcome?.failure?.message ?? '').toBe(
      'InvalidCommand',
    );
    await expectNoFailedTasks(baton, run.run);
  }
  await expectInOrder(baton, run);
});

test('S26 signals and queries of any name and content change nothing and break nothing', async () => {
  const baton = await startBaton();
  const run = await launchDirect(baton, { ttl: '60s' });
  const handle = baton.temporal.workflow.getHandle(workflowIdOf(baton.tenant, run.run));
  const before = JSON.stringify((await stateOf(baton, run.run)).state);
  for (const name of ['cancel', 'hold', 'state', '__temporal_anything', '__proto__', 'x'.repeat(200)])
    await handle.signal(name, { any: 'thing' }, null);
  await baton.temporal.workflowService.signalWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId: workflowIdOf(baton.tenant, run.run) },
    signalName: 'unreadable',
    input: { payloads: [{ metadata: { encoding: Buffer.from('nobody/knows') }, data: Buffer.from('x') }] },
  });
  for (const [query, ...args] of [
    ['state', { tenant: 'x' }],
    [QUERIES.commandAnswer],
    [QUERIES.commandAnswer, { a: 1 }],
    [QUERIES.dryRun],
    [QUERIES.dryRun, null],
    [QUERIES.dryRun, JSON.parse(nested(3_000))],
  ] as [string, ...unknown[]][])
    await handle.query<unknown, unknown[]>(query, ...args).catch(() => undefined);
  await expect(handle.query('no-such-query')).rejects.toThrow();
  expect(JSON.stringify((await stateOf(baton, run.run)).state)).toBe(before);
  await expectInOrder(baton, run);
});
