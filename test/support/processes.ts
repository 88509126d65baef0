/** Processes of tests: every one that a test starts is ended after it, also when the test fails. */
import { fileURLToPath } from 'node:url';
import { afterEach } from 'vitest';
import { startChild, type Child, type ChildOptions } from '../../src/server/processes.js';

const running = new Set<Child>();

/** Starts any program; it is ended after the test at the latest, and with the test process in any case. */
export async function startProcess(
  command: string,
  args: readonly string[],
  options: ChildOptions = {},
): Promise<Child> {
  const child = await startChild(command, args, options);
  running.add(child);
  void child.exited.then(() => running.delete(child));
  return child;
}

/**
 * Starts a Node process. `options.env` is added to this process's environment.
 * @param file a JavaScript file, or a TypeScript one of this project (imports as in the sources work)
 */
export function startNode(
  file: string,
  args: readonly string[] = [],
  options: ChildOptions = {},
): Promise<Child> {
  const loader = file.endsWith('.ts') ? ['--import', new URL('./ts-loader.mjs', import.meta.url).href] : [];
  return startProcess(process.execPath, [...loader, file, ...args], {
    name: file,
    ...options,
    env: { ...process.env, ...options.env },
  });
}

/** The path of a file beside the test: `fixture(import.meta.url, 'fixtures/parent.ts')`. */
export function fixture(base: string, relative: string): string {
  return fileURLToPath(new URL(relative, base));
}

/** Ends everything that is still running. Registered after each test of a file that imports this one. */
export async function stopAll(): Promise<void> {
  await Promise.all([...running].map((child) => child.stop(2_000)));
}

/** For processes that a whole file shares: `keepBetweenTests()` at its top, then `stopAll` in its `afterAll`. */
export function keepBetweenTests(): void {
  automatic = false;
}

let automatic = true;
afterEach(() => (automatic ? stopAll() : undefined));
