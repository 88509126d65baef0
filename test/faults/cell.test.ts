/** One real cell: a host is killed, and the judgement of its records finds each kind of violation. */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CELLS } from '../../faults/cells.js';
import { judge } from '../../faults/checks.js';
import { MUSTS, type Cell, type Must } from '../../faults/model.js';
import { resultOf } from '../../faults/plan.js';
import { play } from '../../faults/play.js';
import type { Records } from '../../faults/records.js';
import { exitCodeOf, reportOf } from '../../faults/report.js';
import { sharedServer } from '../support/server.js';

let folder: string;
let connection: Connection;
let cell: Cell;
let records: Records;

beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'baton-test-faults-'));
  const { address } = await sharedServer();
  connection = await Connection.connect({ address });
  const stays = () => Promise.reject(new Error('the server of the tests stays'));
  const server = { address, client: new Client({ connection }), kill: stays, restart: stays };
  const found = CELLS.find(
    ({ point, victim }) => point === 'after a tool result, before it is saved' && victim === 'agent host',
  );
  cell = found as Cell;
  records = await play(cell, server, folder);
}, 180_000);
afterAll(async () => {
  await connection.close();
  await rm(folder, { recursive: true, force: true });
});

test('a killed host: all that the cell states holds', () => {
  expect(judge(cell, records)).toBeNull();
  expect(records.work.map(({ what }) => what)).toContain('killed');
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

/** Each kind of violation, put into the records of a cell that holds. */
const BROKEN: Readonly<Record<Must, (held: Records) => Partial<Records>>> = {
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

test.each(Object.keys(BROKEN) as Must[])('a violation of `%s` is found in the records', (must) => {
  const broken = { ...records, ...BROKEN[must](records) };
  expect(judge({ ...cell, must: [must] }, broken)).toMatch(new RegExp(`^${MUSTS[must]}: .`));
});
