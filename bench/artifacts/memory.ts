/** Memory that one large artifact takes: each side saves and reads it once, in a process of its own. */
import { fileURLToPath } from 'node:url';
import { startChild } from '../../src/server/processes.js';

export const SIDES = ['baton', 'fs', 'sqlite'] as const;
export type Side = (typeof SIDES)[number];

const TIMEOUT_MS = 300_000;

/** Mebibytes of resident memory at its peak beyond what the process had before it began. */
export async function peakMiB(side: Side, size: number): Promise<number> {
  const file = fileURLToPath(new URL('./memory-process.js', import.meta.url));
  const child = await startChild(process.execPath, [file, side, String(size)], { name: `memory of ${side}` });
  try {
    return (JSON.parse(await child.ready('json', TIMEOUT_MS)) as { peakMiB: number }).peakMiB;
  } finally {
    await child.stop(0);
  }
}
