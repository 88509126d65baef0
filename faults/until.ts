/** Waiting on conditions while parts of the system are down. */
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Looks again until `look` gives something else than null; a look that throws counts as null, since what is asked may be dead
 * at the moment.
 *
 * @param what is waited for, in the error's words
 * @param timeoutMs milliseconds, default 60,000
 */
export async function until<T>(
  what: string,
  look: () => Promise<T | null> | T | null,
  timeoutMs = 60_000,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  let cause: unknown;
  for (;;) {
    try {
      const found = await look();
      if (found !== null) return found;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    if (performance.now() >= deadline) {
      const last = cause instanceof Error ? ` (${cause.message})` : '';
      throw new Error(`not within ${timeoutMs} ms: ${what}${last}`, { cause });
    }
    await sleep(25);
  }
}
