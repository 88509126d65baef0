/** The texts of a bag: manifests and `bag-info.txt`. Pure. */

export interface Entry {
  /** Relative to the bag, with slashes. */
  readonly path: string;
  /** sha256, lower-case hex. */
  readonly digest: string;
}

/** In order of path. Our paths hold nothing that a manifest has to escape. */
export const manifestText = (entries: readonly Entry[]): string =>
  [...entries]
    .sort((left, right) => (left.path < right.path ? -1 : 1))
    .map(({ path, digest }) => `${digest}  ${path}\n`)
    .join('');

/** @returns the entries, and the numbers of lines that are none, from 1 */
export function readManifest(text: string): {
  readonly entries: readonly Entry[];
  readonly bad: readonly number[];
} {
  const entries: Entry[] = [];
  const bad: number[] = [];
  for (const [index, line] of text.split(/\r\n|\n|\r/).entries()) {
    if (line === '') continue;
    const [, digest = '', path = ''] = /^([0-9a-fA-F]{64})[ \t]+(\S.*)$/.exec(line) ?? [];
    if (path === '' || !isInside(path)) bad.push(index + 1);
    else entries.push({ path, digest: digest.toLowerCase() });
  }
  return { entries, bad };
}

/** A bundle comes from anybody: no path of it may lead out of its folder. */
const isInside = (path: string): boolean =>
  !path.startsWith('/') &&
  !path.includes('\\') &&
  !path.includes('\0') &&
  path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');

export const infoText = (fields: Readonly<Record<string, string | number>>): string =>
  Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}\n`)
    .join('');

/** The first value of each name. */
export function readInfo(text: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const line of text.split(/\r\n|\n|\r/)) {
    const [, name, value] = /^([^:\s][^:]*):\s*(.*)$/.exec(line) ?? [];
    if (name !== undefined && value !== undefined && !fields.has(name)) fields.set(name, value);
  }
  return fields;
}
