/** Reads a package-lock.json of any version into a flat list of entries. No judgement here. */
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';

/** One entry of the lock: a package at one place in the tree. */
export interface LockEntry {
  readonly place: string;
  readonly name: string;
  readonly version: string;
  readonly resolved: string | null;
  readonly local: boolean;
  readonly dev: boolean;
  readonly optional: boolean;
  readonly bundled: boolean;
  readonly licence: string | null;
  readonly deprecated: string | null;
  readonly installScript: boolean;
  readonly engines: string | null;
}

export interface Lock {
  readonly version: number;
  readonly name: string;
  readonly written: string | null;
  readonly entries: readonly LockEntry[];
  /** Names that the project or one of its workspaces depends on by itself. */
  readonly direct: ReadonlySet<string>;
}

type Fields = Record<string, unknown>;
const fields = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/** Name of the package at a place: what follows the last `node_modules/`. */
const nameAt = (place: string): string | null => {
  const at = place.lastIndexOf('node_modules/');
  return at < 0 ? null : place.slice(at + 'node_modules/'.length);
};

/** `engines.node`; very old packages have an array of texts instead. */
function nodeRange(engines: unknown): string | null {
  if (Array.isArray(engines)) {
    const found = engines.map(String).find((one) => /^node\b/.test(one));
    return found === undefined ? null : text(found.replace(/^node\s*/, ''));
  }
  return text(fields(engines)['node']);
}

const DEPENDENCY_FIELDS = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'];
const dependencyNames = (of: Fields): string[] =>
  DEPENDENCY_FIELDS.flatMap((field) => Object.keys(fields(of[field])));

/** Entries of `packages` (lock versions 2 and 3). Links are left out: their target has an entry of its own. */
function fromPackages(packages: Fields): { entries: LockEntry[]; direct: Set<string> } {
  const entries: LockEntry[] = [];
  const direct = new Set<string>();
  for (const [place, raw] of Object.entries(packages)) {
    const entry = fields(raw);
    const installedAs = nameAt(place);
    if (installedAs === null) for (const name of dependencyNames(entry)) direct.add(name);
    if (place === '' || entry['link'] === true) continue;
    entries.push({
      place,
      name: text(entry['name']) ?? installedAs ?? path.posix.basename(place),
      version: text(entry['version']) ?? '0.0.0',
      resolved: text(entry['resolved']),
      local: installedAs === null,
      dev: entry['dev'] === true || entry['devOptional'] === true,
      optional: entry['optional'] === true || entry['devOptional'] === true,
      bundled: entry['inBundle'] === true,
      licence: text(entry['license']),
      deprecated: entry['deprecated'] === true ? 'deprecated' : text(entry['deprecated']),
      installScript: entry['hasInstallScript'] === true,
      engines: nodeRange(entry['engines']),
    });
  }
  return { entries, direct };
}

/** Entries of the nested `dependencies` of lock version 1, which knows neither licences nor engines. */
function fromDependencies(dependencies: Fields, under: string): LockEntry[] {
  return Object.entries(dependencies).flatMap(([name, raw]) => {
    const entry = fields(raw);
    const place = `${under}node_modules/${name}`;
    const stated = text(entry['version']) ?? '0.0.0';
    // An alias is `npm:real-name@version`; a version with a colon is where the package comes from.
    const alias = /^npm:(.+)@([^@]+)$/.exec(stated);
    const elsewhere = alias === null && stated.includes(':');
    return [
      {
        place,
        name: alias?.[1] ?? name,
        version: alias?.[2] ?? stated,
        resolved: elsewhere ? stated : text(entry['resolved']),
        local: stated.startsWith('file:') && !/\.t(ar\.)?gz$/.test(stated),
        dev: entry['dev'] === true,
        optional: entry['optional'] === true,
        bundled: entry['bundled'] === true,
        licence: null,
        deprecated: null,
        installScript: false,
        engines: null,
      },
      ...fromDependencies(fields(entry['dependencies']), `${place}/`),
    ];
  });
}

/**
 * Reads the lock of a project.
 *
 * @param project folder that has `package-lock.json` (or `npm-shrinkwrap.json`)
 * @throws Error that names the file when it is missing or no lock
 */
export async function readLock(project: string): Promise<Lock> {
  const { file, bytes } = await firstReadable(project, ['package-lock.json', 'npm-shrinkwrap.json']);
  let parsed: Fields;
  try {
    parsed = fields(JSON.parse(bytes));
  } catch (error) {
    throw new Error(`${file} is not JSON: ${String(error)}. Run \`npm install\` there to write it anew.`, {
      cause: error,
    });
  }
  const version = Number(parsed['lockfileVersion'] ?? 1);
  const written = await stat(file).then((s) => s.mtime.toISOString());
  const root = await packageJson(project);
  const name = text(parsed['name']) ?? text(root['name']) ?? path.basename(path.resolve(project));
  const packages = fields(parsed['packages']);
  if (Object.keys(packages).length > 0) return { version, name, written, ...fromPackages(packages) };
  const entries = fromDependencies(fields(parsed['dependencies']), '');
  return { version, name, written, entries, direct: new Set(dependencyNames(root)) };
}

async function firstReadable(project: string, names: string[]): Promise<{ file: string; bytes: string }> {
  for (const name of names) {
    const file = path.join(project, name);
    try {
      return { file, bytes: await readFile(file, 'utf8') };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  throw new Error(`${project} has no package-lock.json. Run \`npm install\` there, or name another folder.`);
}

/** The `package.json` of a folder; empty when it is missing or no JSON. */
export async function packageJson(folder: string): Promise<Fields> {
  try {
    return fields(
      JSON.parse((await readFile(path.join(folder, 'package.json'), 'utf8')).replace(/^\uFEFF/, '')),
    );
  } catch {
    return {};
  }
}
