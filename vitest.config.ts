import { defineConfig } from 'vitest/config';

/** A file for a machine-readable report beside the readable one; set by scripts that count. */
const report = process.env['BATON_TEST_REPORT'];

export default defineConfig({
  test: {
    // RECORD=1 records histories instead; see test/workflows/histories.record.ts.
    include: [process.env['RECORD'] === '1' ? 'test/**/*.record.ts' : 'test/**/*.test.ts'],
    pool: 'forks',
    // Two cores: one file that talks to a Temporal server beside one that does not.
    poolOptions: { forks: { maxForks: 2, minForks: 1 } },
    testTimeout: 60_000,
    hookTimeout: 120_000,
    globalSetup: ['test/support/global-setup.ts'],
    reporters: report ? ['default', 'json'] : ['default'],
    ...(report ? { outputFile: { json: report } } : {}),
  },
});
