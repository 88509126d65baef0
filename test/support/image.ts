/**
 * What the Dockerfile makes, without containers: its own steps, run in a folder, with this project's packages and build in the place of
 * those that it fetches and compiles.
 */
import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { execa } from 'execa';
import { packageRoot } from '../../src/cli/demo/stage.js';

export interface Image {
  /** What is `/app` in it. */
  readonly dir: string;
  remove(): Promise<void>;
}

/** Other tests make versions of their own in `dist`, and take them away meanwhile. */
const isOfTheBuild = (file: string): boolean => !path.basename(file).startsWith('version-');

/** Steps whose work is here already. */
const DONE = ['apt-get ', 'npm ci ', 'npm run build'];

export async function buildImage(): Promise<Image> {
  const root = packageRoot();
  const folder = await mkdtemp(path.join(os.tmpdir(), 'baton-test-image-'));
  const [build, app] = [path.join(folder, 'build'), path.join(folder, 'app')];
  try {
    const [, first = '', last = ''] = (await readFile(path.join(root, 'Dockerfile'), 'utf8')).split(
      /^FROM .*/m,
    );
    await Promise.all([mkdir(build), mkdir(app)]);
    for (const name of ['package.json', 'package-lock.json', 'dist', 'examples'])
      await cp(path.join(root, name), path.join(build, name), { recursive: true, filter: isOfTheBuild });
    await copyPackages(path.join(root, 'node_modules'), path.join(build, 'node_modules'));
    for (const [, step = ''] of first.matchAll(/^RUN (.+)$/gm))
      if (!DONE.some((done) => step.startsWith(done)))
        await execa(step, { cwd: build, shell: true, env: { npm_config_offline: 'true' } });
    for (const [, from = '', to = ''] of last.matchAll(/^COPY --from=build \/app\/(\S+) (\S+)$/gm))
      await rename(path.join(build, from), path.join(app, to.endsWith('/') ? path.join(to, from) : to));
    return { dir: app, remove: () => rm(folder, { recursive: true, force: true }) };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/** As links to the same bytes where the system can: there are tens of thousands. */
async function copyPackages(from: string, to: string): Promise<void> {
  const linked = await execa('cp', ['-al', from, to], { reject: false });
  if (linked.exitCode !== 0) {
    await rm(to, { recursive: true, force: true });
    await cp(from, to, { recursive: true, verbatimSymlinks: true });
    return;
  }
  // npm writes this one where it is.
  const list = path.join(to, '.package-lock.json');
  const text = await readFile(list);
  await rm(list);
  await writeFile(list, text);
}
