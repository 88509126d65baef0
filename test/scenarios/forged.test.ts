/** S29: Temporal's own tools end the activity of a lease, with whatever payload. */
import { temporal } from '@temporalio/proto';
import { expect, test } from 'vitest';
import { workflowIdOf } from '../../src/domain/wire.js';
import { startBaton, type Baton } from '../support/baton.js';
import { spec } from '../support/definitions.js';
import { expectInvariants, expectRefused, stateOf } from '../support/invariants.js';
import { leaseActivity, lockStore, operate, pendingOf, watched } from '../support/operator.js';
import { launchNodes, untilSettled } from '../support/steps.js';
import { waitFor } from '../support/wait.js';

const { Payloads } = temporal.api.common.v1;

/** Two slots with direct leases; `b` has staged a completion that it never told. */
async function twoHolders(baton: Baton) {
  const run = await launchNodes(baton, {
    a: { launch: [spec({ ttl: '60s' })] },
    b: { launch: [spec({ ttl: '60s' })] },
  });
  const a = await run.slot('a').claim({ workerClass: 'coder', worker: 'w1' });
  const b = await run.slot('b').claim({ workerClass: 'coder', worker: 'w2' });
  const fence = { tenant: baton.tenant, run: run.run, slot: 'b', attempt: b.attempt, epoch: b.epoch };
  const { digest } = await baton.store.artifacts.putBytes(Buffer.from('"of b"'));
  const staged = await baton.store.attempts.stage({
    fence,
    kind: 'completion',
    result: digest,
    failure: null,
  });
  return { run, a, b, staged };
}

const FORGED: Readonly<Record<string, (stagedOfAnother: string) => readonly string[]>> = {
  'completed with a result of its own': () => ['complete', '--result', '{"report":"forged"}'],
  'completed with the staged id of another attempt': (id) => [
    'complete',
    '--result',
    JSON.stringify({ staged: id }),
  ],
  'completed with null': () => ['complete', '--result', 'null'],
  'completed with an array': () => ['complete', '--result', '[{"staged":1}]'],
  'failed with a reason': () => ['fail', '--reason', 'I say it failed'],
  'failed with a detail that is a staged id': (id) => [
    'fail',
    '--reason',
    'x',
    '--detail',
    JSON.stringify(id),
  ],
};

test.each(Object.keys(FORGED))(
  'S29 %s by Temporal’s command line: no success, a readable cause, the holder is told',
  async (how) => {
    const baton = await startBaton();
    const { run, a, b, staged } = await twoHolders(baton);
    const args = FORGED[how]?.(staged.id) ?? [];
    await operate(baton, run.run, ['activity', ...args, '--activity-id', leaseActivity('a', a.epoch)]);
    await untilSettled(run, 'a');
    expect(await run.slot('a').show()).toMatchObject({
      state: 'retry-wait',
      result: null,
      failure: { code: 'CompletedOutside' },
      counts: { claims: 1, failures: 1, losses: 0, releases: 0 },
    });
    expect(await run.attempts('a')).toMatchObject([
      { worker: { status: 'failed' }, lease: { status: 'released' }, failure: { code: 'CompletedOutside' } },
    ]);
    for (const act of [
      () => run.slot('a').heartbeat(a.lease.token),
      () => run.slot('a').save(a.lease.token, { kind: 'source', name: 'late', bytes: Buffer.from('x') }),
      () => run.slot('a').complete(a.lease.token, { result: 'mine' }),
    ])
      await expectRefused(baton, run.run, 'StaleLease', act);
    // The other one has lost nothing by lending its id.
    expect((await run.slot('b').heartbeat(b.lease.token)).lease.deadline).not.toBeNull();
    await expectInvariants(baton, run.run);
  },
);

test.each([
  ['a codec that nobody has', { encoding: 'binary/encrypted' }, Buffer.from([0, 1, 2])],
  ['JSON that is cut off', { encoding: 'json/plain' }, Buffer.from('{"staged":')],
  ['no encoding at all', {}, Buffer.from('x')],
])('S29 completed with a payload of %s: the run goes on', async (_what, metadata, data) => {
  const baton = await startBaton();
  const { run, a } = await twoHolders(baton);
  await baton.temporal.workflowService.respondActivityTaskCompletedById({
    namespace: 'default',
    workflowId: workflowIdOf(baton.tenant, run.run),
    activityId: leaseActivity('a', a.epoch),
    result: Payloads.create({
      payloads: [
        { metadata: Object.fromEntries(Object.entries(metadata).map(([k, v]) => [k, Buffer.from(v)])), data },
      ],
    }),
    identity: 'forger',
  });
  await untilSettled(run, 'a');
  expect(await run.slot('a').show()).toMatchObject({
    state: 'retry-wait',
    failure: { code: 'CompletedOutside' },
  });
  await expectInvariants(baton, run.run);
});

test.each(['Released', 'Failed', 'Revoked', 'NeverAttached', 'Lost'])(
  'S29 failed by a raw client as if by the holder (%s): no success and no attempt forgotten',
  async (type) => {
    const baton = await startBaton();
    const { run, a, staged } = await twoHolders(baton);
    const failure = {
      message: 'forged',
      source: 'forger',
      applicationFailureInfo: {
        type,
        nonRetryable: true,
        details: Payloads.create({
          payloads: [
            {
              metadata: { encoding: Buffer.from('json/plain') },
              data: Buffer.from(JSON.stringify(staged.id)),
            },
          ],
        }),
      },
    };
    await baton.temporal.workflowService.respondActivityTaskFailedById({
      namespace: 'default',
      workflowId: workflowIdOf(baton.tenant, run.run),
      activityId: leaseActivity('a', a.epoch),
      failure,
      identity: 'forger',
    });
    await untilSettled(run, 'a');
    const [attempt] = await run.attempts('a');
    expect(attempt?.worker.status).not.toBe('succeeded');
    const outside = type === 'Released' || type === 'Failed';
    expect(attempt?.failure?.code).toBe(
      outside ? 'CompletedOutside' : type === 'Revoked' ? 'Revoked' : 'LeaseExpired',
    );
    await expectRefused(baton, run.run, 'StaleLease', () => run.slot('a').heartbeat(a.lease.token));
    await expectInvariants(baton, run.run);
  },
);

test('S29 a hosted agent is told when its activity is completed by somebody else, and the slot can be worked on again', async () => {
  const baton = await startBaton();
  const { agent, runs, seen } = watched();
  const run = await launchNodes(baton, { a: { launch: [spec({ dispatch: 'queue', ttl: '3s' })] } });
  await baton.startHost([agent]);
  await waitFor(() => runs.length === 1);
  await operate(baton, run.run, [
    'activity',
    'complete',
    '--activity-id',
    leaseActivity('a', 1),
    '--result',
    '{"staged":"s-1"}',
  ]);
  await waitFor(() => runs[0]?.told, { what: 'the agent to be told' });
  expect(runs[0]?.told).toMatchObject({ code: 'StaleLease' });
  await untilSettled(run);
  expect(await run.attempts('a')).toMatchObject([{ failure: { code: 'CompletedOutside' } }]);
  await expectInvariants(baton, run.run);
  await run.slot('a').reassign({ workerClass: 'coder', reason: 'somebody forged its end' });
  await waitFor(() => runs.length === 2);
  runs[1]?.finish('real');
  expect(await run.result()).toEqual({ a: 'real' });
  expect(seen.atWork).toBe(1);
  await expectInvariants(baton, run.run);
});

const forgedClaim = {
  attempt: 'a-forged',
  number: 1,
  epoch: 1,
  worker: 'w-1',
  workerClass: 'coder',
  ownerActor: null,
  lease: 'l-forged',
  spec: 'main',
  hostQueue: '',
  ttlMs: 2_000,
  maxDurationMs: null,
  startedAt: 0,
};

test.each([
  ['null', () => null],
  ['a text', () => 'mine'],
  ['an attempt without a lease', () => ({ ...forgedClaim, lease: undefined })],
  ['an attempt on somebody’s own queue', () => ({ ...forgedClaim, hostQueue: 'elsewhere' })],
  ['an attempt with an epoch beyond all', () => ({ ...forgedClaim, epoch: Number.MAX_SAFE_INTEGER })],
  [
    'an attempt that nobody claimed, well formed',
    (baton: Baton) => ({ ...forgedClaim, hostQueue: `${baton.taskQueue}/host/nobody` }),
  ],
])('S29 an offer completed with %s is a failed claim, and a host gets the slot', async (_what, forge) => {
  const baton = await startBaton();
  const { agent, runs } = watched();
  const retry = { mode: 'manual', backoff: { initial: '200ms' } };
  const run = await launchNodes(baton, { a: { launch: [spec({ dispatch: 'queue', ttl: '2s', retry })] } });
  const [offer] = await waitFor(async () => {
    const offers = await pendingOf(baton, run.run, 'claimSlot');
    return offers.length > 0 ? offers : null;
  });
  await operate(baton, run.run, [
    'activity',
    'complete',
    '--activity-id',
    offer ?? '',
    '--result',
    JSON.stringify(forge(baton)),
  ]);
  await waitFor(async () => (await stateOf(baton, run.run)).state.slots['a']?.claimFailure, {
    what: 'the claim to fail',
  });
  await expectInvariants(baton, run.run);
  expect(await run.attempts('a')).toEqual([]);
  await baton.startHost([agent]);
  await waitFor(() => runs.length === 1);
  runs[0]?.finish('real');
  expect(await run.result()).toEqual({ a: 'real' });
  expect(await run.slot('a').show()).toMatchObject({ counts: { claims: 1, failures: 0, losses: 0 } });
  await expectInvariants(baton, run.run);
});

test.each([
  ['completed with null', ['complete', '--result', 'null']],
  ['completed with nonsense', ['complete', '--result', '{"end":"bliss"}']],
  ['failed', ['fail', '--reason', 'leave it']],
])('S29 bookkeeping that an operator %s is done all the same', async (_what, args) => {
  const baton = await startBaton();
  const { run, a } = await twoHolders(baton);
  const release = await lockStore(baton);
  try {
    await operate(baton, run.run, [
      'activity',
      'fail',
      '--reason',
      'enough',
      '--activity-id',
      leaseActivity('a', a.epoch),
    ]);
    const [settle] = await waitFor(async () => {
      const settles = await pendingOf(baton, run.run, 'settle');
      return settles.length > 0 ? settles : null;
    });
    await operate(baton, run.run, ['activity', ...args, '--activity-id', settle ?? '']);
    await waitFor(
      async () => {
        const again = await pendingOf(baton, run.run, 'settle');
        return again.length > 0 && again[0] !== settle;
      },
      { what: 'the settle to be scheduled again' },
    );
  } finally {
    release();
  }
  await untilSettled(run, 'a');
  expect(await run.attempts('a')).toMatchObject([
    { worker: { status: 'failed' }, failure: { code: 'CompletedOutside' } },
  ]);
  await expectInvariants(baton, run.run);
});
