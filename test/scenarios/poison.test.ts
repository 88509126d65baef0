/** S14: a slot that kills every worker is stopped by its loss budget, although nobody ever reports a failure. */
import { expect, test } from 'vitest';
import { defineAgent } from '../../src/agent/types.js';
import { startBaton, type Baton } from '../support/baton.js';
import { spec } from '../support/definitions.js';
import { expectInvariants, expectRefused } from '../support/invariants.js';
import { fixture, startNode } from '../support/processes.js';
import { launchNodes } from '../support/steps.js';
import { waitFor } from '../support/wait.js';

/** Starts a poisoned host again whenever it has died, as a supervisor would; `stop` ends that. */
function supervise(baton: Baton, workerClass: string) {
  const { address, storeUrl, taskQueue } = baton;
  const deaths: (string | null)[] = [];
  const stopped = new AbortController();
  let running: Awaited<ReturnType<typeof startNode>> | undefined;
  const done = (async () => {
    while (!stopped.signal.aborted) {
      running = await startNode(fixture(import.meta.url, 'fixtures/poison-host.ts'), [
        JSON.stringify({ address, storeUrl, taskQueue, workerClass }),
      ]);
      deaths.push((await running.exited).signal);
    }
  })();
  done.catch(() => undefined);
  return {
    deaths,
    async stop() {
      stopped.abort();
      await running?.stop(2_000);
      await done;
    },
  };
}

test(
  'S14 losses are counted, the budget stops the slot with a readable cause, other slots go on, a reassign starts afresh',
  { timeout: 240_000 },
  async () => {
    const baton = await startBaton();
    const retry = { mode: 'auto', losses: 2, backoff: { initial: '100ms', max: '100ms' } };
    const run = await launchNodes(baton, {
      poison: { launch: [spec({ dispatch: 'queue', ttl: '2s', retry, classes: ['victim', 'healer'] })] },
      other: { launch: [spec({ dispatch: 'queue', classes: ['healer'] })] },
      direct: { launch: [spec({ ttl: '120s' })] },
    });
    const { lease } = await run.slot('direct').claim({ workerClass: 'coder', worker: 'w1' });
    const supervisor = supervise(baton, 'victim');
    const stuck = await waitFor(
      async () => {
        await expectInvariants(baton, run.run);
        const shown = await run.slot('poison').show();
        // The gate closes when the loss is known; what an operator may do is said once its record is written.
        const stopped = shown.state === 'retry-wait' && shown.gate === 'reassign';
        return stopped && /reassign/.test(shown.waitsFor ?? '') ? shown : null;
      },
      { what: 'the loss budget to stop the slot', timeoutMs: 120_000, everyMs: 200 },
    );
    expect(stuck).toMatchObject({ counts: { claims: 2, failures: 0, losses: 2, releases: 0 } });
    expect(stuck.failure?.code).toBe('LeaseExpired');
    expect(stuck.failure?.message).toMatch(/budget of 2 losses used up/);
    await waitFor(() => supervisor.deaths.length >= 2);
    expect(supervisor.deaths).toEqual(['SIGKILL', 'SIGKILL']);
    await waitFor(async () => (await run.attempts('poison')).every(({ endedAt }) => endedAt !== null));
    for (const attempt of await run.attempts('poison'))
      expect(attempt).toMatchObject({
        worker: { status: 'lost' },
        lease: { status: 'expired' },
        failure: { code: 'LeaseExpired' },
      });
    await expectRefused(baton, run.run, 'SlotNotClaimable', () =>
      run.slot('poison').claim({ workerClass: 'victim', worker: 'w' }),
    );
    await supervisor.stop();

    // Its neighbours notice nothing: the direct lease is alive, the other slot is worked on.
    expect((await run.slot('direct').complete(lease.token, { result: 1 })).state).toBe('succeeded');
    await baton.startHost([defineAgent({ workerClass: 'healer', run: async (ctx) => ctx.number })]);
    await waitFor(async () => (await run.slot('other').show()).state === 'succeeded');
    expect((await run.slot('poison').show()).state).toBe('retry-wait');
    await expectInvariants(baton, run.run);
    await run.slot('poison').reassign({ workerClass: 'healer', reason: 'victims die of it' });
    expect(await run.result()).toEqual({ poison: 3, other: 1, direct: 1 });
    expect(await run.slot('poison').show()).toMatchObject({ counts: { claims: 3, losses: 2 } });
    await expectInvariants(baton, run.run);
  },
);

test(
  'S14 with `onExhausted: fail` the slot and its run fail with the cause',
  { timeout: 120_000 },
  async () => {
    const baton = await startBaton();
    const retry = { mode: 'auto', losses: 1, onExhausted: 'fail' };
    const run = await launchNodes(baton, {
      poison: { launch: [spec({ dispatch: 'queue', ttl: '2s', retry, classes: ['victim'] })] },
    });
    const supervisor = supervise(baton, 'victim');
    await expect(run.result()).rejects.toMatchObject({
      code: 'RunFailed',
      message: expect.stringContaining('budget of 1 losses used up') as string,
    });
    await supervisor.stop();
    expect(await run.slot('poison').show()).toMatchObject({
      state: 'failed',
      counts: { claims: 1, losses: 1 },
    });
    await expectInvariants(baton, run.run);
  },
);
