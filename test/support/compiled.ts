/**
 * Child processes of tests as plain JavaScript beside the build, whose modules they import: loading a compiler in each takes
 * longer than what they are for. The build must be the sources' (`npm test` makes it).
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const TESTS = fileURLToPath(new URL('..', import.meta.url));
const DIST = path.join(TESTS, '..', 'dist');

/**
 * @param files TypeScript files of `test/`, relative to it; all that they import of `test/` must be named too
 * @returns the path of a compiled file by its name in `files`, and what removes them all again
 */
export async function compileFixtures(
  files: readonly string[],
): Promise<{ path(file: string): string; remove(): Promise<void> }> {
  await mkdir(DIST, { recursive: true });
  // As deep below `dist` as `test` is below the project, so that `../src` is the build's.
  const out = await mkdtemp(path.join(DIST, 'test-'));
  for (const file of files) {
    const { outputText } = ts.transpileModule(await readFile(path.join(TESTS, file), 'utf8'), {
      compilerOptions: {
        target: ts.ScriptTarget.ES2022,
        module: ts.ModuleKind.ESNext,
        verbatimModuleSyntax: true,
      },
    });
    const target = compiled(out, file);
    await mkdir(path.dirname(target), { recursive: true });
    await writeFile(target, outputText);
  }
  return { path: (file) => compiled(out, file), remove: () => rm(out, { recursive: true, force: true }) };
}

const compiled = (out: string, file: string): string => path.join(out, file.replace(/\.ts$/, '.js'));
