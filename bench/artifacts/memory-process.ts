/** One side saves and reads one artifact; says how far its memory grew. Arguments: side, size in bytes. Prints one JSON object. */
import path from 'node:path';
import { withAttempts } from '../attempt.js';
import { fillFile } from './content.js';
import type { Side } from './memory.js';
import { openSide } from './sides.js';

const [side, size] = process.argv.slice(2) as [Side, string];
const MIB = 2 ** 20;

await withAttempts(async (attempts) => {
  const file = path.join(attempts.folder, 'input');
  const writer = await openSide(side, attempts);
  // Everything is loaded and compiled by a first, small one: what is asked is what the size costs.
  await fillFile(file, MIB, 0);
  await (await writer.write(file, MIB)).read();
  await fillFile(file, Number(size), 1);
  const before = process.memoryUsage.rss();
  await (await writer.write(file, Number(size))).read();
  // The system's own record of the peak: nothing between two looks is missed.
  const peak = process.resourceUsage().maxRSS * 1024;
  writer.close();
  console.log(JSON.stringify({ peakMiB: (peak - before) / MIB }));
});
