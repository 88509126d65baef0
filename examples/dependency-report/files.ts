/** What is on disk of one package: its files, their digest, licence texts and changelog. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { textsIn } from './licence.js';
import type { LicenceFile } from './types.js';

export interface Content {
  readonly files: number;
  readonly bytes: number;
  /** sha256 over the sorted paths and digests of all files: equal content, equal digest. */
  readonly digest: string;
}

/**
 * Reads every file of a package, without packages inside it and without following links.
 *
 * @param signal stops between two files, by throwing its reason
 */
export async function readContent(folder: string, signal?: AbortSignal): Promise<Content> {
  const tree = createHash('sha256');
  let files = 0;
  let bytes = 0;
  for (const file of await filesUnder(folder, '')) {
    signal?.throwIfAborted();
    const content = await readFile(path.join(folder, file));
    tree.update(`${file}\0${createHash('sha256').update(content).digest('hex')}\n`);
    files += 1;
    bytes += content.byteLength;
  }
  return { files, bytes, digest: `sha256:${tree.digest('hex')}` };
}

async function filesUnder(root: string, under: string): Promise<string[]> {
  const entries = await readdir(path.join(root, under), { withFileTypes: true });
  const found: string[] = [];
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const file = under === '' ? entry.name : `${under}/${entry.name}`;
    if (entry.isDirectory() && entry.name !== 'node_modules') found.push(...(await filesUnder(root, file)));
    else if (entry.isFile()) found.push(file);
  }
  return found;
}

/** Licence files at the top of a package, with the licences whose text they carry. */
export async function licenceFiles(folder: string): Promise<LicenceFile[]> {
  const names = await readdir(folder, { withFileTypes: true });
  const wanted = names.filter(
    (entry) => entry.isFile() && /^(mit-)?(licen[cs]es?|copying|unlicen[cs]e)\b/i.test(entry.name),
  );
  return Promise.all(
    wanted.map(async ({ name }) => {
      const bytes = await readFile(path.join(folder, name));
      const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
      return { file: name, digest, looksLike: textsIn(bytes.toString('utf8')) };
    }),
  );
}

/** Date that the package's own changelog gives for a version (`2024-05-01` in the heading of that version), or null. */
export async function releaseDate(folder: string, version: string): Promise<string | null> {
  const names = await readdir(folder);
  const name = names.find((entry) =>
    /^(changelog|changes|history|releases)(\.(md|txt|markdown))?$/i.test(entry),
  );
  if (name === undefined) return null;
  const content = await readFile(path.join(folder, name), 'utf8').catch(() => '');
  return releaseDateIn(content, version);
}

/** The same for the text of a changelog. Only a line that starts with the version counts: others speak of other things. */
export function releaseDateIn(changelog: string, version: string): string | null {
  const wanted = version.replace(/[.+]/g, '\\$&');
  const heading = new RegExp(
    `^[#\\s=*]*(?:v|version )?\\[?v?${wanted}\\]?(?![\\w.-]).*?\\b((?:19|20)\\d\\d-[01]\\d-[0-3]\\d)\\b`,
    'im',
  );
  return heading.exec(changelog)?.[1] ?? null;
}
