/** All migrations by name, in order. A released one is never edited: the next change is a new file. */
import type { Migration } from 'kysely';
import { first } from './0001-first.js';
import { effects } from './0002-effects.js';
import { artifacts } from './0003-artifacts.js';
import { blobParts } from './0004-blob-parts.js';
import { audit } from './0005-audit.js';
import { retention } from './0006-retention.js';

export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-first': first,
  '0002-effects': effects,
  '0003-artifacts': artifacts,
  '0004-blob-parts': blobParts,
  '0005-audit': audit,
  '0006-retention': retention,
};
