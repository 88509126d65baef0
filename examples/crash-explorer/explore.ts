/**
 * Kills the dependency report's agents before and after everything that they save, on a project of two packages.
 *
 *     node dist/examples/crash-explorer/explore.js [--slot notes] [--address localhost:7233]
 *
 * Prints the report; exits with 1 when a crash was not survived. Your own test does the same with your agents and
 * `expect(report.ok, crashReportText(report)).toBe(true)`.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { crashReportText, exploreCrashes } from '../../src/testing/index.js';

const { values } = parseArgs({ options: { slot: { type: 'string' }, address: { type: 'string' } } });
const { slot, address } = values;

// Definitions are not compiled: they are beside the sources, also for the compiled example.
const here = fileURLToPath(import.meta.url);
const root = path.resolve(here, here.endsWith('.ts') ? '../../..' : '../../../..');
const agents = new URL(here.endsWith('.ts') ? './agents.ts' : './agents.js', import.meta.url);

/** How many notes were reused is what a crash changes; all else must be the same. */
const work = (result: unknown): unknown => ({ ...(result as object), written: null, reused: null });

const project = await mkdtemp(path.join(os.tmpdir(), 'baton-two-packages-'));
const interrupted = new AbortController();
process.once('SIGINT', () => interrupted.abort(new Error('interrupted')));
try {
  await writeProject(project);
  const report = await exploreCrashes({
    agents: [
      { module: agents, export: 'researcher' },
      { module: agents, export: 'senior' },
    ],
    files: [path.join(root, 'examples/dependency-report/baton.yaml')],
    package: 'dependency-report',
    input: { project },
    equal: (undisturbed, result) => isDeepStrictEqual(work(undisturbed), work(result)),
    only: (point) => slot === undefined || point.slot === slot,
    onProgress: (message) => console.error(message),
    signal: interrupted.signal,
    ...(address === undefined ? {} : { server: { address } }),
  });
  console.log(crashReportText(report));
  process.exitCode = report.ok ? 0 : 1;
} finally {
  await rm(project, { recursive: true, force: true });
}

async function writeProject(folder: string): Promise<void> {
  const packages = {
    '': { dependencies: { tea: '^1.0.0', milk: '^2.0.0' } },
    'node_modules/tea': { version: '1.2.0', license: 'MIT' },
    'node_modules/milk': { version: '2.0.1', license: 'GPL-3.0-only' },
  };
  const lock = { name: 'breakfast', version: '1.0.0', lockfileVersion: 3, packages };
  await writeFile(path.join(folder, 'package-lock.json'), JSON.stringify(lock));
  for (const name of ['tea', 'milk']) {
    const { version, license } = packages[`node_modules/${name}` as 'node_modules/tea'];
    const at = path.join(folder, 'node_modules', name);
    await mkdir(at, { recursive: true });
    await writeFile(path.join(at, 'package.json'), JSON.stringify({ name, version, license }));
  }
}
