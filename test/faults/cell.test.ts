/** Two real cells: a host is killed, and the judgement of the records finds each kind of violation. */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CELLS } from '../../faults/cells.js';
import { judge } from '../../faults/checks.js';
import { MUSTS, type Cell, type Must, type Point } from '../../faults/model.js';
import { resultOf } from '../../faults/plan.js';
import { play } from '../../faults/play.js';
import type { Records } from '../../faults/records.js';
import { exitCodeOf, reportOf } from '../../faults/report.js';
import { sharedServer } from '../support/server.js';

let folder: string;
let connection: Connection;
let cell: Cell;
let records: Records;
/** The host dies after the owner of its effect has committed. */
let effectCell: Cell;
let effectRecords: Records;

beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'baton-test-faults-'));
  const { address } = await sharedServer();
  connection = await Connection.connect({ address });
  const stays = () => Promise.reject(new Error('the server of the tests stays'));
  const server = { address, client: new Client({ connection }), kill: stays, restart: stays };
  const killedAt = (where: Point): Cell =>
    CELLS.find(({ point, victim }) => point === where && victim === 'agent host') as Cell;
  cell = killedAt('after a tool result, before it is saved');
  effectCell = killedAt('effect, after the owner committed');
  [records, effectRecords] = await Promise.all([
    play(cell, server, folder),
    play(effectCell, server, folder),
  ]);
}, 180_000);
afterAll(async () => {
  await connection.close();
  await rm(folder, { recursive: true, force: true });
});

test('a killed host: all that the cell states holds', () => {
  expect(judge(cell, records)).toBeNull();
  expect(records.work.map(({ what }) => what)).toContain('killed');
});

test('a host killed after its effect was committed: its successor asks, and the owner counts one', () => {
  expect(judge(effectCell, effectRecords)).toBeNull();
  const calls = effectRecords.owner?.calls.map(({ call, answer }) => [call, answer]);
  expect(calls).toEqual([
    ['send', 'committed'],
    ['lookup', 'committed'],
  ]);
  expect(new Set(effectRecords.owner?.calls.map(({ attempt }) => attempt)).size).toBe(2);
});

test('a cell that does not hold is reported as failed, with the reason, and the exit code says so', () => {
  const wrong: Cell = { ...cell, repeated: [] };
  const problem = judge(wrong, records);
  expect(problem).toBe(`${MUSTS.steps}: repeated: two, expected none`);
  const result = resultOf(wrong, problem, 1);
  expect(result).toMatchObject({ row: cell.point, victim: cell.victim, held: false, problem });
  const report = reportOf([result], { planned: 1, meaningless: [], notes: [], seconds: 1 });
  expect(report.cells).toEqual({ planned: 1, ran: 1, held: 0, failed: 1 });
  expect(exitCodeOf(report)).toBe(1);
});

type EffectMust = 'once' | 'asked' | 'handed' | 'receipt';

/** Each kind of violation, put into the records of a cell that holds. */
const BROKEN: Readonly<Record<Exclude<Must, EffectMust>, (held: Records) => Partial<Records>>> = {
  reached: ({ observed }) => ({ observed: { ...observed, leaseBefore: 'provisional' } }),
  identity: ({ row }) => ({
    row: { ...row!, pins: { ...row!.pins, package: { ref: 'other@1', digest: 'x' } } },
  }),
  epochs: ({ raw }) => ({ raw: { ...raw, leases: [...raw.leases, ...raw.leases] } }),
  leases: ({ attempts }) => ({
    attempts: attempts.map((row) => ({ ...row, endedAt: Number.MAX_SAFE_INTEGER })),
  }),
  work: ({ work }) => ({ work: work.filter(({ what }) => what !== 'killed') }),
  steps: ({ work }) => ({ work: work.filter((line) => line.what !== 'step' || line.step !== 'three') }),
  attempts: ({ attempts }) => ({ attempts: attempts.slice(1) }),
  ended: ({ row }) => ({ row: { ...row!, status: 'failed' } }),
  tasks: () => ({
    executions: [
      [{ workflowTaskFailedEventAttributes: { failure: { message: 'nondeterminism' } } }],
    ] as never,
  }),
  kept: ({ observed }) => ({
    observed: { ...observed, savedBefore: [{ ...observed.savedBefore[0]!, name: 'gone' }] },
  }),
  reassign: ({ observed }) => ({
    observed: { ...observed, afterReassign: { attempts: ['{}'], leases: [] } },
  }),
  claim: ({ raw }) => ({ raw: { ...raw, leases: [...raw.leases, '{"epoch":9}'] } }),
  unsettled: ({ observed }) => ({
    observed: { ...observed, unsettled: { code: 'accepted', unchanged: false } },
  }),
  timer: ({ observed }) => ({ observed: { ...observed, retryTime: Number.MAX_SAFE_INTEGER } }),
  rolled: () => ({}),
};

test.each(Object.keys(BROKEN) as (keyof typeof BROKEN)[])(
  'a violation of `%s` is found in the records',
  (must) => {
    const broken = { ...records, ...BROKEN[must](records) };
    expect(judge({ ...cell, must: [must] }, broken)).toMatch(new RegExp(`^${MUSTS[must]}: .`));
  },
);

type Owner = NonNullable<Records['owner']>;
const ofOwner = (change: (owner: Owner) => Partial<Owner>): Partial<Records> => {
  const owner = effectRecords.owner as Owner;
  return { owner: { ...owner, ...change(owner) } };
};
const sendBy = (attempt: string, answer: string): Owner['calls'][number] => ({
  call: 'send',
  attempt,
  key: 'any',
  answer,
});

const EFFECT_BROKEN: readonly [EffectMust, string, () => Partial<Records>][] = [
  ['once', 'done twice', () => ofOwner(({ acts }) => ({ acts: [...acts, ...acts] }))],
  ['once', 'never done', () => ofOwner(() => ({ acts: [] }))],
  ['once', 'recorded without having been done', () => ofOwner(() => ({ acts: [{ key: 'other' }] }))],
  ['once', 'not on record', () => ofOwner(() => ({ effects: [] }))],
  [
    'asked',
    'sent again after it was committed',
    () => ofOwner(({ calls }) => ({ calls: [...calls, sendBy('second', 'committed')] })),
  ],
  [
    'asked',
    'sent by the successor without a question',
    () => ofOwner(({ calls }) => ({ calls: [sendBy('second', 'StaleLease'), ...calls] })),
  ],
  ['asked', 'not asked at all', () => ofOwner(({ calls }) => ({ calls: calls.slice(0, 1) }))],
  [
    'asked',
    'without an intent',
    () => ({
      effects: [],
      observed: { ...effectRecords.observed, effectBefore: { effect: null, attempt: null, commits: 0 } },
    }),
  ],
  ['handed', 'nothing', () => ({ work: effectRecords.work.map((line) => ({ ...line, effects: [] })) })],
  ['receipt', 'none on record', () => ({ effects: [] })],
  [
    'receipt',
    'settled by an operator',
    () => ({
      effects: effectRecords.effects.map((row) => ({
        ...row,
        resolvedBy: { outcome: 'committed', actor: 'a', reason: 'r', at: 1 },
      })),
    }),
  ],
  [
    'receipt',
    'another than the owner’s',
    () => ({ effects: effectRecords.effects.map((row) => ({ ...row, receipt: { act: 7 } })) }),
  ],
  [
    'receipt',
    'another in the result',
    () => ({ results: { ...effectRecords.results, work: { effect: { act: 7 } } } }),
  ],
];

test.each(EFFECT_BROKEN)('a violation of `%s` is found in the records: %s', (must, _how, broken) => {
  const found = judge({ ...effectCell, must: [must] }, { ...effectRecords, ...broken() });
  expect(found).toMatch(new RegExp(`^${MUSTS[must]}: .`));
});

test('the point of an effect is reached only where record and owner say so', () => {
  const { effectBefore } = effectRecords.observed;
  for (const wrong of [{ effect: 'committed' }, { commits: 0 }]) {
    const observed = { ...effectRecords.observed, effectBefore: { ...effectBefore, ...wrong } };
    const found = judge({ ...effectCell, must: ['reached'] }, { ...effectRecords, observed });
    expect(found).toMatch(new RegExp(`^${MUSTS.reached}: the effect was`));
  }
});
