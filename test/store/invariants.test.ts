/** Random commands by random holders, stale ones too: after each, I1, I2, I3 and the epochs hold. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isTerminalLease, isTerminalWorker, type EndKind } from '../../src/domain/types.js';
import { BatonError } from '../../src/domain/errors.js';
import { openStore } from '../../src/store/open.js';
import type { AttemptRow, Fence, Store } from '../../src/store/port.js';
import { attachment, claimInput, fenceOf, RUN, settleInput } from './inputs.js';

const SLOTS = ['a', 'b'] as const;
const ENDS: readonly EndKind[] = [
  'success',
  'failure',
  'outside',
  'expired',
  'max-duration',
  'released',
  'revoked',
  'cancelled',
  'never-attached',
];

interface Known {
  readonly fence: Fence;
  staged: string | null;
}
type Command = (store: Store, known: Known[]) => Promise<void>;

/** A command about one of the attempts made so far, current or long over. */
const onSome =
  (act: (store: Store, one: Known) => Promise<unknown>) =>
  (pick: number): Command =>
  async (store, known) => {
    const one = known[pick % Math.max(known.length, 1)];
    if (one) await act(store, one);
  };
const pick = fc.nat(30);

const claims = fc
  .record({
    slot: fc.constantFrom(...SLOTS),
    offer: fc.nat(8),
    try: fc.integer({ min: 1, max: 3 }),
    host: fc.nat(1),
    last: fc.nat(3),
  })
  .map(({ slot, offer, try: attempt, host, last }): Command => async (store, known) => {
    const who = { worker: `w${host}`, hostQueue: `h${host}` };
    const ref = await store.attempts.claim(
      claimInput({ slot, claimId: `${slot}:${offer}`, try: attempt, lastEpoch: last, ...who }),
    );
    known.push({ fence: fenceOf(ref, slot), staged: null });
  });
const attaches = pick.map(
  onSome((store, { fence }) => store.attempts.attach({ fence, attachment: attachment(), at: 1 })),
);
const beats = pick.map(onSome((store, { fence }) => store.attempts.beat({ fence, deadline: 5 })));
const stages = fc.tuple(pick, fc.constantFrom('completion', 'failure', 'release')).map(([index, kind]) =>
  onSome(async (store, one) => {
    const failure = kind === 'failure' ? { code: 'X', message: 'x' } : null;
    one.staged = (await store.attempts.stage({ fence: one.fence, kind, result: null, failure })).id;
  })(index),
);
const settles = fc
  .tuple(pick, fc.constantFrom(...ENDS), fc.boolean())
  .map(([index, end, right]) =>
    onSome((store, { fence, staged }) =>
      store.attempts.settle(settleInput(fence, { end, staged: right ? staged : null })),
    )(index),
  );
const voids = fc.tuple(fc.constantFrom(...SLOTS), fc.nat(8)).map(
  ([slot, offer]): Command =>
    (store) =>
      store.attempts.voidClaim({ ...RUN, slot, claimId: `${slot}:${offer}` }),
);
const commands = fc.oneof(
  { arbitrary: claims, weight: 4 },
  { arbitrary: attaches, weight: 4 },
  { arbitrary: stages, weight: 2 },
  { arbitrary: settles, weight: 2 },
  { arbitrary: beats, weight: 1 },
  { arbitrary: voids, weight: 1 },
);

describe('invariants of the store', () => {
  it('hold after every one of random commands', { timeout: 120_000 }, async () => {
    const property = fc.asyncProperty(fc.array(commands, { maxLength: 40 }), async (sequence) => {
      const store = await openStore('sqlite::memory:');
      try {
        const known: Known[] = [];
        const over = new Map<string, AttemptRow>();
        for (const command of sequence) {
          await command(store, known).catch((error: unknown) => {
            // A refusal by rule is an answer; anything else is a fault.
            if (!(error instanceof BatonError) || error.code === 'StoreUnavailable') throw error;
          });
          await check(store, known, over);
        }
      } finally {
        await store.close();
      }
    });
    await fc.assert(property, { numRuns: 150 });
  });
});

async function check(store: Store, known: readonly Known[], over: Map<string, AttemptRow>): Promise<void> {
  const epochs = new Map<string, string>();
  const live = new Map<string, number>();
  for (const { fence } of known) {
    const row = await store.attempts.get(RUN.tenant, RUN.run, fence.attempt);
    if (row === null) throw new Error(`attempt ${fence.attempt} is gone`);
    expect(row.workerStatus === 'running').toBe(row.leaseStatus === 'live'); // I1
    expect(isTerminalWorker(row.workerStatus)).toBe(isTerminalLease(row.leaseStatus));
    const other = epochs.get(`${row.slot}@${row.epoch}`);
    expect(other ?? row.attempt).toBe(row.attempt); // an epoch belongs to one attempt for ever
    epochs.set(`${row.slot}@${row.epoch}`, row.attempt);
    if (isTerminalLease(row.leaseStatus)) {
      expect(row).toEqual(over.get(row.attempt) ?? row); // I3
      over.set(row.attempt, row);
    }
  }
  const listed = await store.attempts.list(RUN.tenant, RUN.run);
  for (const row of listed) if (row.leaseStatus === 'live') live.set(row.slot, (live.get(row.slot) ?? 0) + 1);
  for (const count of live.values()) expect(count).toBe(1); // I2
  for (const slot of SLOTS) {
    const rows = listed.filter((row) => row.slot === slot);
    expect(rows.filter((row) => !isTerminalLease(row.leaseStatus)).length).toBeLessThanOrEqual(1);
    expect(rows.map((row) => row.epoch)).toEqual(rows.map((row) => row.epoch).sort((a, b) => a - b));
  }
}
