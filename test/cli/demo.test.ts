import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { NOTES } from '../../src/cli/demo/facts.js';
import type { DemoSummary } from '../../src/cli/demo/summary.js';
import { openStore } from '../../src/store/open.js';
import { temporalCli } from '../support/server.js';
import { startProcess } from '../support/processes.js';
import { waitFor } from '../support/wait.js';
import { MAIN } from './cli.js';

/** The demo takes half a minute; a machine that stands still now and then takes its time. Milliseconds. */
const DEMO_MS = 270_000;
const TEST_MS = DEMO_MS + 30_000;

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A running demo: what it says on stderr, and its document at the end. */
async function startDemo(store?: string) {
  const document: string[] = [];
  const said: string[] = [];
  const env: NodeJS.ProcessEnv = { ...process.env, BATON_TEMPORAL_CLI: await temporalCli() };
  delete env['TEMPORAL_ADDRESS'];
  const args = [MAIN, 'demo', '--json', ...(store === undefined ? [] : ['--store', store])];
  const demo = await startProcess(process.execPath, args, {
    env,
    onLine: (line, stream) => void (stream === 'stdout' ? document : said).push(line),
  });
  let code: number | null | undefined;
  void demo.exited.then((exit) => (code = exit.code));
  return {
    /**
     * What the pattern's group holds, in the first line that has it. The pattern needs what only that line says: on a
     * slow machine lines of progress, in nearly the same words, come first.
     */
    async says(pattern: RegExp): Promise<string> {
      return pattern.exec(await demo.ready(pattern, DEMO_MS))?.[1] ?? '';
    },
    /** Its exit code and document; a demo that hangs or fails is shown by what it said. */
    async end(): Promise<{ code: number | null; summary: DemoSummary }> {
      const story = () => said.join('\n');
      await waitFor(() => code !== undefined, { timeoutMs: DEMO_MS, what: 'the end of the demo' }).catch(
        (error: unknown) => {
          throw new Error(`the demo hangs. It said:\n${story()}`, { cause: error });
        },
      );
      if (document.length === 0) throw new Error(`the demo left no document. It said:\n${story()}`);
      const summary = JSON.parse(document.join('\n')) as DemoSummary;
      cleanups.push(() => rm(path.dirname(summary.report.path), { recursive: true, force: true }));
      return { code: code ?? null, summary };
    },
  };
}

const failed = ({ checks }: DemoSummary) => checks.filter((check) => !check.passed);

it(
  'the demo survives the death of its hosts, publishes once, says so from the records, and leaves only the report',
  async () => {
    const { code, summary } = await (await startDemo()).end();
    expect(failed(summary)).toEqual([]);
    expect(code).toBe(0);
    expect(summary.ok).toBe(true);
    expect(summary.notes.reused).toBeGreaterThan(0);
    expect(summary.notes.repeated).toBe(0);
    expect(summary.publication).toMatchObject({ publications: 1, sends: 1 });
    expect(summary.publication.lookups).toBeGreaterThan(0);
    expect(summary.slots.map(({ slot, state }) => `${slot} ${state}`)).toEqual([
      'inventory succeeded',
      'notes succeeded',
      'report succeeded',
      'publish succeeded',
    ]);
    const report = await readFile(summary.report.path, 'utf8');
    expect(report).toContain('temporal-baton');
  },
  TEST_MS,
);

it(
  'the demo ends well also where the machine stands still for longer than a lease lasts, and says what that cost',
  async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'baton-demo-test-'));
    cleanups.push(() => rm(folder, { recursive: true }));
    const url = `sqlite:${path.join(folder, 'baton.db')}`;
    const store = await openStore(url);
    cleanups.push(() => store.close());

    const demo = await startDemo(url);
    const pid = Number(await demo.says(/senior-researcher \((\d+)\)/));
    const run = await demo.says(/launched run (\S+?):?(?:\s|$)/);
    await demo.says(/slot notes is open again/);
    const attempt = await waitFor(
      async () => {
        const newest = await store.attempts.newest('default', run, NOTES);
        if (newest?.workerClass !== 'senior-researcher') return null;
        const notes = await store.artifacts.list('default', run, NOTES);
        return notes.some((note) => note.attempt === newest.attempt) ? newest.attempt : null;
      },
      { timeoutMs: 60_000, everyMs: 5, what: 'notes of the successor' },
    );
    process.kill(pid, 'SIGSTOP');
    // Also when the test fails here: a frozen process does not end by SIGTERM.
    const thaw = () => process.kill(pid, 'SIGCONT');
    await demo.says(/of senior-researcher-\d+ on notes expired by accident/).finally(thaw);

    const { code, summary } = await demo.end();
    expect(failed(summary)).toEqual([]);
    expect(code).toBe(0);
    expect(summary.accidents.map((one) => one.attempt)).toContain(attempt);
    expect(summary.notes.repeated).toBe(0);
    const ends = summary.attempts.filter((one) => one.slot === NOTES).map((one) => one.worker.status);
    expect(ends.at(-1)).toBe('succeeded');
    expect(new Set(ends.slice(0, -1))).toEqual(new Set(['lost']));
    expect(await readFile(summary.report.path, 'utf8')).toContain('temporal-baton');
  },
  TEST_MS,
);
