/** Files of this package that the build makes, whether the caller runs from source or compiled. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { BatonError } from '../domain/errors.js';

/**
 * Path of `dist/<name>` of this package.
 *
 * @throws BatonError `Internal` when it has not been built
 */
export function builtFile(name: string): string {
  const file = path.join(packageRoot(), 'dist', name);
  if (!existsSync(file)) throw new BatonError('Internal', `there is no ${file}. Run \`npm run build\`.`);
  return file;
}

function packageRoot(): string {
  let dir = path.dirname(fileURLToPath(import.meta.url));
  while (!isPackageRoot(dir)) {
    const parent = path.dirname(dir);
    if (parent === dir)
      throw new BatonError(
        'Internal',
        'the package temporal-baton is not complete: no package.json. Install it again.',
      );
    dir = parent;
  }
  return dir;
}

function isPackageRoot(dir: string): boolean {
  const file = path.join(dir, 'package.json');
  if (!existsSync(file)) return false;
  return (JSON.parse(readFileSync(file, 'utf8')) as { name?: string }).name === 'temporal-baton';
}
