/** The child of the process tests as plain JavaScript: 25 processes that each load a compiler would take minutes. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SOURCES = ['src/domain', 'src/store', 'src/store/migrations'];
const FILES = ['test/store/child.ts', 'test/store/inputs.ts'];

/** @returns the child's file, made of the sources as they are now, and what removes it again */
export async function compileChild(): Promise<{ file: string; remove(): Promise<void> }> {
  await mkdir(path.join(ROOT, 'dist'), { recursive: true });
  // Inside the project, so that imports of packages are found.
  const out = await mkdtemp(path.join(ROOT, 'dist', 'test-store-'));
  const names = await Promise.all(
    SOURCES.map(async (source) =>
      (await readdir(path.join(ROOT, source))).map((name) => path.join(source, name)),
    ),
  );
  for (const name of [...names.flat(), ...FILES].filter((file) => file.endsWith('.ts'))) {
    const { outputText } = ts.transpileModule(await readFile(path.join(ROOT, name), 'utf8'), {
      compilerOptions: {
        target: ts.ScriptTarget.ES2022,
        module: ts.ModuleKind.ESNext,
        verbatimModuleSyntax: true,
      },
    });
    const target = path.join(out, name.replace(/\.ts$/, '.js'));
    await mkdir(path.dirname(target), { recursive: true });
    await writeFile(target, outputText);
  }
  return { file: path.join(out, 'test/store/child.js'), remove: () => rm(out, { recursive: true }) };
}
