/**
 * Another version of this package, as a deploy brings it: a copy of the build whose run workflow does something more at its end.
 * It is a folder within `dist`, so that it finds the packages which the build itself uses.
 */
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { packageRoot } from '../../src/cli/demo/stage.js';

export interface Version {
  /** Path of a file of this version's build. */
  file(name: string): string;
  /** The bundle of its workflows. */
  readonly bundle: string;
}

const DIST = path.join(packageRoot(), 'dist');
export const current: Version = {
  file: (name) => path.join(DIST, name),
  bundle: path.join(DIST, 'workflow-bundle.js'),
};

/** What the summary of the changed workflow's timer is: by it a history tells which code ended it. */
export const CHANGE = 'another-version';
const SDK = '_temporalio_workflow__WEBPACK_IMPORTED_MODULE_0__';
const END = 'async end() {';
const timer = `await (0,${SDK}.sleep)(1, { summary: '${CHANGE}' });`;
/** As docs/changing-workflows.md asks for it, and as nobody may do it. */
const CHANGES = {
  patched: `if ((0,${SDK}.patched)('${CHANGE}')) ${timer}`,
  unpatched: timer,
} as const;

/** @param parts folders of the build to be copied, beside the bundle */
export async function anotherVersion(
  change: keyof typeof CHANGES,
  parts: readonly string[] = ['src', 'workflows', 'activities', 'bench', 'faults', 'load'],
): Promise<Version & { remove(): Promise<void> }> {
  const root = await mkdtemp(path.join(DIST, 'version-'));
  const dist = path.join(root, 'dist');
  await mkdir(dist);
  // What tells a build where its package is.
  await cp(path.join(packageRoot(), 'package.json'), path.join(root, 'package.json'));
  for (const part of parts) await cp(path.join(DIST, part), path.join(dist, part), { recursive: true });
  const bundle = path.join(dist, 'workflow-bundle.js');
  const code = await readFile(current.bundle, 'utf8');
  if (code.split(END).length !== 2) throw new Error(`the bundle does not have “${END}” once: change CHANGES`);
  await writeFile(bundle, code.replace(END, `${END} ${CHANGES[change]}`));
  return {
    file: (name) => path.join(dist, name),
    bundle,
    remove: () => rm(root, { recursive: true, force: true }),
  };
}
