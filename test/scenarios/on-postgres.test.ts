/** The scenarios that depend on the store most, once more on Postgres: the very tests of their own files. */
import { describe } from 'vitest';
// Their hooks end what a test has started. Loaded first within a scenario they would be that scenario's alone.
import '../support/baton.js';
import '../support/processes.js';
import { noPostgres } from '../support/databases.js';
import { useEngine } from '../support/engine.js';

useEngine('postgres');

const FILES = {
  S1: () => import('./authority.test.js'),
  S7: () => import('./half-a-claim.test.js'),
  S14: () => import('./poison.test.js'),
  S15: () => import('./tenants.test.js'),
  S16: () => import('./continuity.test.js'),
  S20: () => import('./cancel.test.js'),
  S24: () => import('./sizes.test.js'),
  'closed runs': () => import('./collect.test.js'),
  S27: () => import('./everything-restarts.test.js'),
};

describe.skipIf(noPostgres !== null)(noPostgres === null ? 'on Postgres' : `skipped: ${noPostgres}`, () => {
  for (const [scenario, load] of Object.entries(FILES))
    describe(scenario, async () => {
      await load();
    });
});
