/** Runs the built `baton` as users do: a process of its own, output and exit code as they are. */
import { execa } from 'execa';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));

export { MAIN };

export interface CliResult {
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

/** Settings of the machine that runs the tests must not reach them: Temporal's, Baton's, and those of colours. */
const UNSET = Object.fromEntries(
  Object.keys(process.env)
    .filter((name) => /^((TEMPORAL|BATON)_|(NO|FORCE)_COLOR$)/.test(name))
    .map((name) => [name, undefined]),
);

export async function baton(args: readonly string[], options: CliOptions): Promise<CliResult> {
  const { exitCode, stdout, stderr } = await spawn(args, options);
  return { exitCode, stdout, stderr };
}

const spawn = (args: readonly string[], { cwd, env, input = '' }: CliOptions) =>
  execa(process.execPath, [MAIN, ...args], {
    cwd,
    env: { ...UNSET, TEMPORAL_CONFIG_FILE: '/nonexistent/temporal.toml', ...env },
    input,
    reject: false,
    timeout: 60_000,
  });

/** Runs it with a reader that has gone before the first byte, as `| head` does later; `gone` is the stream nobody reads. */
export async function batonUnread(
  args: readonly string[],
  options: CliOptions & { readonly gone: 'stdout' | 'stderr' },
): Promise<CliResult> {
  const child = spawn(args, options);
  child[options.gone].destroy();
  const { exitCode, stdout, stderr } = await child;
  return { exitCode, stdout, stderr };
}

/** Runs with `--json`: stdout must be one JSON document. */
export async function batonJson<T = unknown>(
  args: readonly string[],
  options: CliOptions,
): Promise<{ exitCode: number | undefined; json: T }> {
  const { exitCode, stdout } = await baton([...args, '--json'], options);
  return { exitCode, json: JSON.parse(stdout) as T };
}

export interface ErrorJson {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly details: Record<string, unknown>;
  };
}
