/** Node `inventory`: which packages a project has, each name and version once. */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { readLock, type LockEntry } from './lock.js';
import type { Inventory, Listed, Origin } from './types.js';

/** Where a package comes from. A lock without `resolved` was written for the default registry. */
export function originOf(entry: Pick<LockEntry, 'local' | 'resolved'>): Origin {
  const from = entry.resolved;
  if (entry.local) return 'local';
  if (from === null) return 'registry';
  if (/^(git[+:]|github:|gitlab:|bitbucket:)/.test(from)) return 'git';
  if (from.startsWith('file:')) return 'file';
  // Registries of any address serve `<name>/-/<file>.tgz`; another tarball is somebody's own.
  return /^https?:\/\/.+\/-\/.+\.tgz/.test(from) ? 'registry' : 'remote';
}

/**
 * Lists a project's packages from its lock, sorted by name and version.
 *
 * @param project absolute folder with a package-lock.json
 */
export async function takeInventory(project: string): Promise<Inventory> {
  const lock = await readLock(project);
  const byId = new Map<string, LockEntry[]>();
  const versions = new Map<string, Set<string>>();
  for (const entry of lock.entries) {
    const id = `${entry.name}@${entry.version}`;
    byId.set(id, [...(byId.get(id) ?? []), entry]);
    versions.set(entry.name, (versions.get(entry.name) ?? new Set()).add(entry.version));
  }
  const packages = [...byId].map(([id, entries]): Listed => {
    const first = entries[0] as LockEntry;
    const others = [...(versions.get(first.name) ?? [])].filter((version) => version !== first.version);
    return {
      id,
      name: first.name,
      version: first.version,
      places: entries.map((entry) => entry.place),
      origin: originOf(first),
      direct: lock.direct.has(first.name) && entries.some((entry) => isTopLevel(entry.place)),
      dev: entries.every((entry) => entry.dev),
      optional: entries.every((entry) => entry.optional),
      bundled: entries.every((entry) => entry.bundled),
      licence: entries.find((entry) => entry.licence !== null)?.licence ?? null,
      deprecated: entries.find((entry) => entry.deprecated !== null)?.deprecated ?? null,
      installScript: entries.some((entry) => entry.installScript),
      engines: entries.find((entry) => entry.engines !== null)?.engines ?? null,
      otherVersions: others.sort(),
    };
  });
  packages.sort((a, b) => (a.id < b.id ? -1 : 1));
  return {
    project,
    name: lock.name,
    lockfileVersion: lock.version,
    lockWritten: lock.written,
    installed: await installedAt(project),
    node: process.versions.node,
    packages,
  };
}

/** In the project's own node_modules, or in a workspace's. */
const isTopLevel = (place: string): boolean =>
  place.split('node_modules/').length === 2 || !place.includes('node_modules/');

/** When npm last wrote the tree: it keeps a copy of the lock there. */
function installedAt(project: string): Promise<string | null> {
  return stat(path.join(project, 'node_modules', '.package-lock.json')).then(
    (found) => found.mtime.toISOString(),
    () => null,
  );
}
