/** Runs a plan: cells a few at a time, on one server that stays up and one that is killed. */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { judge } from './checks.js';
import type { AtEnd } from './ends.js';
import type { Cell, CellResult } from './model.js';
import { DOMAIN_MUST, REASSIGN_ROWS, resultOf, round, SERVER_MUST, type Plan } from './plan.js';
import { play } from './play.js';
import { judgeDomain } from './reassign/domain.js';
import { worded } from './reassign/factors.js';
import { judgeOnServer } from './reassign/on-server.js';
import { startServer, type RestartableServer } from './server.js';

export interface RunOptions {
  readonly plan: Plan;
  /** Cells that are played at once. The server that is killed has one at a time. */
  readonly atOnce: number;
  readonly atEnd: AtEnd;
  readonly signal: AbortSignal;
  readonly onProgress: (message: string) => void;
  readonly onResult: (result: CellResult) => void;
}

/** Each result is reported as it comes; what did not run was not reported. */
export async function runPlan(options: RunOptions): Promise<void> {
  const { plan, atEnd, onProgress, onResult } = options;
  // Before anything that has to be waited on: it keeps this process busy for a while.
  if (plan.domain) onResult(judgeAll());
  if (plan.cells.length === 0 && plan.combinations.length === 0) return;
  const root = await mkdtemp(path.join(os.tmpdir(), 'baton-faults-'));
  atEnd(() => rm(root, { recursive: true, force: true, maxRetries: 5 }));
  const started = new Map<string, Promise<RestartableServer>>();
  const server = (name: 'stays' | 'dies'): Promise<RestartableServer> => {
    const known = started.get(name) ?? startServer(path.join(root, `${name}.db`), atEnd, onProgress);
    started.set(name, known);
    return known;
  };
  await playAll(options, root, server);
  if (plan.combinations.length === 0) return;
  onProgress(`${plan.combinations.length} reassigns on the server …`);
  const verdicts = await judgeOnServer(plan.combinations, await server('stays'), root, atEnd);
  for (const { combination, door, problem, seconds } of verdicts) {
    onResult({
      row: REASSIGN_ROWS.server,
      victim: `${worded(combination)} (${door})`,
      must: SERVER_MUST,
      held: problem === null,
      problem,
      seconds: round(seconds),
    });
  }
}

function judgeAll(): CellResult {
  const from = performance.now();
  const { combinations, accepted, wrong, examples } = judgeDomain();
  return {
    row: REASSIGN_ROWS.domain,
    victim: `${combinations} combinations, ${accepted} of them accepted`,
    must: DOMAIN_MUST,
    held: wrong === 0,
    problem: wrong === 0 ? null : `${wrong} are not as expected: ${examples.join('; ')}`,
    seconds: round((performance.now() - from) / 1_000),
  };
}

async function playAll(
  { plan, atOnce, atEnd, signal, onResult }: RunOptions,
  root: string,
  server: (name: 'stays' | 'dies') => Promise<RestartableServer>,
): Promise<void> {
  const waiting = [...plan.cells];
  const kills = (cell: Cell): boolean => cell.victim === 'Temporal server';
  const killing = new Set<Cell>();
  /** Those that kill the server first: they cannot be played side by side. */
  const take = (): Cell | undefined => {
    const index = killing.size > 0 ? -1 : waiting.findIndex(kills);
    const at = index >= 0 ? index : waiting.findIndex((cell) => !kills(cell));
    return at < 0 ? undefined : waiting.splice(at, 1)[0];
  };
  const lane = async (): Promise<void> => {
    for (let cell = take(); cell && !signal.aborted; cell = take()) {
      if (kills(cell)) killing.add(cell);
      const on = await server(kills(cell) ? 'dies' : 'stays');
      const from = performance.now();
      const problem = await problemOf(cell, on, root, atEnd);
      killing.delete(cell);
      onResult(resultOf(cell, problem, (performance.now() - from) / 1_000));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

/** A cell whose story breaks off has not held. */
async function problemOf(
  cell: Cell,
  server: RestartableServer,
  root: string,
  atEnd: AtEnd,
): Promise<string | null> {
  try {
    return judge(cell, await play(cell, server, root, atEnd));
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
