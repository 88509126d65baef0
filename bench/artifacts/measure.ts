/** Writes and reads artifacts of each size on all sides, in turns, so that whatever else the machine does falls on all of them. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { medianOfRatios, orders, spread, type Spread } from '../overhead/statistics.js';
import { withAttempts } from '../attempt.js';
import { fillFile } from './content.js';
import { peakMiB, SIDES, type Side } from './memory.js';
import { openSide, type Writer } from './sides.js';

export const SIZES = [1_024, 65_536, 2 ** 20, 10 * 2 ** 20, 100 * 2 ** 20] as const;
const LEAST_ROUNDS = 4;

export interface Timed {
  readonly ms: Readonly<Record<Side, Spread>>;
  /** Baton to each bare side: median of the ratios round by round. */
  readonly toFs: number | null;
  readonly toSqlite: number | null;
}

export interface SizeMeasured {
  readonly size: number;
  readonly rounds: number;
  readonly write: Timed;
  readonly read: Timed;
  /** Growth of a process that writes and reads one such artifact; null for sizes that are too small to be seen. */
  readonly peakMiB: Readonly<Record<Side, number>> | null;
}

/** @param most rounds of the small sizes; large ones take as many as move 400 MiB, at least four */
export async function measureSize(size: number, most: number): Promise<SizeMeasured> {
  const rounds = Math.min(most, Math.max(LEAST_ROUNDS, Math.floor((400 * 2 ** 20) / size)));
  const samples = await withAttempts(async (attempts) => {
    const input = path.join(attempts.folder, 'input');
    const writers = await Promise.all(SIDES.map((side) => openSide(side, attempts)));
    const taken = { write: empty(), read: empty() };
    const turns = orders(SIDES);
    try {
      for (let round = -1; round < rounds; round += 1) {
        await fillFile(input, size, round);
        for (const side of turns[(round + 1) % turns.length] ?? SIDES) {
          const times = await once(writers[SIDES.indexOf(side)] as Writer, input, size);
          // The first round loads what is loaded once.
          if (round < 0) continue;
          taken.write[side].push(times.write);
          taken.read[side].push(times.read);
        }
      }
    } finally {
      for (const writer of writers) writer.close();
      await rm(input, { force: true });
    }
    return taken;
  });
  return {
    size,
    rounds,
    write: timed(samples.write),
    read: timed(samples.read),
    peakMiB: size >= 2 ** 20 ? await peaks(size) : null,
  };
}

type Samples = Readonly<Record<Side, number[]>>;
const empty = (): Samples => ({ baton: [], fs: [], sqlite: [] });

async function once(writer: Writer, input: string, size: number): Promise<{ write: number; read: number }> {
  const start = performance.now();
  const written = await writer.write(input, size);
  const between = performance.now();
  await written.read();
  return { write: between - start, read: performance.now() - between };
}

const timed = ({ baton, fs, sqlite }: Samples): Timed => ({
  ms: { baton: spread(baton), fs: spread(fs), sqlite: spread(sqlite) },
  toFs: medianOfRatios(baton, fs),
  toSqlite: medianOfRatios(baton, sqlite),
});

async function peaks(size: number): Promise<Record<Side, number>> {
  const found: [Side, number][] = [];
  for (const side of SIDES) found.push([side, Math.round((await peakMiB(side, size)) * 10) / 10]);
  return Object.fromEntries(found) as Record<Side, number>;
}
