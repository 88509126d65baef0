/** `baton artifacts --out`: every version of a name, nothing damaged. And commands that only read make no store. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openStore } from '../../src/store/open.js';
import { handRun } from '../agent/run-fixture.js';
import { baton, batonJson, type ErrorJson } from './cli.js';

let cwd: string;
beforeEach(async () => {
  cwd = await mkdtemp(path.join(tmpdir(), 'baton-cli-'));
});
afterEach(() => rm(cwd, { recursive: true }));

/** Where no server listens: these commands need none. */
const offline = ['--tenant', 'acme', '--address', '127.0.0.1:9'];
const filesIn = async (folder: string): Promise<string[]> =>
  (await readdir(path.join(cwd, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(path.join(cwd, folder), path.join(entry.parentPath, entry.name)))
    .sort();

describe('artifacts --out', () => {
  it('writes all versions of a name, the newest under the plain one, and hostile names inside of the folder', async () => {
    const store = await openStore(`sqlite:${cwd}/baton.db`);
    const run = await handRun(store);
    const { ref, fence } = await run.claim('notes');
    for (const value of ['first', 'second', 'third']) await run.save(fence, { name: 'draft', value });
    await run.save(fence, { kind: 'source', name: 'draft', value: 'a source of that name' });
    await run.save(fence, { name: '../../out of here', value: 'inside' });
    await run.save(fence, { name: 'draft@1', value: 'a name that looks like a version' });
    await run.end(fence, 'expired');
    await store.close();
    expect((await baton(['artifacts', 'run-1', 'notes', '--out', 'out', ...offline], { cwd })).exitCode).toBe(
      0,
    );
    const of = (name: string) => path.join(ref.attempt, name);
    const written = {
      [of('checkpoint/draft')]: '"third"',
      [of('checkpoint/draft@1')]: '"first"',
      [of('checkpoint/draft@2')]: '"second"',
      [of('checkpoint/draft%401')]: '"a name that looks like a version"',
      [of('checkpoint/..%2F..%2Fout%20of%20here')]: '"inside"',
      [of('source/draft')]: '"a source of that name"',
    };
    expect(await filesIn('out')).toEqual(Object.keys(written).sort());
    for (const [file, text] of Object.entries(written))
      expect(await readFile(path.join(cwd, 'out', file), 'utf8')).toBe(text);
  });

  it('leaves no file of a damaged artifact', async () => {
    const store = await openStore(`sqlite:${cwd}/baton.db`);
    const run = await handRun(store);
    const { ref, fence } = await run.claim('notes');
    await run.save(fence, { name: 'whole' });
    await run.save(fence, { name: 'damaged', value: 'x'.repeat(100_000) });
    const { digest = '' } = (await store.artifacts.list('acme', 'run-1')).at(-1) ?? {};
    await store.close();
    const file = path.join(cwd, 'baton.db.blobs', digest.slice(0, 2), digest);
    await writeFile(file, (await readFile(file)).fill('y', 50_000, 50_001));
    const { exitCode, json } = await batonJson<ErrorJson>(
      ['artifacts', 'run-1', '--out', 'out', ...offline],
      { cwd },
    );
    expect([exitCode, json.error.code, json.error.details.digest]).toEqual([3, 'ArtifactMismatch', digest]);
    expect(await filesIn('out')).toEqual([path.join(ref.attempt, 'checkpoint/whole')]);
  });
});

it('refuses a place that can be no folder, also where nothing was saved', async () => {
  const store = await openStore(`sqlite:${cwd}/baton.db`);
  await handRun(store);
  await store.close();
  await writeFile(path.join(cwd, 'file'), 'mine');
  for (const out of ['file', 'file/below', '']) {
    const { exitCode, json } = await batonJson<ErrorJson>(['artifacts', 'run-1', '--out', out, ...offline], {
      cwd,
    });
    expect([exitCode, json.error.code, json.error.details.field], out).toEqual([2, 'InvalidCommand', 'out']);
  }
  expect(await readFile(path.join(cwd, 'file'), 'utf8')).toBe('mine');
});

it.each([
  ['show', 'r'],
  ['attempts', 'r'],
  ['artifacts', 'r'],
  ['recovery', 'r', 's'],
])('%s refuses a store file that is not there, and makes none', async (...command) => {
  const { exitCode, json } = await batonJson<ErrorJson>(
    [...command, '--store', 'sqlite:./typo.db', ...offline],
    { cwd },
  );
  expect(exitCode).toBe(1);
  // Which of the two that are missing is told first is for the command to say; the store is never made.
  expect(['StoreUnavailable', 'TemporalUnavailable']).toContain(json.error.code);
  if (json.error.code === 'StoreUnavailable') expect(json.error.message).toContain('typo.db');
  expect(await readdir(cwd)).toEqual([]);
});
