/**
 * Large bytes kept in the database, part by part: where hosts are on several machines and no object store is set, there is no
 * other place that all of them reach.
 */
import { migration } from './ddl.js';

export const blobParts = migration(() => [
  `CREATE TABLE blob_parts (
    digest TEXT NOT NULL, part INTEGER NOT NULL CHECK (part >= 0), bytes BLOB NOT NULL,
    PRIMARY KEY (digest, part))`,
]);
