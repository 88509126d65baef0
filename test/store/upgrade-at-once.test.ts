/** Several workers of a new version start at once on a store that an earlier version has filled. */
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../src/store/open.js';
import { stopAll } from '../support/processes.js';
import { compileChild } from './compiled.js';
import { asBefore } from './early-store.js';
import { SHARED } from './engines.js';
import { race } from './race.js';
import { readAll, wholeRun } from './whole-run.js';

const RUNS = ['closed', 'open'];

let child: Awaited<ReturnType<typeof compileChild>>;
beforeAll(async () => {
  child = await compileChild();
});
afterAll(() => child.remove());
afterEach(() => stopAll());

describe.each(SHARED)('a filled store of before: $name', ({ missing, place }) => {
  it.skipIf(missing !== null)(
    'is brought up to date once by eight processes at once, with its key and all its rows',
    async () => {
      const [from, to] = [await place(), await place()];
      onTestFinished(async () => {
        await stopAll(); // before their stores go
        await from.remove();
        await to.remove();
      });
      const today = await openStore(from.url);
      await wholeRun(today, {
        run: 'closed',
        contents: [Buffer.from('small'), Buffer.alloc(70_000, 'large')],
      });
      await wholeRun(today, { run: 'open', contents: [Buffer.from('small')], endedAt: null });
      const key = Buffer.from(await today.key()).toString('hex');
      const before = await Promise.all(RUNS.map((run) => today.attempts.list('acme', run)));
      await today.close();
      await asBefore(from.url, to.url);

      const answers = await race(child.file, to.url, 'open', 8);
      expect(answers.map((answer) => answer.key)).toEqual(Array(8).fill(key));

      const store = await openStore(to.url);
      onTestFinished(() => store.close());
      expect(await Promise.all(RUNS.map((run) => store.attempts.list('acme', run)))).toEqual(before);
      expect(before.flat().length).toBeGreaterThan(2);
      for (const run of RUNS) expect(await readAll(store, 'acme', run)).toBeGreaterThan(0);
    },
    180_000,
  );
});
