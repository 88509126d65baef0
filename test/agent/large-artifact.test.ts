/** 100 MiB go through an agent's hands piece by piece: its process does not grow with them, in files and in a bucket. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixture, startNode } from '../support/processes.js';
import { startS3, type S3Server } from '../support/s3.js';

let s3: S3Server;
beforeAll(async () => {
  s3 = await startS3();
});
afterAll(() => s3.close());

/** Far below the size, well above what pieces under way and a lazy garbage collector take. */
const BOUND_MIB = 60;

it.each(['files', 'S3'])(
  'saving and reading 100 MiB takes a bounded part of that in memory: %s',
  { timeout: 180_000 },
  async (kind) => {
    const directory = await mkdtemp(path.join(tmpdir(), 'baton-large-'));
    try {
      const file = fixture(import.meta.url, 'fixtures/large-artifact.ts');
      const blobs = kind === 'files' ? 'files' : s3.blobs();
      const child = await startNode(file, [`sqlite:${directory}/x.db`, blobs, '100']);
      const said = JSON.parse(await child.ready('json', 170_000)) as Record<string, number>;
      expect(said).toMatchObject({ right: true });
      expect(said.heapMiB, 'heap and buffers').toBeLessThan(BOUND_MIB);
      expect(said.rssMiB, 'resident memory').toBeLessThan(BOUND_MIB);
      await child.exited;
    } finally {
      await rm(directory, { recursive: true });
    }
  },
);
