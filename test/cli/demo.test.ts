import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import type { DemoSummary } from '../../src/cli/demo/summary.js';
import { temporalCli } from '../support/server.js';
import { MAIN } from './cli.js';
import { startProcess } from '../support/processes.js';

it('the demo survives the death of its hosts, publishes once, says so from the records, and leaves only the report', async () => {
  const lines: string[] = [];
  const env: NodeJS.ProcessEnv = { ...process.env, BATON_TEMPORAL_CLI: await temporalCli() };
  delete env['TEMPORAL_ADDRESS'];
  const demo = await startProcess(process.execPath, [MAIN, 'demo', '--json'], {
    env,
    onLine: (line, stream) => {
      if (stream === 'stdout') lines.push(line);
    },
  });
  const { code } = await demo.exited;
  const summary = JSON.parse(lines.join('\n')) as DemoSummary;
  expect(summary.checks.filter((check) => !check.passed)).toEqual([]);
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
  await rm(path.dirname(summary.report.path), { recursive: true });
}, 180_000);
