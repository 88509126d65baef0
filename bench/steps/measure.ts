/** What `ctx.step` costs in microseconds beside a bare call, and beside the one durable row that it cannot do without. */
import path from 'node:path';
import Database from 'better-sqlite3';
import type { AgentContext } from '../../src/agent/types.js';
import { spread, type Spread } from '../overhead/statistics.js';
import { withAttempts } from '../attempt.js';

export interface StepsMeasured {
  readonly count: number;
  /** Microseconds of one call. */
  readonly us: {
    readonly bare: Spread;
    readonly sqliteRow: Spread;
    readonly first: Spread;
    readonly nested: Spread;
    readonly again: Spread;
    readonly successor: Spread;
  };
  /** Microseconds a step when many are at work at once. */
  readonly atOnceUs: number;
}

/** About 1 KiB of JSON, as a summary of something is. */
const resultOf = (index: number): { index: number; text: string } => ({ index, text: 'x'.repeat(1_000) });
const WARM_UP = 50;
const AT_ONCE = 16;

/** @param count calls of each kind */
export async function measureSteps(count: number): Promise<StepsMeasured> {
  return withAttempts(async ({ folder, next }) => {
    const work = async (index: number) => resultOf(index);
    const row = sqliteRow(folder);
    const first = await next();
    const stepOf = (context: AgentContext, kind: string) => (index: number) =>
      context.step(`${kind}.${index}`, () => work(index));
    try {
      const bare = await times(count, work);
      const durable = await times(count, async (index) => row.insert(JSON.stringify(await work(index))));
      const run = await times(count, stepOf(first, 'first'));
      const nested = await first.step('outer', () => times(count, stepOf(first, 'inner')));
      const again = await times(count, stepOf(first, 'first'));
      const started = performance.now();
      const many = Array.from({ length: count }, (_, index) => index);
      await first.steps('many', many, work, { concurrency: AT_ONCE });
      const atOnceUs = Math.round(((performance.now() - started) * 1_000) / count);
      const successor = await times(count, stepOf(await next(), 'first'));
      return {
        count,
        us: {
          bare: spread(bare),
          sqliteRow: spread(durable),
          first: spread(run),
          nested: spread(nested),
          again: spread(again),
          successor: spread(successor),
        },
        atOnceUs,
      };
    } finally {
      row.close();
    }
  });
}

/** Microseconds of each call, one after the other; the first calls, which compile, do not count. */
async function times(count: number, call: (index: number) => Promise<unknown>): Promise<number[]> {
  const taken: number[] = [];
  for (let index = -WARM_UP; index < count; index += 1) {
    const start = performance.now();
    await call(index);
    if (index >= 0) taken.push((performance.now() - start) * 1_000);
  }
  return taken;
}

/** The least that anything durable does: one synced row. */
function sqliteRow(folder: string) {
  const database = new Database(path.join(folder, 'bare.db'));
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  database.exec('CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT NOT NULL)');
  const insert = database.prepare<[string]>('INSERT INTO rows (text) VALUES (?)');
  return { insert: (text: string) => insert.run(text), close: () => void database.close() };
}
