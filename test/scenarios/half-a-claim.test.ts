/**
 * S7: half a claim. Each store call of a claim goes wrong once, and the process that claims is killed between each two:
 * either attempt and lease, or neither; the slot is claimable again, and a failed claim shows as such.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { defineAgent } from '../../src/agent/types.js';
import { BatonClient } from '../../src/client/client.js';
import type { RunHandle } from '../../src/client/run-handle.js';
import type { SlotHandle } from '../../src/client/slot-handle.js';
import { startControlWorker } from '../../src/host/control.js';
import type { Running } from '../../src/host/workers.js';
import type { Store } from '../../src/store/port.js';
import { startBaton, type Baton } from '../support/baton.js';
import { compileFixtures } from '../support/compiled.js';
import { spec } from '../support/definitions.js';
import { faultyStore, FAULTS, type StoreCall } from '../support/faulty-store.js';
import { expectInvariants } from '../support/invariants.js';
import { startNode } from '../support/processes.js';
import { launchNodes } from '../support/steps.js';
import { waitFor } from '../support/wait.js';
import type { WorkerProcess } from './fixtures/worker-process.js';

/** The store calls of a claim, up to its attachment. The first test fails when a claim makes others. */
const CALLS: readonly StoreCall[] = [
  { name: 'revisions.pinned', nth: 1 },
  { name: 'revisions.pinned', nth: 2 },
  { name: 'revisions.pinned', nth: 3 },
  { name: 'artifacts.readBytes', nth: 1 },
  { name: 'attempts.claim', nth: 1 },
  { name: 'attempts.attach', nth: 1 },
];
const CLAIM = 4;
const ATTACH = 5;
/** Where a process is killed; between a write and what follows it are two places: told to Temporal or not. */
const KILLS: readonly NonNullable<WorkerProcess['halt']>[] = [
  ...CALLS.map((_, call) => ({ call, when: 'before' as const })),
  { call: CLAIM, when: 'after' },
  { call: ATTACH, when: 'after' },
];
const PATIENCE = { timeoutMs: 90_000 };
const nothing = { claims: 0, failures: 0, losses: 0, releases: 0 };

let fixtures: Awaited<ReturnType<typeof compileFixtures>>;
beforeAll(async () => {
  fixtures = await compileFixtures(['scenarios/fixtures/worker-process.ts']);
});
afterAll(() => fixtures.remove());

const node = (options: Parameters<typeof spec>[0]) => ({ launch: [spec(options)], prompt: 'Do it.' });

/** A control worker of the test's own over another view of the store; stopped by the caller. */
async function control(baton: Baton, store: Store): Promise<() => Promise<void>> {
  const { native, taskQueue } = baton;
  const worker: Running = await startControlWorker({ connection: native, store, taskQueue });
  const ended = worker.run();
  return () => worker.shutdown().then(() => ended);
}

/** Claims, which must work, and ends the work. */
async function claimAndComplete(
  slot: SlotHandle,
  worker: string,
): Promise<{ number: number; epoch: number }> {
  const { lease, number, epoch } = await slot.claim({ workerClass: 'coder', worker });
  await slot.complete(lease.token, { result: worker });
  return { number, epoch };
}

/** The run's one slot is done, by the only attempt that there is. */
async function expectOneAttempt(baton: Baton, run: RunHandle, where: string): Promise<void> {
  await run.result();
  const attempts = (await run.attempts()).map(({ number, worker }) => [number, worker.status]);
  expect(attempts, where).toEqual([[1, 'succeeded']]);
  expect((await run.slot('a').show()).counts, where).toEqual({ ...nothing, claims: 1 });
  await expectInvariants(baton, run.run);
}

/** The claim came to nothing, and says so. */
async function expectNoClaim(baton: Baton, run: string, slot: SlotHandle, code: string): Promise<void> {
  // One look for all: where the control worker is slow to answer, the next one may be from the store, which knows no failed claims.
  const shown = await waitFor(
    async () => {
      const view = await slot.show();
      return view.claimFailure?.code === code ? view : null;
    },
    { ...PATIENCE, what: `the failed claim of ${slot.slot} to show as ${code}` },
  );
  expect(shown).toMatchObject({ state: 'open', gate: null, counts: nothing, activeWorker: null });
  expect(shown.waitsFor).toContain(`last claim failed: ${code}`);
  // The answer does not wait for the store to take the row back: it may be the store that is away.
  const gone = async () => (await slot.attempts()).length === 0;
  await waitFor(gone, { ...PATIENCE, what: `the row of the failed claim of ${slot.slot} to be void` });
  await expectInvariants(baton, run);
}

test.each(FAULTS)(
  'S7 each store call of a direct claim %s: attempt and lease or neither, and claimable again',
  async (how) => {
    const baton = await startBaton({ control: false });
    const faulty = faultyStore(baton.store);
    const stop = await control(baton, faulty.store);
    try {
      for (const call of CALLS) {
        const run = await launchNodes(baton, { a: node({ ttl: '6s' }) });
        const slot = run.slot('a');
        const where = `${call.name} ${call.nth} ${how}`;
        faulty.arm({ ...call, how });
        const code = await slot.claim({ workerClass: 'coder', worker: 'w1' }).then(
          async ({ lease, number }) => {
            await expectInvariants(baton, run.run);
            expect(number, where).toBe(1);
            await slot.complete(lease.token, { result: 'w1' });
            return null;
          },
          (error: unknown) => (error as { code: string }).code,
        );
        expect(faulty.struck, where).toBe(true);
        if (call.name !== 'attempts.attach') {
          expect(code, where).toBe('StoreUnavailable');
          await expectNoClaim(baton, run.run, slot, 'StoreUnavailable');
        } else if (how === 'hangs' && code !== null) {
          // No time was left in this TTL to try again: the lease never attached. With time left the second try is the lease.
          expect(code, where).toBe('SlotNotClaimable');
          await expectNoClaim(baton, run.run, slot, 'NeverAttached');
        } else expect(code, where).toBeNull();
        if (code !== null) expect((await claimAndComplete(slot, 'w2')).number, where).toBe(1);
        await expectOneAttempt(baton, run, where);
      }
    } finally {
      await stop();
    }
  },
  180_000,
);

test.each(['fails', 'loses its answer'] as const)(
  'S7 each store call of the claiming client %s: the same command id then gives the one claim',
  async (how) => {
    const baton = await startBaton();
    const faulty = faultyStore(baton.store);
    const { temporal, tenant, taskQueue } = baton;
    const client = new BatonClient(temporal, { tenant, actor: 'ada', store: faulty.store, taskQueue });
    const claimOf = async (commandId: string) => {
      const run = await launchNodes(baton, { a: node({ ttl: '20s' }) });
      const claim = () =>
        client.run(run.run).slot('a').claim({ workerClass: 'coder', worker: 'w1', commandId });
      return { run, claim };
    };
    const plain = await claimOf('c');
    faulty.arm();
    await plain.claim();
    // Looks for the attachment are as many as it takes; each other call is there once.
    const calls = faulty.calls.filter(({ name, nth }) => nth === 1 || name !== 'attempts.get');
    expect(calls.map(({ name }) => name)).toContain('key');
    for (const call of calls) {
      const where = `${call.name} ${call.nth} ${how}`;
      const { run, claim } = await claimOf('c');
      faulty.arm({ ...call, how });
      const refused = await claim().then(
        () => null,
        (error: unknown) => (error as { code: string }).code,
      );
      expect(faulty.struck, where).toBe(true);
      expect(['StoreUnavailable', null], where).toContain(refused);
      const first = await claim();
      expect(await claim(), where).toEqual(first);
      expect(await run.attempts(), where).toMatchObject([
        { attempt: first.attempt, number: 1, lease: { status: 'live' } },
      ]);
      await expectInvariants(baton, run.run);
      await run.slot('a').complete(first.lease.token, { result: 1 });
    }
  },
  180_000,
);

test.each(FAULTS)(
  'S7 each store call of a host’s claim %s: one attempt, worked on once',
  async (how) => {
    const baton = await startBaton();
    const classes = CALLS.map((_, index) => `coder-${index}`);
    const started: string[] = [];
    const faults = await Promise.all(
      classes.map(async (workerClass, index) => {
        const faulty = faultyStore(baton.store);
        faulty.arm({ ...CALLS[index]!, how });
        const agent = defineAgent({ workerClass, run: async (ctx) => void started.push(ctx.slot) });
        await baton.startHost([agent], { store: faulty.store });
        return faulty;
      }),
    );
    const nodes = classes.map((name) => [name, node({ classes: [name], dispatch: 'queue', ttl: '15s' })]);
    const run = await launchNodes(baton, Object.fromEntries(nodes));
    await run.result();
    expect(faults.map(({ struck }) => struck)).toEqual(classes.map(() => true));
    expect([...started].sort()).toEqual(classes);
    const attempts = (await run.attempts()).map(({ slot, number, worker }) => [slot, number, worker.status]);
    expect(attempts.sort()).toEqual(classes.map((name) => [name, 1, 'succeeded']));
    for (const slot of (await run.show()).slots) expect(slot.counts).toEqual({ ...nothing, claims: 1 });
    await expectInvariants(baton, run.run);
  },
  120_000,
);

/** Starts the process, and kills it where it says that it has halted. */
async function killWhere(options: WorkerProcess, meanwhile: () => unknown = () => undefined): Promise<void> {
  const file = fixtures.path('scenarios/fixtures/worker-process.ts');
  const child = await startNode(file, [JSON.stringify(options)]);
  await meanwhile();
  const { call, when } = options.halt!;
  const line = await child.ready(/^halted /, 60_000);
  expect(line).toBe(`halted ${when} ${CALLS[call]!.name}`);
  child.kill('SIGKILL');
  expect((await child.exited).signal).toBe('SIGKILL');
}

test('S7 a host killed between each two store calls of a claim: attempt and lease or neither', async () => {
  const baton = await startBaton();
  const { address, storeUrl, taskQueue } = baton;
  const classes = KILLS.map(({ call, when }) => `${when}-${call}`);
  const retry = { mode: 'auto', backoff: { initial: '100ms' } };
  const nodes = classes.map((name) => [name, node({ classes: [name], dispatch: 'queue', ttl: '3s', retry })]);
  const run = await launchNodes(baton, Object.fromEntries(nodes));
  for (const [index, halt] of KILLS.entries()) {
    const workerClass = classes[index]!;
    await killWhere({ role: 'host', address, storeUrl, taskQueue, workerClass, halt });
    const rows = await baton.store.attempts.list(baton.tenant, run.run, workerClass);
    const written = halt.call > CLAIM || halt.when === 'after';
    const status = halt.call === ATTACH && halt.when === 'after' ? 'live' : 'provisional';
    expect(
      rows.map(({ leaseStatus }) => leaseStatus),
      workerClass,
    ).toEqual(written ? [status] : []);
    await expectInvariants(baton, run.run);
  }
  // Claimed, and the host died before it attached: it is told as a failed claim, and the slot is where it was.
  const claimed = classes[ATTACH]!;
  await expectNoClaim(baton, run.run, run.slot(claimed), 'NeverAttached');

  const started: string[] = [];
  await baton.startHost(
    classes.map((workerClass) =>
      defineAgent({ workerClass, run: async (ctx) => void started.push(ctx.slot) }),
    ),
  );
  await run.result();
  expect([...started].sort()).toEqual([...classes].sort());
  for (const [index, halt] of KILLS.entries()) {
    const name = classes[index]!;
    const ends = (await run.attempts(name)).map(({ number, worker }) => [number, worker.status]);
    const attached = halt.call === ATTACH && halt.when === 'after';
    // Attached is at work, whatever the host had come to: a loss like any other.
    expect(ends, name).toEqual(
      attached
        ? [
            [1, 'lost'],
            [2, 'succeeded'],
          ]
        : [[1, 'succeeded']],
    );
    expect((await run.slot(name).show()).counts, name).toEqual(
      attached ? { ...nothing, claims: 2, losses: 1 } : { ...nothing, claims: 1 },
    );
  }
  await expectInvariants(baton, run.run);
}, 240_000);

test('S7 a control worker killed between each two store calls of a direct claim: attempt and lease or neither', async () => {
  const after = KILLS.map((halt) => ({ halt, settled: Promise.resolve() }));
  for (const entry of after) {
    const { halt } = entry;
    const where = `${halt.when} ${CALLS[halt.call]!.name}`;
    const baton = await startBaton({ control: false });
    const { address, storeUrl, taskQueue } = baton;
    const { run: id } = await launchNodes(baton, { a: node({ ttl: '8s' }) });
    const run = baton.as('ada', PATIENCE).run(id);
    const slot = run.slot('a');
    const claim = { workerClass: 'coder', worker: 'w1', commandId: 'first' };
    let claiming: Promise<{ code: string | null; token: string | null }> | undefined;
    await killWhere({ role: 'control', address, storeUrl, taskQueue, halt }, () => {
      claiming = slot.claim(claim).then(
        ({ lease }) => ({ code: null, token: lease.token }),
        (error: unknown) => ({ code: (error as { code: string }).code, token: null }),
      );
    });
    await baton.startControl();
    // What is left is waiting for Temporal's timeouts: the next kill goes on beside it.
    entry.settled = (async () => {
      const { code, token } = (await claiming)!;
      if (halt.call === ATTACH && halt.when === 'after') {
        expect(code, where).toBeNull();
        await slot.complete(token!, { result: 'w1' });
      } else {
        const attaching = halt.call === ATTACH;
        expect(code, where).toBe(attaching ? 'SlotNotClaimable' : 'StoreUnavailable');
        await expectNoClaim(baton, id, slot, attaching ? 'NeverAttached' : 'StoreUnavailable');
        const { number, epoch } = await claimAndComplete(slot, 'w2');
        expect(number, where).toBe(1);
        // Whatever was written of the first claim, its epoch is not used again.
        expect(epoch, where).toBe(halt.call > CLAIM || halt.when === 'after' ? 2 : 1);
      }
      await expectOneAttempt(baton, run, where);
    })();
    entry.settled.catch(() => undefined);
  }
  await Promise.all(after.map(({ settled }) => settled));
}, 240_000);
