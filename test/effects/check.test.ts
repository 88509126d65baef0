/**
 * The authority check on a real run: yes only while store and Temporal both hold the lease for live; no for every way in which
 * an attempt loses it; and what cannot be told is never a yes.
 */
import { describe, expect, test } from 'vitest';
import { workflowIdOf } from '../../src/domain/wire.js';
import { authorityCheck, type Purpose } from '../../src/effects/check.js';
import { authorityToken } from '../../src/effects/token.js';
import { startBaton, type Baton } from '../support/baton.js';
import { spec } from '../support/definitions.js';
import { leaseActivity, lockStore, operate, watched } from '../support/operator.js';
import { newestAuthority } from '../support/authority.js';
import { launchDirect, launchNodes, rollOver, untilSettled } from '../support/steps.js';
import { waitFor } from '../support/wait.js';

const code = (expected: string) => expect.objectContaining({ code: expected });
const no = (why: RegExp) =>
  expect.objectContaining({ code: 'StaleLease', message: expect.stringMatching(why) });

/** The check, and the token of the slot's newest attempt. */
async function asking(baton: Baton, patienceMs?: number) {
  const check = authorityCheck({
    store: baton.store,
    client: baton.temporal,
    ...(patienceMs === undefined ? {} : { patienceMs }),
  });
  return { check, newest: (run: string, slot?: string) => newestAuthority(baton, run, slot) };
}

describe('the authority check', () => {
  test('says yes to a live lease, hosted or direct, and no to what was not made by this store or is another epoch', async () => {
    const baton = await startBaton();
    const { agent, runs } = watched();
    await baton.startHost([agent]);
    const hosted = spec({ dispatch: 'queue', ttl: '30s' });
    const run = await launchNodes(baton, {
      a: { launch: [hosted] },
      b: { launch: [spec({ classes: ['human'], ttl: '30s' })] },
    });
    await waitFor(() => runs.length === 1);
    await run.slot('b').claim({ workerClass: 'human', worker: 'w1' });
    const { check, newest } = await asking(baton);
    for (const slot of ['a', 'b']) {
      const { fence, token } = await newest(run.run, slot);
      expect(await check(token)).toEqual(fence);
      // At work it may stop by itself what it began; to withdraw is for after the lease.
      await expect(check(token, { purpose: 'withdraw', signal: AbortSignal.abort() })).rejects.toThrow(
        code('AuthorityUnsettled'),
      );
    }
    const { fence, token } = await newest(run.run);
    const key = await baton.store.key();
    await expect(check(authorityToken(Buffer.alloc(32), fence))).rejects.toThrow(
      no(/not made by this store/),
    );
    await expect(check('nonsense')).rejects.toThrow(no(/not one/));
    for (const other of [
      { ...fence, epoch: fence.epoch + 1 },
      { ...fence, attempt: 'another' },
      { ...fence, slot: 'b' },
      { ...fence, run: 'another' },
      { ...fence, tenant: 'another' },
    ])
      await expect(check(authorityToken(key, other))).rejects.toThrow(code('StaleLease'));
    expect(await check(token)).toEqual(fence);
    runs[0]!.finish('done');
    await untilSettled(run);
    await expect(check(token)).rejects.toThrow(no(/released/));
  });

  test('says no to a lease that is over and that nobody has recorded yet, and after a successor came', async () => {
    const baton = await startBaton({ control: false });
    const stop = await baton.startControl();
    const run = await launchDirect(baton, { ttl: '4s' });
    await run.slot('a').claim({ workerClass: 'coder', worker: 'w1' });
    const { check, newest } = await asking(baton);
    const first = await newest(run.run);
    await stop();
    await waitFor(async () => {
      const error = await check(first.token).catch((cause: unknown) => cause);
      expect(error).toEqual(no(/Temporal has ended the lease/));
      return true;
    });
    expect((await baton.store.attempts.get(baton.tenant, run.run, first.fence.attempt))?.leaseStatus).toBe(
      'live',
    );
    // How it ended is for settle to record; until then nobody may withdraw on its behalf.
    await expect(check(first.token, { purpose: 'withdraw' })).rejects.toThrow(code('AuthorityUnsettled'));
    await baton.startControl();
    await untilSettled(run);
    await expect(check(first.token)).rejects.toThrow(no(/expired/));
    await run.slot('a').reassign({ workerClass: 'coder', reason: 'w1 is gone' });
    await run.slot('a').claim({ workerClass: 'coder', worker: 'w2' });
    const second = await newest(run.run);
    await expect(check(first.token)).rejects.toThrow(no(/another attempt/));
    expect(await check(second.token)).toEqual(second.fence);
  });

  test.each([
    [
      'pause',
      (baton: Baton, run: string) =>
        operate(baton, run, ['activity', 'pause', '--activity-id', leaseActivity('a', 1)]),
    ],
    [
      'terminate',
      async (baton: Baton, run: string) => {
        await baton.temporal.workflow.getHandle(workflowIdOf(baton.tenant, run)).terminate('for the test');
      },
    ],
  ])('says no after an operator’s %s', async (_what, act) => {
    const baton = await startBaton();
    const run = await launchDirect(baton, { ttl: '60s' });
    await run.slot('a').claim({ workerClass: 'coder', worker: 'w1' });
    const { check, newest } = await asking(baton, 500);
    const { token } = await newest(run.run);
    await check(token);
    await act(baton, run.run);
    await expect(check(token)).rejects.toThrow(code('StaleLease'));
    await expect(check(token, { purpose: 'withdraw' })).rejects.toThrow(code('AuthorityUnsettled'));
  });

  test.each<[string, 'cancel' | 'revoke', boolean]>([
    ['a cancelled slot has none to act, but may withdraw: nobody comes after it', 'cancel', true],
    ['a revoked one may do neither: a successor may go on with what runs', 'revoke', false],
  ])('%s', async (_what, command, mayWithdraw) => {
    const baton = await startBaton();
    const run = await launchNodes(baton, { a: { launch: [spec({ ttl: '30s' })] }, b: {} });
    await run.slot('a').claim({ workerClass: 'coder', worker: 'w1' });
    const { check, newest } = await asking(baton);
    const { fence, token } = await newest(run.run);
    await run.slot('a')[command]({ reason: 'for the test' });
    // From the moment of the answer on, settled or not.
    await expect(check(token)).rejects.toThrow(code('StaleLease'));
    const withdrawn = check(token, { purpose: 'withdraw' });
    if (mayWithdraw) expect(await withdrawn).toEqual(fence);
    else await expect(withdrawn).rejects.toThrow(no(/successor/));
  });

  test('waits while the lease moves to a new execution, and is unsettled when it never comes', async () => {
    const baton = await startBaton();
    const run = await launchDirect(baton, { ttl: '4s' });
    const { lease } = await run.slot('a').claim({ workerClass: 'coder', worker: 'w1' });
    const { check, newest } = await asking(baton);
    const { fence, token } = await newest(run.run);
    const here = (await baton.store.attempts.get(baton.tenant, run.run, fence.attempt))!.attachment!;
    const attach = (workflowRunId: string) =>
      baton.store.attempts.attach({ fence, attachment: { ...here, workflowRunId }, at: 0 });
    // The store's row as it is in the gap: attached to an execution that is not the newest.
    await attach('the-execution-before');
    const waiting = check(token);
    await expect(check(token, { signal: AbortSignal.abort() })).rejects.toThrow(code('AuthorityUnsettled'));
    await attach(here.workflowRunId);
    expect(await waiting).toEqual(fence);
    await attach('the-execution-before');
    const short = authorityCheck({ store: baton.store, client: baton.temporal, patienceMs: 300 });
    await expect(short(token)).rejects.toThrow(code('AuthorityUnsettled'));
    const from = performance.now();
    for (const purpose of ['act', 'withdraw'] satisfies Purpose[])
      await expect(short(token, { purpose })).rejects.toThrow(code('AuthorityUnsettled'));
    expect(performance.now() - from).toBeGreaterThan(500);
    await attach(here.workflowRunId);
    expect(await run.slot('a').heartbeat(lease.token)).toMatchObject({ state: 'active' });
  });

  test('through roll-overs of the run a lease that goes on is never denied', async () => {
    const baton = await startBaton();
    const { agent, runs } = watched();
    await baton.startHost([agent]);
    const run = await launchNodes(
      baton,
      { a: { launch: [spec({ dispatch: 'queue', ttl: '20s' })] }, noise: {} },
      { rollOverEvents: 40 },
    );
    await waitFor(() => runs.length === 1);
    const { check, newest } = await asking(baton);
    const { fence, token } = await newest(run.run);
    let rolling = true;
    const asked = (async () => {
      let answers = 0;
      while (rolling) {
        expect(await check(token)).toEqual(fence);
        answers += 1;
      }
      return answers;
    })();
    asked.catch(() => undefined);
    await rollOver(baton, run);
    await rollOver(baton, run);
    rolling = false;
    expect(await asked).toBeGreaterThan(3);
    expect(runs).toHaveLength(1);
  }, 120_000);

  test('a store or server that is away is no yes and no no', async () => {
    const baton = await startBaton();
    const run = await launchDirect(baton, { ttl: '60s' });
    await run.slot('a').claim({ workerClass: 'coder', worker: 'w1' });
    const { check, newest } = await asking(baton);
    const { token } = await newest(run.run);
    await check(token);
    const unlock = await lockStore(baton);
    // SQLite's readers go on beside a writer; what a locked store means is that nothing new is said.
    expect(await check(token)).toMatchObject({ slot: 'a' });
    unlock();
    await baton.store.close();
    await expect(check(token)).rejects.toThrow(code('StoreUnavailable'));
  });
});
