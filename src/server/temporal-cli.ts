/**
 * Finds the `temporal` program, which contains the development server: named by BATON_TEMPORAL_CLI, on PATH, where Go
 * puts programs, in Baton's cache; else it is downloaded, else built with Go, once per user.
 */
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { BatonError } from '../domain/errors.js';
import { cacheFolder, checkCli, CLI_VERSION, goBinaries, isExecutable, onPath } from './cli-check.js';
import { build, download, WayClosed, type FetchOptions, type Progress } from './cli-fetch.js';
import { withLock } from './lock.js';

export interface ResolveCliOptions {
  /** Gets a line when something takes long (a download, a build). */
  readonly onProgress?: Progress | undefined;
  /** Environment to read: PATH, HOME, XDG_CACHE_HOME, GOBIN, GOPATH, BATON_TEMPORAL_CLI, BATON_TEMPORAL_DOWNLOAD. Default: this process's. */
  readonly env?: NodeJS.ProcessEnv;
}

/**
 * @returns the path of a usable `temporal` program
 * @throws BatonError `TemporalUnavailable` when BATON_TEMPORAL_CLI is not usable or no way worked; it names every way
 */
export async function resolveTemporalCli(options: ResolveCliOptions = {}): Promise<string> {
  const env = options.env ?? process.env;
  const onProgress = options.onProgress ?? (() => undefined);
  const named = env['BATON_TEMPORAL_CLI'];
  if (named) {
    const verdict = await checkCli(named);
    if (verdict.usable) return named;
    throw new BatonError(
      'TemporalUnavailable',
      `BATON_TEMPORAL_CLI names a program that cannot be used: ${named} ${verdict.why}. Correct or unset it.`,
      { file: named },
    );
  }
  const tried: string[] = [];
  const found = await firstUsable([await onPath('temporal', env), ...goBinaries(env)], tried);
  if (found !== null) return found;
  if (tried.length === 0) tried.push('no `temporal` on PATH');

  const cache = cacheFolder(env);
  const cached = path.join(cache, 'temporal');
  if ((await isExecutable(cached)) && (await checkCli(cached)).usable) return cached;
  try {
    await mkdir(cache, { recursive: true });
  } catch (error) {
    throw noneWorked([...tried, `the cache folder ${cache} cannot be made (${String(error)})`]);
  }
  return withLock(
    path.join(cache, 'lock.db'),
    async () => {
      if ((await isExecutable(cached)) && (await checkCli(cached)).usable) return cached;
      await removeLeftovers(cache);
      for (const [name, way] of [
        ['download', download],
        ['build', build],
      ] as const) {
        const problem = await fetchInto(cached, way, {
          folder: await mkdtemp(path.join(cache, `${name}-`)),
          env,
          onProgress,
        });
        if (problem === null) return cached;
        tried.push(`${name}: ${problem}`);
        onProgress(`Temporal: no ${name} (${problem})`);
      }
      throw noneWorked(tried);
    },
    () => onProgress('Waiting for another process that is getting Temporal …'),
  );
}

/** @returns null when `target` now is a usable program, else why not */
async function fetchInto(
  target: string,
  way: (options: FetchOptions) => Promise<string>,
  options: FetchOptions,
): Promise<string | null> {
  try {
    const file = await way(options);
    const verdict = await checkCli(file);
    if (!verdict.usable) return `it ${verdict.why}`;
    await rename(file, target);
    return null;
  } catch (error) {
    if (error instanceof WayClosed) return error.message;
    throw error;
  } finally {
    await rm(options.folder, { recursive: true, force: true });
  }
}

async function firstUsable(candidates: readonly (string | null)[], tried: string[]): Promise<string | null> {
  for (const file of candidates) {
    if (file === null || !(await isExecutable(file))) continue;
    const verdict = await checkCli(file);
    if (verdict.usable) return file;
    tried.push(`${file} ${verdict.why}`);
  }
  return null;
}

/** What a killed process left; safe under the lock. */
async function removeLeftovers(cache: string): Promise<void> {
  for (const name of await readdir(cache)) {
    if (/^(download|build)-/.test(name)) await rm(path.join(cache, name), { recursive: true, force: true });
  }
}

function noneWorked(tried: readonly string[]): BatonError {
  return new BatonError(
    'TemporalUnavailable',
    `No Temporal server could be found or started. Tried: ${tried.join('; ')}. Do one of these: ` +
      'start a server and set TEMPORAL_ADDRESS; ' +
      "put Temporal's CLI `temporal` on PATH or name it in BATON_TEMPORAL_CLI; " +
      'allow the download from https://temporal.download; ' +
      `install Go, then Baton builds ${CLI_VERSION} by itself.`,
    { tried },
  );
}
