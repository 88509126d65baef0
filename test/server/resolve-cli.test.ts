import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { resolveTemporalCli } from '../../src/server/find.js';
import { fixture, startNode, startProcess } from '../support/processes.js';
import { waitFor } from '../support/wait.js';

const GOOD = 'temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)';
let folder: string;
let env: NodeJS.ProcessEnv;

beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'baton-cli-'));
  for (const name of ['bin', 'home', 'cache']) await mkdir(path.join(folder, name));
  // The programs that the test's own shell scripts need, and nothing else.
  for (const tool of ['cp', 'sleep', 'chmod']) await symlink(`/bin/${tool}`, path.join(folder, 'bin', tool));
  env = {
    PATH: path.join(folder, 'bin'),
    HOME: path.join(folder, 'home'),
    XDG_CACHE_HOME: path.join(folder, 'cache'),
    BATON_TEMPORAL_DOWNLOAD: '0',
  };
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function program(file: string, ...lines: string[]): Promise<string> {
  const full = path.join(folder, file);
  await mkdir(path.dirname(full), { recursive: true });
  await writeFile(full, ['#!/bin/sh', ...lines, ''].join('\n'));
  await chmod(full, 0o755);
  return full;
}
const temporal = (file: string, version = GOOD) => program(file, `echo "${version}"`);

/** A `go` that "installs" a program, slowly enough to be raced, and counts its runs. */
async function fakeGo(): Promise<() => Promise<number>> {
  const built = await temporal('built');
  const runs = path.join(folder, 'runs');
  await program('bin/go', `echo "$*" >> ${runs}`, 'sleep 1', `cp ${built} "$GOBIN/temporal"`);
  return async () => (await readFile(runs, 'utf8').catch(() => '')).split('\n').filter(Boolean).length;
}

const cache = () => path.join(folder, 'cache', 'temporal-baton', 'v1.5.1');

describe('the temporal program', () => {
  it('is the one on PATH before any other', async () => {
    await temporal('home/go/bin/temporal');
    await temporal('cache/temporal-baton/v1.5.1/temporal');
    const first = await temporal('bin/temporal');
    expect(await resolveTemporalCli({ env })).toBe(first);
  });

  it('is the one that BATON_TEMPORAL_CLI names, or an error about that name', async () => {
    await temporal('bin/temporal');
    const named = await temporal('elsewhere/temporal');
    expect(await resolveTemporalCli({ env: { ...env, BATON_TEMPORAL_CLI: named } })).toBe(named);
    await expect(
      resolveTemporalCli({ env: { ...env, BATON_TEMPORAL_CLI: path.join(folder, 'none') } }),
    ).rejects.toMatchObject({
      code: 'TemporalUnavailable',
      message: expect.stringContaining(path.join(folder, 'none')),
    });
  });

  it('is looked for where Go puts programs, then in the cache', async () => {
    const cached = await temporal('cache/temporal-baton/v1.5.1/temporal');
    expect(await resolveTemporalCli({ env })).toBe(cached);
    const byGo = await temporal('home/go/bin/temporal');
    expect(await resolveTemporalCli({ env })).toBe(byGo);
    const byGopath = await temporal('gopath/bin/temporal');
    expect(await resolveTemporalCli({ env: { ...env, GOPATH: path.join(folder, 'gopath') } })).toBe(byGopath);
  });

  it('is passed over when it is too old, or is something else of that name', async () => {
    await temporal('bin/temporal', 'temporal version 1.3.0 (Server 1.27.1, UI 2.36.0)');
    await temporal('home/go/bin/temporal', 'time lord 3');
    await expect(resolveTemporalCli({ env })).rejects.toThrow(
      /contains server 1\.27; Baton needs 1\.29[^]*is not Temporal's CLI/,
    );
    const cached = await temporal('cache/temporal-baton/v1.5.1/temporal');
    expect(await resolveTemporalCli({ env })).toBe(cached);
  });

  it('is built with Go into the cache when there is no other, once', async () => {
    const runs = await fakeGo();
    const progress: string[] = [];
    const built = await resolveTemporalCli({ env, onProgress: (line) => progress.push(line) });
    expect(built).toBe(path.join(cache(), 'temporal'));
    expect(progress.join('\n')).toMatch(/Building Temporal v1\.5\.1 with Go/);
    expect(await resolveTemporalCli({ env })).toBe(built);
    expect(await runs()).toBe(1);
    expect(await readFile(path.join(folder, 'runs'), 'utf8')).toBe(
      'install github.com/temporalio/cli/cmd/temporal@v1.5.1\n',
    );
  });

  it('is built once by several processes at the same time', async () => {
    const runs = await fakeGo();
    const script = fixture(import.meta.url, 'fixtures/resolve-cli.ts');
    const racers = await Promise.all([1, 2, 3].map(() => startNode(script, [], { env })));
    const answers = await Promise.all(racers.map((racer) => racer.ready('json', 30_000)));
    expect(answers).toEqual(answers.map(() => JSON.stringify({ path: path.join(cache(), 'temporal') })));
    expect(await runs()).toBe(1);
    expect((await readdir(cache())).filter((name) => name.startsWith('build-'))).toEqual([]);
  });

  it('is built by the next process when the builder is killed, which leaves no builder behind', async () => {
    const pidFile = path.join(folder, 'go.pid');
    await program('bin/go', `echo $$ > ${pidFile}`, 'sleep 600');
    const builder = await startNode(fixture(import.meta.url, 'fixtures/resolve-cli.ts'), [], { env });
    const goPid = Number(await waitFor(() => readFile(pidFile, 'utf8'), { timeoutMs: 30_000 }));
    builder.kill('SIGKILL');
    await builder.exited;
    await waitFor(() => !isRunning(goPid), { what: 'the end of go', timeoutMs: 5_000 });
    await fakeGo();
    const progress: string[] = [];
    expect(await resolveTemporalCli({ env, onProgress: (line) => progress.push(line) })).toBe(
      path.join(cache(), 'temporal'),
    );
    expect(progress.join('\n')).not.toContain('Waiting');
    expect((await readdir(cache())).sort()).toEqual(['lock.db', 'temporal']);
  });

  it('is an error that names every way when none works', async () => {
    const child = await startProcess(
      process.execPath,
      [
        '--import',
        new URL('../support/ts-loader.mjs', import.meta.url).href,
        fixture(import.meta.url, 'fixtures/resolve-cli.ts'),
      ],
      // Only a proxy that refuses: the download itself is tried.
      { env: { ...env, BATON_TEMPORAL_DOWNLOAD: '', HTTPS_PROXY: 'http://127.0.0.1:1' } },
    );
    const error = JSON.parse(await child.ready('json', 40_000)) as { code: string; message: string };
    expect(error.code).toBe('TemporalUnavailable');
    for (const way of ['TEMPORAL_ADDRESS', 'PATH', 'BATON_TEMPORAL_CLI', 'download', 'install Go'])
      expect(error.message).toContain(way);
    expect(error.message).toMatch(/Tried: no `temporal` on PATH; download: .+; build: no `go` on PATH/);
  });

  it('does not wait long for a download that never begins', async () => {
    const silent = net.createServer((socket) => void socket.on('error', () => undefined));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    try {
      const proxy = `http://127.0.0.1:${(silent.address() as net.AddressInfo).port}`;
      const begun = performance.now();
      await expect(
        resolveTemporalCli({ env: { ...env, BATON_TEMPORAL_DOWNLOAD: '', HTTPS_PROXY: proxy } }),
      ).rejects.toThrow(/download: nothing arrived in 8 s/);
      expect(performance.now() - begun).toBeLessThan(20_000);
    } finally {
      silent.close();
    }
  });

  it('says what Go said when the build fails', async () => {
    await program('bin/go', 'echo "go: no such host proxy" >&2', 'exit 1');
    await expect(resolveTemporalCli({ env })).rejects.toThrow(
      /build: go install ended with code 1: go: no such host proxy/,
    );
  });
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
