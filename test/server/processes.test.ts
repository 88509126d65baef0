import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isAlive, startChild } from '../../src/server/processes.js';
import { fixture, startNode, startProcess } from '../support/processes.js';
import { waitFor } from '../support/wait.js';

const node = process.execPath;
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'baton-processes-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('a child process', () => {
  it('gives its own pid, its lines and its end', async () => {
    const lines: string[] = [];
    const child = await startProcess(
      node,
      ['-e', 'console.log(process.pid); console.error("oops"); process.exit(3)'],
      {
        onLine: (line, stream) => lines.push(`${stream}:${line}`),
      },
    );
    expect(await child.exited).toEqual({ code: 3, signal: null });
    expect(lines.sort()).toEqual(['stderr:oops', `stdout:${child.pid}`]);
  });

  it('is hit itself by a SIGKILL to its pid', async () => {
    const child = await startProcess(node, ['-e', 'console.log("up"); setInterval(() => {}, 1000)']);
    await child.ready(/up/, 10_000);
    process.kill(child.pid, 'SIGKILL');
    expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' });
    expect(child.kill('SIGTERM')).toBe(false);
  });

  it('passes arguments and environment as they are', async () => {
    const odd = 'a b "c" $HOME \'d\'';
    const child = await startProcess(
      node,
      ['-e', 'console.log(JSON.stringify([process.argv[1], process.env.X]))', odd],
      {
        env: { X: odd },
      },
    );
    await child.exited;
    expect(JSON.parse(child.tail())).toEqual([odd, odd]);
  });

  it('is ready with a line that came before or after asking, or with the first JSON object', async () => {
    const child = await startProcess(node, [
      '-e',
      'console.log("noise"); console.log(`{"port":1}`); setInterval(() => {}, 1000)',
    ]);
    expect(JSON.parse(await child.ready('json', 10_000))).toEqual({ port: 1 });
    expect(await child.ready(/noi/, 1)).toBe('noise');
  });

  it('tells its last lines when it ends, or is late, before it is ready', async () => {
    const ended = await startProcess(node, ['-e', 'console.error("bad config"); process.exit(1)'], {
      name: 'thing',
    });
    await expect(ended.ready(/up/, 10_000)).rejects.toThrow(
      /thing ended before it was ready \(code 1[^]*bad config/,
    );
    const late = await startProcess(node, ['-e', 'setInterval(() => {}, 1000)']);
    await expect(late.ready(/up/, 50)).rejects.toMatchObject({ code: 'Internal' });
  });

  it('is stopped with SIGTERM, and with SIGKILL when it does not listen', async () => {
    const polite = await startProcess(node, [
      '-e',
      'process.on("SIGTERM", () => process.exit(7)); console.log("up"); setInterval(() => {}, 1000)',
    ]);
    await polite.ready(/up/, 10_000);
    expect(await polite.stop()).toEqual({ code: 7, signal: null });
    const deaf = await startProcess(node, [
      '-e',
      'process.on("SIGTERM", () => {}); console.log("up"); setInterval(() => {}, 1000)',
    ]);
    await deaf.ready(/up/, 10_000);
    expect(await deaf.stop(100)).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it('reads what is written to it, and logs to a file', async () => {
    const logFile = path.join(folder, 'child.log');
    const child = await startProcess('cat', [], { stdin: true, logFile });
    child.write('hello\n');
    await child.ready(/hello/, 10_000);
    await child.stop();
    await waitFor(async () => (await readFile(logFile, 'utf8')) === 'hello\n');
  });

  it('ends with code 127 when the program does not exist, and refuses a folder that does not', async () => {
    const missing = await startProcess('no-such-program-at-all', []);
    expect((await missing.exited).code).toBe(127);
    await expect(startChild('cat', [], { cwd: path.join(folder, 'none') })).rejects.toMatchObject({
      code: 'Internal',
    });
  });
});

describe('no child outlives its parent', () => {
  it.each(['SIGKILL', 'SIGTERM', 'exit'] as const)('when it ends by %s', async (end) => {
    const parent = await startNode(fixture(import.meta.url, 'fixtures/parent.ts'), [end]);
    const { pid } = JSON.parse(await parent.ready('json', 30_000)) as { pid: number };
    if (end !== 'exit') {
      expect(isAlive(pid)).toBe(true);
      parent.kill(end);
    }
    await parent.exited;
    await waitFor(() => !isAlive(pid), { what: `the end of ${pid}`, timeoutMs: 5_000 });
  });
});
