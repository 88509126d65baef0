/**
 * Who may do what: every command and read of the client asks the hook, once, before anything is looked at; a control worker
 * asks it again for what it carries out itself, also when that came past the client.
 */
import { Client, type WorkflowUpdateFailedError } from '@temporalio/client';
import type { ApplicationFailure } from '@temporalio/common';
import { expect, test } from 'vitest';
import { COMMANDS, READS, type ActionAsked } from '../../src/access/actions.js';
import type { Authorize } from '../../src/access/authorize.js';
import { BatonClient, LaunchedRun, type BatonClientOptions } from '../../src/client/client.js';
import { examineServer } from '../../src/client/doctor.js';
import { RunHandle } from '../../src/client/run-handle.js';
import { SlotHandle } from '../../src/client/slot-handle.js';
import { workflowIdOf } from '../../src/domain/wire.js';
import { BatonPlugin } from '../../src/host/plugin.js';
import { ASKS, CLIENT_ASKS, OF_A_RUN, RUN_ASKS, SLOT_ASKS } from '../support/asks.js';
import { startBaton, type Baton } from '../support/baton.js';
import { expectRefused } from '../support/invariants.js';
import { launchDirect } from '../support/steps.js';

const clientOf = (baton: Baton, options: Partial<BatonClientOptions> = {}): BatonClient => {
  const { tenant, store, taskQueue } = baton;
  return new BatonClient(baton.temporal, { tenant, actor: 'eve', store, taskQueue, ...options });
};

const codeOf = (act: Promise<unknown>): Promise<string | null> =>
  act.then(
    () => null,
    (error: unknown) => (error as { code: string }).code,
  );

/** No lease that any test makes. */
const LEASE = 'attempt-1.c2lnbmF0dXJl';

test('every method of the client’s doors is one that is judged, and every action is asked for somewhere', () => {
  const own = (type: { prototype: object }): string[] =>
    Object.entries(Object.getOwnPropertyDescriptors(type.prototype))
      .filter(([name, { value }]) => name !== 'constructor' && typeof value === 'function')
      .map(([name]) => name)
      .sort();
  // They ask nothing: a handle knows its name only.
  expect(own(BatonClient)).toEqual([...Object.keys(CLIENT_ASKS), 'close', 'run'].sort());
  expect(own(RunHandle)).toEqual([...Object.keys(RUN_ASKS), 'slot'].sort());
  expect(own(SlotHandle)).toEqual(Object.keys(SLOT_ASKS).sort());
  expect(own(LaunchedRun)).toEqual([]);
  const asked = new Set([...ASKS.map(([, action]) => action), 'doctor', 'repair']);
  expect([...asked].sort()).toEqual([...COMMANDS, ...READS].sort());
});

test('each command and read asks the hook once; refused it is NotAuthorized, for whatever run, and changes nothing', async () => {
  const baton = await startBaton();
  const run = await launchDirect(baton, { ttl: '60s' });
  const { lease } = await run.slot('a').claim({ workerClass: 'coder', worker: 'w1' });
  const seen: [ActionAsked, string][] = [];
  const eve = clientOf(baton, {
    authorize: (command, actor) => (seen.push([command, actor]), { refused: 'not you' }),
  });
  for (const [name, action, ask] of ASKS) {
    const answers: string[] = [];
    for (const id of [run.run, 'no-such-run']) {
      seen.length = 0;
      const refused = await expectRefused(baton, run.run, 'NotAuthorized', () => ask(eve, id, lease.token));
      const { message, details } = refused;
      answers.push(JSON.stringify({ message, details }).replaceAll(id, 'RUN'));
      expect(seen, name).toHaveLength(1);
      const [[command, actor] = []] = seen;
      const kind = (READS as readonly string[]).includes(action) ? 'read' : 'command';
      expect({ actor, command }, name).toMatchObject({ actor: 'eve', command: { name: action, kind } });
      expect(command?.tenant).toBe(baton.tenant);
      if (!name.startsWith('client.')) expect(command?.run, name).toBe(id);
      if (name.startsWith('slot.')) expect(command?.slot, name).toBe('a');
      // Nothing that is carried: no token, text, result or bytes.
      expect(JSON.stringify(command), name).not.toMatch(/secret/);
      expect(JSON.stringify(command), name).not.toContain(lease.token);
    }
    expect(answers[0], name).toBe(answers[1]);
  }
  expect((await run.slot('a').complete(lease.token, { result: 1 })).state).toBe('succeeded');
});

test('the hook is told what tells one command from another', async () => {
  const baton = await startBaton({ control: false });
  const seen: ActionAsked[] = [];
  const eve = clientOf(baton, { authorize: (command) => (seen.push(command), { refused: 'no' }) });
  const of = async (name: string) => {
    const [, , ask] = ASKS.find(([known]) => known === name) ?? [];
    await ask?.(eve, 'r', LEASE).catch(() => undefined);
    return seen.at(-1);
  };
  expect(await of('slot.claim')).toMatchObject({ class: 'coder', owner: 'ada' });
  expect(await of('slot.reassign')).toMatchObject({ class: 'coder' });
  expect(await of('slot.dryRunReassign')).toMatchObject({ class: 'coder' });
  expect(await of('slot.resolveEffect')).toMatchObject({ effect: 'pay' });
  expect(await of('client.launch')).toMatchObject({ target: 'nothing', run: 'r' });
  expect(await of('client.accept')).toMatchObject({ target: 'package/nothing@1' });
  for (const name of ['heartbeat', 'save', 'complete', 'fail', 'release'])
    expect(await of(`slot.${name}`)).toMatchObject({ attempt: 'attempt-1' });
});

test('a right to one action is a right to that one alone', async () => {
  const baton = await startBaton({ control: false });
  for (const allowed of [...COMMANDS, ...READS]) {
    const eve = clientOf(baton, {
      authorize: ({ name }) => name === allowed || { refused: 'no' },
      timeoutMs: 2_000,
    });
    for (const [name, action, ask] of ASKS) {
      const code = await codeOf(ask(eve, 'no-such-run', LEASE));
      expect(code === 'NotAuthorized', `${name} with ${allowed}: ${String(code)}`).toBe(action !== allowed);
    }
    expect(await codeOf(examineServer(eve, { fix: false }))).toBe(
      allowed === 'doctor' ? null : 'NotAuthorized',
    );
  }
});

test('the doctor looks with one right, and settles only with another', async () => {
  const baton = await startBaton({ control: false });
  const look = clientOf(baton, { authorize: ({ name }) => name === 'doctor' || { refused: 'no' } });
  expect(await codeOf(examineServer(look, { fix: true }))).toBe('NotAuthorized');
  expect(await examineServer(look, { fix: false })).not.toHaveLength(0);
});

test('a hook that throws or is silent refuses, and a policy that is not valid says what is wrong', async () => {
  const baton = await startBaton({ control: false });
  const code = (options: Partial<BatonClientOptions>) => codeOf(clientOf(baton, options).run('r').show());
  expect(await code({})).toBe('RunNotFound');
  const boom: Authorize = () => Promise.reject(new Error('the directory is away'));
  expect(await code({ authorize: boom })).toBe('NotAuthorized');
  expect(await code({ authorize: () => new Promise(() => undefined), timeoutMs: 300 })).toBe('NotAuthorized');
  expect(await code({ policy: '/no/such/policy.yaml' })).toBe('InvalidCommand');
  expect(() => clientOf(baton, { policy: 'x.yaml', authorize: boom })).toThrow(/`authorize` or `policy`/);
});

test('a client without a store, and one that takes store and hook of a plugin, are judged too', async () => {
  const baton = await startBaton({ control: false });
  const authorize: Authorize = () => ({ refused: 'no' });
  const { tenant, store } = baton;
  const bare = new BatonClient(baton.temporal, { tenant, authorize });
  expect(await codeOf(bare.run('r').slot('a').hold({ reason: 'x' }))).toBe('NotAuthorized');
  const plugin = new BatonPlugin({ store, authorize });
  const client = new Client({ connection: baton.temporal.connection, plugins: [plugin] });
  expect(await codeOf(new BatonClient(client, { tenant }).run('r').show())).toBe('NotAuthorized');
  const own = new BatonClient(client, { tenant, authorize: () => true });
  expect(await codeOf(own.run('r').show())).toBe('RunNotFound');
});

/** An update past the client. */
async function raw(baton: Baton, run: string, name: string, fields: object): Promise<unknown> {
  const handle = baton.temporal.workflow.getHandle(workflowIdOf(baton.tenant, run));
  const command = { tenant: baton.tenant, run, commandId: `c-${Math.random()}`, ...fields };
  try {
    return await handle.executeUpdate(name, { args: [command] });
  } catch (error) {
    const { type, message } = (error as WorkflowUpdateFailedError).cause as ApplicationFailure;
    throw Object.assign(new Error(message), { code: type });
  }
}

test('a control worker with the hook refuses claims and settled effects that came past the client', async () => {
  const baton = await startBaton({ control: false });
  const seen: [ActionAsked, string][] = [];
  await baton.startControl({
    authorize: (command, actor) => {
      seen.push([command, actor]);
      return actor === 'ada' || { refused: 'only ada' };
    },
  });
  const run = await launchDirect(baton, { ttl: '60s' });
  const claim = { slot: 'a', workerClass: 'coder', worker: 'w', owner: 'olga' };
  const refused = await raw(baton, run.run, 'claim', { ...claim, actor: 'eve' }).catch(
    (error: unknown) => error,
  );
  expect(refused).toMatchObject({ code: 'NotAuthorized', message: expect.stringContaining('only ada') });
  const { tenant } = baton;
  const asked = {
    name: 'claim',
    kind: 'command',
    tenant,
    run: run.run,
    slot: 'a',
    class: 'coder',
    owner: 'olga',
  };
  expect(seen).toEqual([[asked, 'eve']]);
  expect(await run.slot('a').show()).toMatchObject({ state: 'open', epoch: null });
  expect(await run.attempts()).toEqual([]);
  const settle = { slot: 'a', effect: 'pay', outcome: 'absent', reason: 'x' };
  expect(await codeOf(raw(baton, run.run, 'resolveEffect', { ...settle, actor: 'eve' }))).toBe(
    'NotAuthorized',
  );
  expect(await codeOf(raw(baton, run.run, 'resolveEffect', { ...settle, actor: 'ada' }))).toBe(
    'EffectNotFound',
  );
  // What the workflow does by itself no hook can see: Temporal's own authorization guards that door.
  expect(await codeOf(raw(baton, run.run, 'hold', { slot: 'a', reason: 'x', actor: 'eve' }))).toBeNull();
  expect(
    await codeOf(raw(baton, run.run, 'releaseHold', { slot: 'a', reason: 'x', actor: 'eve' })),
  ).toBeNull();
  const { lease } = await run.slot('a').claim({ workerClass: 'coder', worker: 'w1' });
  expect((await run.slot('a').complete(lease.token)).state).toBe('succeeded');
});

test('a foreign tenant with every right in its own finds nothing of another', async () => {
  const baton = await startBaton({ control: false });
  const run = await launchDirect(baton, { ttl: '60s' });
  const foreign = clientOf(baton, { tenant: `${baton.tenant}x`, authorize: () => true, timeoutMs: 2_000 });
  for (const [name, , ask] of OF_A_RUN)
    expect(await codeOf(ask(foreign, run.run, LEASE)), name).toBe('RunNotFound');
});
