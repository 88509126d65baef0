/**
 * S19: an answer that is lost with its worker. The owner is a process with its own database, the worker a process that is killed;
 * what counts is what is in the owner's book.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, expect, test } from 'vitest';
import { startBaton } from '../support/baton.js';
import { spec } from '../support/definitions.js';
import { expectInvariants } from '../support/invariants.js';
import { fixture, startNode } from '../support/processes.js';
import { launchNodes, untilSettled } from '../support/steps.js';
import { waitFor } from '../support/wait.js';
import type { EffectOwnerInput } from './fixtures/effect-owner.js';
import type { PayingHostInput } from './fixtures/paying-host.js';

const START_MS = 60_000;
const dirs: string[] = [];
afterEach(() => Promise.all(dirs.splice(0).map((dir) => rm(dir, { recursive: true, force: true }))));

/** A run whose first worker was killed while it waited for the answer to its sending. */
async function killedWhileWaiting(loses: 'request' | 'answer') {
  const baton = await startBaton();
  const { address, storeUrl, taskQueue, tenant } = baton;
  const dir = await mkdtemp(path.join(os.tmpdir(), 'baton-s19-'));
  dirs.push(dir);
  const database = path.join(dir, 'owner.db');
  const workerClass = `payer-${tenant}`;
  const heard: string[] = [];
  const startOwner = async (more: Pick<EffectOwnerInput, 'loses' | 'port'>) => {
    const input: EffectOwnerInput = { address, storeUrl, database, ...more };
    const child = await startNode(
      fixture(import.meta.url, 'fixtures/effect-owner.ts'),
      [JSON.stringify(input)],
      {
        onLine: (line) => {
          if (/^(sent|asked|lost)$/.test(line)) heard.push(line);
        },
      },
    );
    const port = Number((await child.ready(/^listening \d+$/, START_MS)).split(' ')[1]);
    return { child, port };
  };
  const owner = await startOwner({ loses, port: 0 });
  const startPayer = (amount = 5) => {
    const ownerUrl = `http://127.0.0.1:${owner.port}/effects`;
    const input: PayingHostInput = { address, storeUrl, taskQueue, workerClass, ownerUrl, amount };
    return startNode(fixture(import.meta.url, 'fixtures/paying-host.ts'), [JSON.stringify(input)]);
  };
  const retry = { mode: 'manual' };
  const launch = [spec({ dispatch: 'queue', classes: [workerClass], ttl: '6s', retry })];
  const run = await launchNodes(baton, { a: { launch } });
  const first = await startPayer();
  await owner.child.ready(/^lost$/, START_MS);
  first.kill('SIGKILL');
  await first.exited;
  await untilSettled(run);
  const effects = () => baton.store.effects.list(tenant, run.run);
  expect(await effects()).toMatchObject([{ name: 'pay', state: 'intent', epoch: 1, receipt: null }]);
  await expectInvariants(baton, run.run);
  heard.length = 0;
  const reassign = () => run.slot('a').reassign({ workerClass, reason: 'the host is gone' });
  await reassign();
  return {
    ...{ baton, run, owner, heard, effects, startOwner, startPayer, reassign },
    book() {
      const file = new Database(database, { readonly: true });
      try {
        return file.prepare<[], string>('select request from book').pluck().all();
      } finally {
        file.close();
      }
    },
    /** Until the given attempt is over; its failure's code. */
    async failureOf(number: number) {
      await waitFor(
        async () => (await run.attempts('a')).some((one) => one.number === number && one.endedAt !== null),
        { timeoutMs: START_MS, what: `the end of attempt ${number}` },
      );
      return (await run.attempts('a'))[number - 1]?.failure?.code;
    },
  };
}

test('S19 committed: the successor asks, records the receipt, and the owner counts 1', async () => {
  const { baton, run, heard, effects, book, startPayer, failureOf, reassign } =
    await killedWhileWaiting('answer');
  expect(book()).toEqual(['{"amount":5}']);

  // Another request under the key is refused before its owner hears of it.
  const other = await startPayer(6);
  expect(await failureOf(2)).toBe('EffectConflict');
  await other.stop();
  expect(heard).toEqual([]);
  await untilSettled(run);
  await reassign();

  await startPayer();
  expect(await run.result()).toEqual({ a: { entry: 1 } });
  expect(heard).toEqual(['asked']);
  expect(book()).toEqual(['{"amount":5}']);
  expect(await effects()).toMatchObject([{ state: 'committed', receipt: { entry: 1 }, epoch: 1 }]);
  await expectInvariants(baton, run.run);
}, 240_000);

test('S19 absent: sent once, with the same key', async () => {
  const { baton, run, heard, effects, book, startPayer } = await killedWhileWaiting('request');
  expect(book()).toEqual([]);
  const [before] = await effects();
  await startPayer();
  expect(await run.result()).toEqual({ a: { entry: 1 } });
  expect(heard).toEqual(['asked', 'sent']);
  expect(book()).toEqual(['{"amount":5}']);
  expect(await effects()).toMatchObject([{ state: 'committed', key: before?.key, epoch: 2 }]);
  await expectInvariants(baton, run.run);
}, 240_000);

test('S19 unreachable: unresolved, nothing sent, and settled once the owner is back', async () => {
  const { baton, run, owner, heard, effects, book, startOwner, startPayer, failureOf, reassign } =
    await killedWhileWaiting('answer');
  await owner.child.stop();
  await startPayer();
  expect(await failureOf(2)).toBe('EffectUnresolved');
  expect(await effects()).toMatchObject([{ state: 'unresolved', receipt: null }]);
  await untilSettled(run);
  await expectInvariants(baton, run.run);

  await startOwner({ loses: null, port: owner.port });
  await reassign();
  expect(await run.result()).toEqual({ a: { entry: 1 } });
  expect(heard).toEqual(['asked']);
  expect(book()).toEqual(['{"amount":5}']);
  expect(await effects()).toMatchObject([{ state: 'committed' }]);
  await expectInvariants(baton, run.run);
}, 240_000);
