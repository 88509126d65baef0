/** What every store must do, whatever its engine. Other engines run the same suite. */
import { afterEach, beforeEach, describe } from 'vitest';
import type { Store } from '../../src/store/port.js';
import { artifactCases } from './cases/artifacts.js';
import { auditCases } from './cases/audit.js';
import { claimCases } from './cases/claims.js';
import { documentCases } from './cases/documents.js';
import { effectCases } from './cases/effects.js';
import { leaseCases } from './cases/leases.js';
import { retentionCases } from './cases/retention.js';
import { settleCases } from './cases/settle.js';

export interface OpenedStore {
  readonly store: Store;
  /** Closes it and takes away its files. */
  cleanup(): Promise<void>;
}

/**
 * @param name shown in the report
 * @param open a fresh, empty store for each test
 */
export function storeConformance(name: string, open: () => Promise<OpenedStore>): void {
  describe(`store conformance: ${name}`, () => {
    let opened: OpenedStore;
    beforeEach(async () => {
      opened = await open();
    });
    afterEach(() => opened.cleanup());
    const store = (): Store => opened.store;

    describe('claims', () => claimCases(store));
    describe('leases', () => leaseCases(store));
    describe('settle', () => settleCases(store));
    describe('artifacts', () => artifactCases(store));
    describe('effects', () => effectCases(store));
    describe('audit', () => auditCases(store));
    describe('retention', () => retentionCases(store));
    describe('revisions, runs and commands', () => documentCases(store));
  });
}
