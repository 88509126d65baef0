/** Which `temporal` programs are on this machine, and whether one of them can run Baton's server. */
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { execa } from 'execa';

/** The build that Baton fetches when there is none; its server is 1.29. */
export const CLI_VERSION = 'v1.5.1';
/** Every mechanism of the design was tried on this server; older ones lack parts of it. */
const OLDEST_SERVER = [1, 29] as const;
/** A program of 100 MB on a slow disk takes its time to start; one that was given up too early would be built again. */
const VERSION_TIMEOUT_MS = 60_000;

export type Verdict = { readonly usable: true } | { readonly usable: false; readonly why: string };

/** Asks a program for its version. */
export async function checkCli(file: string): Promise<Verdict> {
  const asked = await execa(file, ['--version'], {
    timeout: VERSION_TIMEOUT_MS,
    reject: false,
    stdin: 'ignore',
  });
  if (asked.failed) return { usable: false, why: asked.shortMessage ?? 'does not run' };
  const answer = asked.stdout;
  if (!/^temporal version/i.test(answer))
    return { usable: false, why: `is not Temporal's CLI (says "${answer.slice(0, 80)}")` };
  const server = /Server (\d+)\.(\d+)/.exec(answer);
  if (server === null) return { usable: false, why: 'does not say which server it contains' };
  const [major, minor] = [Number(server[1]), Number(server[2])];
  const old = major < OLDEST_SERVER[0] || (major === OLDEST_SERVER[0] && minor < OLDEST_SERVER[1]);
  return old
    ? {
        usable: false,
        why: `contains server ${major}.${minor}; Baton needs ${OLDEST_SERVER.join('.')} or later`,
      }
    : { usable: true };
}

/** The first executable file of that name on the PATH of `env`, or null. */
export async function onPath(name: string, env: NodeJS.ProcessEnv): Promise<string | null> {
  for (const folder of (env['PATH'] ?? '').split(path.delimiter)) {
    if (folder === '') continue;
    const file = path.join(folder, name);
    if (await isExecutable(file)) return file;
  }
  return null;
}

export async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

function home(env: NodeJS.ProcessEnv): string {
  return env['HOME'] || os.homedir();
}

/** Where `go install` puts the user's programs: GOBIN, GOPATH/bin, ~/go/bin. */
export function goBinaries(env: NodeJS.ProcessEnv): string[] {
  const folders = [
    env['GOBIN'],
    ...(env['GOPATH']?.split(path.delimiter) ?? []).map((p) => path.join(p, 'bin')),
  ];
  folders.push(path.join(home(env), 'go', 'bin'));
  return folders.flatMap((folder) => (folder ? [path.join(folder, 'temporal')] : []));
}

/** Baton's own cache of one CLI version: `$XDG_CACHE_HOME/temporal-baton/<version>`. */
export function cacheFolder(env: NodeJS.ProcessEnv): string {
  return path.join(env['XDG_CACHE_HOME'] || path.join(home(env), '.cache'), 'temporal-baton', CLI_VERSION);
}
