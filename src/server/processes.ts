/**
 * Child processes for the server, the demo and the tests: lines, readiness, bounded stop, and none that outlives us
 * (see guard.ts). `pid` is the program's own, so a SIGKILL sent to it is a crash of that program and of nothing else.
 */
import { createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { BatonError } from '../domain/errors.js';
import { startGuarded } from './guard.js';

export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ChildOptions {
  /** The whole environment of the child. Default: this process's. */
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Used in messages. Default: the command. */
  readonly name?: string;
  /** Called for every line of stdout and stderr. */
  readonly onLine?: (line: string, stream: 'stdout' | 'stderr') => void;
  /** Every line is appended to this file too. */
  readonly logFile?: string;
  /** Keep the child's stdin open; `write` then sends to it. Default: stdin is empty. */
  readonly stdin?: boolean;
}

export interface Child {
  readonly name: string;
  /** The program's own pid, which also leads its process group. */
  readonly pid: number;
  /** Settles when the program has ended and its output was read. Never rejects. */
  readonly exited: Promise<ChildExit>;
  /** The last lines of stdout and stderr, oldest first. */
  tail(): string;
  /**
   * The first line (already printed or to come) that matches; `'json'` is the first line of stdout that is a JSON object.
   * @param timeoutMs milliseconds from now
   * @throws BatonError `Internal` when the child ends or the time is up first; the message has the last lines.
   */
  ready(pattern: RegExp | 'json', timeoutMs: number): Promise<string>;
  /** Sends the signal to the program alone. False when it has already ended. */
  kill(signal: NodeJS.Signals): boolean;
  /** SIGTERM, then SIGKILL to its process group after `graceMs` (default 5,000). Returns once it has ended. */
  stop(graceMs?: number): Promise<ChildExit>;
  write(text: string): void;
}

interface Line {
  readonly text: string;
  readonly stream: 'stdout' | 'stderr';
}

const KEPT_LINES = 400;
const SHOWN_LINES = 15;
/** A grandchild may hold the pipes open; the program's own end must not wait for that. */
const DRAIN_MS = 300;

/**
 * Starts a child process that ends when this process does, in whatever way this process ends.
 * @param command program, looked up on the PATH of `options.env`
 * @throws BatonError `Internal` when no process can be started at all
 */
export async function startChild(
  command: string,
  args: readonly string[],
  options: ChildOptions = {},
): Promise<Child> {
  const name = options.name ?? command;
  const guarded = await startGuarded(command, args, {
    env: options.env ?? process.env,
    stdin: options.stdin ?? false,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  }).catch((error: unknown) => {
    throw new BatonError(
      'Internal',
      `cannot start ${name}: ${String(error)}`,
      { name, command },
      { cause: error },
    );
  });
  const { process: child, pid } = guarded;
  const log = options.logFile === undefined ? null : createWriteStream(options.logFile, { flags: 'a' });
  // A full disk must not bring the child down: it loses its log, and `tail` still has the last lines.
  log?.on('error', () => undefined);

  const lines: Line[] = [];
  const watchers = new Set<(line: Line) => void>();
  const read = (stream: 'stdout' | 'stderr') =>
    new Promise<void>((resolve) => {
      const reader = createInterface({ input: guarded[stream], crlfDelay: Infinity });
      reader.on('line', (text) => {
        const line = { text, stream };
        lines.push(line);
        if (lines.length > KEPT_LINES) lines.shift();
        log?.write(`${text}\n`);
        options.onLine?.(text, stream);
        for (const watcher of watchers) watcher(line);
      });
      reader.on('close', resolve);
    });
  const drained = Promise.all([read('stdout'), read('stderr')]);

  let ended = false;
  const exited = new Promise<ChildExit>((resolve) => {
    child.once('exit', (code, signal) => {
      ended = true;
      void within(drained, DRAIN_MS).then(() => {
        log?.end();
        resolve({ code, signal });
      });
    });
  });

  const tail = () =>
    lines
      .slice(-SHOWN_LINES)
      .map((line) => line.text)
      .join('\n');

  const ready = (pattern: RegExp | 'json', timeoutMs: number) =>
    new Promise<string>((resolve, reject) => {
      const matches = (line: Line) =>
        pattern === 'json' ? line.stream === 'stdout' && isJsonObject(line.text) : pattern.test(line.text);
      const finish = (act: () => void) => {
        clearTimeout(timer);
        watchers.delete(watcher);
        act();
      };
      const fail = (what: string) =>
        finish(() =>
          reject(new BatonError('Internal', `${name} ${what}. Its last lines:\n${tail()}`, { name, pid })),
        );
      const watcher = (line: Line) => {
        if (matches(line)) finish(() => resolve(line.text));
      };
      const timer = setTimeout(
        () => fail(`was not ready in ${timeoutMs} ms (waited for ${String(pattern)})`),
        timeoutMs,
      );
      watchers.add(watcher);
      const seen = lines.find(matches);
      if (seen !== undefined) return finish(() => resolve(seen.text));
      void exited.then((exit) =>
        fail(`ended before it was ready (code ${exit.code}, signal ${exit.signal})`),
      );
    });

  const kill = (signal: NodeJS.Signals) => !ended && sendSignal(pid, signal);

  const stop = async (graceMs = 5_000) => {
    kill('SIGTERM');
    if (!(await within(exited, graceMs)) && !ended) sendSignal(-pid, 'SIGKILL');
    return exited;
  };

  return { name, pid, exited, tail, ready, kill, stop, write: (text) => void child.stdin?.write(text) };
}

/** True when a process with that pid exists (a zombie counts as existing only until it is reaped). */
export function isAlive(pid: number): boolean {
  return sendSignal(pid, 0);
}

function sendSignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EPERM') return signal === 0;
    return false;
  }
}

/** True when the promise settled in time. */
async function within(promise: Promise<unknown>, milliseconds: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), milliseconds);
  });
  const done = promise.then(() => true as const);
  return Promise.race([done, late]).finally(() => clearTimeout(timer));
}

function isJsonObject(text: string): boolean {
  if (!text.startsWith('{')) return false;
  try {
    return typeof JSON.parse(text) === 'object';
  } catch {
    return false;
  }
}
