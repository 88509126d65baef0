/**
 * What a bundle is made of: a BagIt bag (RFC 8493), so that other tools can check its files too. The records are JSON below
 * `data/`; all bytes are below `data/bytes/` under their own sha256, so a file cannot stand for other bytes whatever a manifest
 * says.
 */

/** Of the records' shapes. A reader refuses other ones instead of guessing. */
export const FORMAT = 'baton-bundle/1';

export const BAGIT_TEXT = 'BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n';
export const DECLARATION = 'bagit.txt';
export const INFO = 'bag-info.txt';
export const MANIFEST = 'manifest-sha256.txt';
/** Covers the three above; its own sha256 is the digest of the bundle. */
export const TAG_MANIFEST = 'tagmanifest-sha256.txt';
export const TAG_FILES = [DECLARATION, INFO, MANIFEST] as const;

/** The records, by what they are. A pin's file is its content as canonical JSON: its sha256 is the pin's digest. */
export const RECORDS = {
  run: 'data/run.json',
  package: 'data/pins/package.json',
  workflow: 'data/pins/workflow.json',
  binding: 'data/pins/binding.json',
  attempts: 'data/attempts.json',
  artifacts: 'data/artifacts.json',
  effects: 'data/effects.json',
  commands: 'data/commands.json',
} as const;
export type RecordName = keyof typeof RECORDS;

const BYTES = /^data\/bytes\/([0-9a-f]{2})\/(\1[0-9a-f]{62})$/;

export const bytesPath = (digest: string): string => `data/bytes/${digest.slice(0, 2)}/${digest}`;

/** The digest that a path of bytes states, or null for any other path. */
export const digestInPath = (file: string): string | null => BYTES.exec(file)?.[2] ?? null;
