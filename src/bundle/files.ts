/** The files of a bundle against its manifests: each has the bytes that are stated, none is missing, none is more than is named. */
import pMap from 'p-map';
import { BatonError } from '../domain/errors.js';
import { sha256 } from '../store/canonical.js';
import { readInfo, readManifest } from './bag.js';
import {
  BAGIT_TEXT,
  DECLARATION,
  digestInPath,
  INFO,
  MANIFEST,
  RECORDS,
  TAG_FILES,
  TAG_MANIFEST,
} from './layout.js';
import type { Problems } from './problems.js';
import { bytesIn, digestIn, filesIn, namesIn } from './scan.js';

/** Files that are hashed at once. */
const AT_ONCE = 4;

export interface Files {
  /** sha256 of the tag manifest, which stands for the bundle; null when there is none. */
  readonly digest: string | null;
  /** Payload files that are there, and their bytes. */
  readonly files: number;
  readonly bytes: number;
  /** Contents of tag files and records that are as their manifest says. */
  readonly contents: ReadonlyMap<string, Buffer>;
  /** Sizes of the files below `data/bytes/`, by the digest that is their name. */
  readonly sizes: ReadonlyMap<string, number>;
}

/** @throws BatonError `InvalidCommand` when there is no such folder, or it is no bundle */
export async function checkFiles(folder: string, problems: Problems): Promise<Files> {
  await checkIsBag(folder);
  const found = await filesIn(folder, problems);
  const read = async (file: string): Promise<Buffer | null> => {
    const size = found.get(file);
    return size === undefined ? null : bytesIn(folder, file, size, problems);
  };
  const tagManifest = await read(TAG_MANIFEST);
  if (tagManifest === null) problems.add('missing', TAG_MANIFEST, 'is not there');
  const tags = entriesOf(TAG_MANIFEST, tagManifest, problems);
  const payload = entriesOf(MANIFEST, await read(MANIFEST), problems);
  checkNamed(tags, payload, problems);
  const stated = new Map([...payload, ...tags]);
  for (const file of found.keys())
    if (file !== TAG_MANIFEST && !stated.has(file)) problems.add('extra', file, 'no manifest names it');

  const contents = new Map<string, Buffer>();
  const checkOne = async ([file, digest]: [string, string]): Promise<void> => {
    if (!found.has(file)) return problems.add('missing', file, 'is named by a manifest and is not there');
    // Bytes of artifacts may be of any size; what is read for its content is hashed as it was read.
    const content = digestInPath(file) === null ? await read(file) : null;
    const actual = content ? sha256(content) : await digestIn(folder, file, problems);
    if (actual === null) return;
    if (actual !== digest)
      return problems.add('changed', file, `has sha256 ${actual}, the manifest says ${digest}`);
    if (content) contents.set(file, content);
  };
  await pMap(stated, checkOne, { concurrency: AT_ONCE });

  const there = [...found].filter(([file]) => file.startsWith('data/'));
  const [files, bytes] = [there.length, there.reduce((sum, [, size]) => sum + size, 0)];
  checkTags(contents, `${bytes}.${files}`, problems);
  return {
    digest: tagManifest && sha256(tagManifest),
    files,
    bytes,
    contents,
    sizes: sizesByName(there, stated, problems),
  };
}

/** A folder with none of what makes a bag is another one, and may be as large as a disk. */
async function checkIsBag(folder: string): Promise<void> {
  const names = await namesIn(folder);
  if ([...TAG_FILES, TAG_MANIFEST].some((file) => names.includes(file))) return;
  throw BatonError.of('InvalidCommand', `no bundle: it has no ${DECLARATION}`, {
    field: 'bundle',
    path: folder,
  });
}

/** Digests by path; a path that is named twice has the first. */
function entriesOf(file: string, content: Buffer | null, problems: Problems): ReadonlyMap<string, string> {
  const entries = new Map<string, string>();
  const read = readManifest(content?.toString('utf8') ?? '');
  for (const line of read.bad)
    problems.add('malformed', file, 'no digest with a path of this folder', `line ${line}`);
  for (const { path, digest } of read.entries) {
    if (entries.has(path)) problems.add('malformed', file, `names ${path} twice`);
    else entries.set(path, digest);
  }
  return entries;
}

/** What every bundle has must be named, or a file could be taken away together with its line. */
function checkNamed(
  tags: ReadonlyMap<string, string>,
  payload: ReadonlyMap<string, string>,
  problems: Problems,
): void {
  for (const file of TAG_FILES)
    if (!tags.has(file)) problems.add('missing', TAG_MANIFEST, `does not name ${file}`);
  for (const file of Object.values(RECORDS))
    if (!payload.has(file)) problems.add('missing', MANIFEST, `does not name ${file}`);
  for (const file of tags.keys())
    if (!(TAG_FILES as readonly string[]).includes(file))
      problems.add('malformed', TAG_MANIFEST, `names ${file}, which no bundle has`);
  const records = new Set<string>(Object.values(RECORDS));
  for (const file of payload.keys())
    if (!records.has(file) && digestInPath(file) === null)
      problems.add('malformed', MANIFEST, `names ${file}, which no bundle has`);
}

function checkTags(contents: ReadonlyMap<string, Buffer>, oxum: string, problems: Problems): void {
  const text = (file: string): string | undefined => contents.get(file)?.toString('utf8');
  const declaration = text(DECLARATION);
  if (declaration !== undefined && declaration !== BAGIT_TEXT)
    problems.add('malformed', DECLARATION, 'does not declare a bag of BagIt 1.0 in UTF-8');
  const info = text(INFO);
  const said = readInfo(info ?? '').get('Payload-Oxum');
  if (info !== undefined && said !== oxum)
    problems.add('inconsistent', INFO, `says ${said ?? 'nothing'}, the payload is ${oxum}`, 'Payload-Oxum');
}

function sizesByName(
  there: readonly (readonly [string, number])[],
  stated: ReadonlyMap<string, string>,
  problems: Problems,
): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>();
  for (const [file, size] of there) {
    const named = digestInPath(file);
    if (named === null) continue;
    const said = stated.get(file);
    if (said !== undefined && said !== named)
      problems.add('changed', file, `should have the sha256 that is its name, the manifest says ${said}`);
    else sizes.set(named, size);
  }
  return sizes;
}
