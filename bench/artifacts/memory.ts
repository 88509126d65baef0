/** Memory that one large artifact takes: each side saves and reads it once, in a process of its own. */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { startChild } from '../../src/server/processes.js';
import { fillFile } from './content.js';

export const SIDES = ['baton', 'fs', 'sqlite'] as const;
export type Side = (typeof SIDES)[number];

const TIMEOUT_MS = 300_000;

/** Mebibytes of resident memory at its peak beyond what the process had after a first artifact of 1 MiB. */
export async function peakMiB(side: Side, size: number): Promise<number> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'baton-bench-'));
  try {
    // Made here: what fills the files must not count as memory of the side.
    const [small, large] = [path.join(folder, 'small'), path.join(folder, 'large')];
    await fillFile(small, 2 ** 20, 0);
    await fillFile(large, size, 1);
    const file = fileURLToPath(new URL('./memory-process.js', import.meta.url));
    const child = await startChild(process.execPath, [file, side, small, large], {
      name: `memory of ${side}`,
    });
    try {
      return (JSON.parse(await child.ready('json', TIMEOUT_MS)) as { peakMiB: number }).peakMiB;
    } finally {
      await child.stop(0);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
