/**
 * One side saves and reads one artifact; says how far its memory grew. Arguments: side, a small file and a large one. Prints one JSON object.
 */
import { stat } from 'node:fs/promises';
import { withAttempts } from '../attempt.js';
import type { Side } from './memory.js';
import { openSide } from './sides.js';

const [side, small, large] = process.argv.slice(2) as [Side, string, string];
const MIB = 2 ** 20;

await withAttempts(async (attempts) => {
  const writer = await openSide(side, attempts);
  const roundTrip = async (file: string): Promise<void> =>
    (await writer.write(file, (await stat(file)).size)).read();
  // Everything is loaded and compiled by a first, small one: what is asked is what the size costs.
  await roundTrip(small);
  const before = process.memoryUsage.rss();
  await roundTrip(large);
  // The system's own record of the peak: nothing between two looks is missed.
  const peak = process.resourceUsage().maxRSS * 1024;
  writer.close();
  console.log(JSON.stringify({ peakMiB: (peak - before) / MIB }));
});
