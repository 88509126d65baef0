/** One suite, engines by name: what a store does is the same on each. */
import { describe } from 'vitest';
import { openStore } from '../../src/store/open.js';
import { storeConformance } from './conformance.js';
import { ENGINES } from './engines.js';

for (const { name, missing, place } of ENGINES)
  describe.skipIf(missing !== null)(missing === null ? name : `${name} skipped: ${missing}`, () => {
    storeConformance(name, async () => {
      const { url, remove } = await place();
      const store = await openStore(url);
      return {
        store,
        async cleanup() {
          await store.close();
          await remove();
        },
      };
    });
  });
