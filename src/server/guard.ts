/**
 * Starts a process that cannot outlive this one, even when this one is SIGKILLed.
 *
 * Two small shells do it, because no Node handler runs on SIGKILL but the kernel always closes our pipes:
 * a *gate*, which waits for our go and then `exec`s the program (so the program has the gate's pid, no wrapper stays
 * in between), and a *guard*, which kills the program's process group when its pipe to us closes.
 * The guard knows the pid before the gate opens, so there is no moment at which the program runs unguarded.
 * Both lead their own process group: Ctrl-C in a terminal reaches only us, and we end them in our order.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

const GATE = 'read -r _ <&3 || exit 125; exec 3<&-; exec "$@"';
/** `-s KILL`, since dash takes no `--` after `-KILL`. */
const GUARD = 'read -r pid || exit 0; read -r _ && exit 0; kill -s KILL -- "-$pid" 2>/dev/null; exit 0';

export interface GuardOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Keep stdin open for writing; otherwise the program reads end-of-file at once. */
  readonly stdin: boolean;
}

export interface GuardedProcess {
  readonly process: ChildProcess;
  readonly pid: number;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

/**
 * Starts `command` under a guard.
 * @throws when the shell itself cannot be started; a program that does not exist ends with code 127.
 */
export async function startGuarded(
  command: string,
  args: readonly string[],
  options: GuardOptions,
): Promise<GuardedProcess> {
  const guard = spawn('/bin/sh', ['-c', GUARD], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const child = spawn('/bin/sh', ['-c', GATE, 'sh', command, ...args], {
    detached: true,
    cwd: options.cwd,
    env: options.env,
    stdio: [options.stdin ? 'pipe' : 'ignore', 'pipe', 'pipe', 'pipe'],
  });
  try {
    await Promise.all([started(guard), started(child)]);
  } catch (error) {
    guard.stdin.destroy();
    (child.stdio[3] as Writable | null)?.destroy();
    throw error;
  }
  const toGuard = guard.stdin;
  const gate = child.stdio[3] as Writable;
  for (const stream of [toGuard, gate, child.stdin]) stream?.on('error', ignore);
  // Neither the guard nor its pipe may keep this process running.
  guard.unref();
  unref(toGuard);
  toGuard.write(`${child.pid}\n`);
  gate.end('go\n');
  // Told, not just closed: a guard that only saw the pipe close would kill a process group that is not ours any more.
  child.once('exit', () => toGuard.end('over\n'));
  return {
    process: child,
    pid: child.pid as number,
    stdout: child.stdout as Readable,
    stderr: child.stderr as Readable,
  };
}

function started(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
}

function unref(stream: Writable): void {
  (stream as unknown as { unref?: () => void }).unref?.();
}

/** The other end has gone; its exit is what is reported, not our write. */
function ignore(): void {}
