/** One store and several real processes: first open, claims of one slot; death in the middle of a write to files. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sha256 } from '../../src/store/canonical.js';
import { openStore } from '../../src/store/open.js';
import { startNode, stopAll } from '../support/processes.js';
import { waitFor } from '../support/wait.js';
import { compileChild } from './compiled.js';
import { SHARED } from './engines.js';
import { attachment, claimInput, fenceOf } from './inputs.js';
import { race, START_MS } from './race.js';

let child: Awaited<ReturnType<typeof compileChild>>;
beforeAll(async () => {
  child = await compileChild();
});
afterAll(() => child.remove());

for (const { name, missing, place: placeOf } of SHARED)
  describe.skipIf(missing !== null)(`several processes on ${name}`, { timeout: 180_000 }, () => {
    let url: string;
    let remove: () => Promise<void>;
    beforeEach(async () => {
      ({ url, remove } = await placeOf());
    });
    afterEach(async () => {
      await stopAll();
      await remove();
    });

    it('all succeed in opening a fresh store at once, and get one key', async () => {
      const answers = await race(child.file, url, 'open', 8);
      expect(new Set(answers.map((answer) => answer.key)).size).toBe(1);
      expect(answers[0]?.key).toMatch(/^[0-9a-f]{64}$/);
    });

    it('of 25 claimants of one slot exactly one gets the lease', async () => {
      await (await openStore(url)).close();
      const answers = await race(child.file, url, 'claim', 25);
      const outcomes = answers.map((answer) => answer.outcome);
      expect(outcomes.filter((outcome) => outcome === 'live')).toHaveLength(1);
      // Refused at the claim, or at the attachment by a later claim that made the row void.
      expect(
        outcomes.filter((outcome) => outcome === 'AlreadyLeased' || outcome === 'StaleLease'),
      ).toHaveLength(24);
      const store = await openStore(url);
      const rows = await store.attempts.list('acme', 'r1');
      expect(rows.map((row) => row.leaseStatus)).toEqual(['live']);
      expect(rows[0]?.epoch).toBe(answers.find((answer) => answer.outcome === 'live')?.epoch);
      await store.close();
    });

    it('of 25 claimants of a slot with a live lease all are refused', async () => {
      const store = await openStore(url);
      const fence = fenceOf(await store.attempts.claim(claimInput({ claimId: 'first' })));
      await store.attempts.attach({ fence, attachment: attachment(), at: 1 });
      const answers = await race(child.file, url, 'claim', 25);
      expect(answers.map((answer) => answer.outcome)).toEqual(Array(25).fill('AlreadyLeased'));
      expect(await store.attempts.list('acme', 'r1')).toHaveLength(1);
      await store.close();
    });
  });

describe('several processes on one file', { timeout: 180_000 }, () => {
  let directory: string;
  let url: string;
  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'baton-store-'));
    url = `sqlite:${directory}/x.db`;
  });
  afterEach(async () => {
    await stopAll(); // before the directory goes, not after
    await rm(directory, { recursive: true });
  });

  it('a process killed while it puts bytes leaves whole bytes or none', async () => {
    await (await openStore(url)).close();
    const blobs = path.join(directory, 'x.db.blobs');
    const halves = async () =>
      readdir(path.join(blobs, 'tmp')).then(
        (names) => names.length,
        () => 0,
      );
    let caught = 0;
    for (let round = 0; round < 6 && caught < 2; round += 1) {
      const putter = await startNode(child.file, ['put', url, `round${round}`], { stdin: true });
      await putter.ready(/^ready$/, START_MS);
      const before = await halves();
      putter.write('go\n');
      await waitFor(async () => (await halves()) > before, { everyMs: 0, what: 'a file half written' });
      putter.kill('SIGKILL');
      await putter.exited;
      if ((await halves()) > before) caught += 1;
    }
    expect(caught).toBeGreaterThan(0);
    const database = new Database(path.join(directory, 'x.db'), { readonly: true });
    const digests = database.prepare('select digest from blobs').pluck().all() as string[];
    database.close();
    const store = await openStore(url);
    for (const digest of digests) expect(sha256(await store.artifacts.readBytes(digest))).toBe(digest);
    await store.close();
    // Files without a row are whole too: they have their final name only after the last byte was synced.
    for (const shelf of (await readdir(blobs)).filter((name) => name !== 'tmp')) {
      for (const name of await readdir(path.join(blobs, shelf))) {
        expect(sha256(await readFile(path.join(blobs, shelf, name)))).toBe(name);
      }
    }
  });
});
