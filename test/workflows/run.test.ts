import { expect, test } from 'vitest';
import { defineAgent } from '../../src/agent/types.js';
import { startBaton } from '../support/baton.js';
import { documents, spec } from '../support/definitions.js';
import { untilSettled } from '../support/steps.js';
import { eventsOf, expectInvariants } from '../support/invariants.js';

test('a queue slot is worked on by a host and the run succeeds with its result', async () => {
  const baton = await startBaton();
  const client = baton.as();
  await client.publish({
    documents: documents({
      a: { launch: [spec({ dispatch: 'queue' })] },
      b: { dependsOn: ['a'], launch: [spec({ dispatch: 'queue' })] },
    }),
  });
  await baton.startHost([
    defineAgent({
      workerClass: 'coder',
      run: async (ctx) => ({ slot: ctx.slot, up: ctx.upstream, input: ctx.input }),
    }),
  ]);
  const run = await client.launch({ package: 'job', input: { x: 1 } });
  expect(await run.result()).toEqual({
    a: { slot: 'a', up: {}, input: { x: 1 } },
    b: { slot: 'b', up: { a: { slot: 'a', up: {}, input: { x: 1 } } }, input: { x: 1 } },
  });
  const shown = await run.show();
  expect(shown.status).toBe('succeeded');
  await expectInvariants(baton, run.run);
});

test('an attempt that succeeds at once costs at most 18 events beyond the run itself', async () => {
  const baton = await startBaton();
  const client = baton.as();
  await client.publish({ documents: documents({ a: { launch: [spec({ dispatch: 'queue' })] } }) });
  await baton.startHost([defineAgent({ workerClass: 'coder', run: async () => 1 })]);
  const run = await client.launch({ package: 'job' });
  await run.result();
  const events = await eventsOf(baton, run.run);
  const types = events.map((event) => event.eventType);
  console.log(types.length, types.join(' '));
  expect(types.length).toBeLessThanOrEqual(18 + 5 + 3);
});

test('a direct slot expires, is reassigned, claimed again and completed', async () => {
  const baton = await startBaton();
  const client = baton.as();
  await client.publish({
    documents: documents({
      a: { launch: [spec({ id: 'one', ttl: '1s' }), spec({ id: 'two', classes: ['senior'], ttl: '5s' })] },
    }),
  });
  const run = await client.launch({ package: 'job' });
  const slot = run.slot('a');
  const first = await slot.claim({ workerClass: 'coder', worker: 'w1' });
  await untilSettled(run);
  expect((await run.attempts())[0]?.lease.status).toBe('expired');
  await expectInvariants(baton, run.run);
  const answer = await slot.reassign({ workerClass: 'senior', reason: 'host lost' });
  expect(answer).toMatchObject({ slot: 'a', state: 'retry-wait', gate: 'open', spec: 'two' });
  await expectInvariants(baton, run.run);
  const second = await slot.claim({ workerClass: 'senior', worker: 'w2' });
  expect(second.epoch).toBeGreaterThan(first.epoch);
  const done = await slot.complete(second.lease.token, { result: { ok: true } });
  expect(done.state).toBe('succeeded');
  expect(await run.result()).toEqual({ a: { ok: true } });
  await expectInvariants(baton, run.run);
});
