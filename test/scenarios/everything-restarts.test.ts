/** S27: server, control worker and hosts are killed in turn, and all at once, on a database file. */
import { expect, test } from 'vitest';
import type { LaunchedRun } from '../../src/client/client.js';
import type { Child } from '../../src/server/processes.js';
import { startBaton } from '../support/baton.js';
import { spec } from '../support/definitions.js';
import { expectInvariants } from '../support/invariants.js';
import { crash, useRestartable } from '../support/restartable.js';
import { launchNodes } from '../support/steps.js';
import { waitFor } from '../support/wait.js';

const restartable = useRestartable('everything');
const LONG = { timeoutMs: 90_000 };

test('S27 server, control worker and host killed in turn and together: no run lost, no attempt doubled', async () => {
  const baton = await startBaton({ address: restartable.server.address, control: false });
  /** Every attempt that any host has started, by its own word. */
  const started: string[] = [];
  const onLine = (line: string): void => {
    if (line.startsWith('at work ')) started.push(line);
  };
  const start = (options: Parameters<typeof restartable.startWorker>[1]): Promise<Child> =>
    restartable.startWorker(baton, options, { onLine });
  let control = await start({ role: 'control' });
  const ttl = 15_000;
  const retry = { mode: 'auto', backoff: { initial: '1s' } };
  const nodes = {
    hosted: { launch: [spec({ dispatch: 'queue', ttl: `${ttl}ms`, retry })] },
    outside: { launch: [spec({ ttl: '120s' })] },
    after: {
      dependsOn: ['hosted', 'outside'],
      launch: [spec({ dispatch: 'queue', classes: ['last'], retry })],
    },
  };
  const runs: LaunchedRun[] = [];
  for (const id of ['r1', 'r2', 'r3']) runs.push(await launchNodes(baton, nodes, { run: id }));
  let hosts = await Promise.all(runs.map(() => start({ role: 'host', workerClass: 'coder' })));
  const tokens: string[] = [];
  for (const run of runs)
    tokens.push((await run.slot('outside').claim({ workerClass: 'coder', worker: 'person' })).lease.token);
  const working = (count: number) => waitFor(() => started.length === count, LONG);
  await working(3);
  const holds = async () => {
    for (const [index, run] of runs.entries()) {
      await waitFor(() => run.slot('outside').heartbeat(tokens[index]!), LONG);
      await expectInvariants(baton, run.run);
    }
    const listed = await baton.as().list();
    expect(listed.map(({ run, status }) => [run, status]).sort()).toEqual(
      ['r1', 'r2', 'r3'].map((run) => [run, 'running']),
    );
  };
  await holds();

  await restartable.server.kill();
  await restartable.server.restart();
  await holds();
  await crash(control);
  control = await start({ role: 'control' });
  await holds();
  expect(started).toHaveLength(3);
  for (const host of hosts) await crash(host);
  hosts = await Promise.all(runs.map(() => start({ role: 'host', workerClass: 'coder' })));
  await working(6);
  await holds();

  await Promise.all([restartable.server.kill(), crash(control), ...hosts.map(crash)]);
  await restartable.server.restart();
  control = await start({ role: 'control' });
  await holds();
  await start({ role: 'host', workerClass: 'coder', quick: true });
  await start({ role: 'host', workerClass: 'last', quick: true });
  for (const [index, run] of runs.entries())
    await run.slot('outside').complete(tokens[index]!, { result: index });
  for (const [index, run] of runs.entries()) {
    await waitFor(async () => (await run.show()).status === 'succeeded', LONG);
    expect(await run.result()).toEqual({ hosted: 'hosted', outside: index, after: 'after' });
    const attempts = (await run.attempts()).map((one) => [
      one.slot,
      one.number,
      one.epoch,
      one.worker.status,
    ]);
    expect(attempts, run.run).toEqual(
      expect.arrayContaining([
        ['hosted', 1, 1, 'lost'],
        ['hosted', 2, 2, 'lost'],
        ['hosted', 3, 3, 'succeeded'],
        ['outside', 1, 1, 'succeeded'],
        ['after', 1, 1, 'succeeded'],
      ]),
    );
    expect(attempts, run.run).toHaveLength(5);
    await expectInvariants(baton, run.run);
  }
  expect(new Set(started).size).toBe(started.length);
}, 300_000);
