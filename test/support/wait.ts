/** Waiting on conditions; tests never sleep for a fixed time. */
import { setTimeout as sleep } from 'node:timers/promises';

export interface WaitOptions {
  /** Milliseconds. Default 20,000. */
  readonly timeoutMs?: number;
  /** What is waited for; used in the failure. */
  readonly what?: string;
  /** Milliseconds between looks. Default 25. */
  readonly everyMs?: number;
}

type Falsy = false | null | undefined | 0 | '';

/**
 * Looks again and again until `condition` gives something truthy, and returns that. A condition that throws counts as
 * not met; the last error is the cause of the failure.
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  options: WaitOptions = {},
): Promise<Exclude<T, Falsy>> {
  const { timeoutMs = 20_000, what = condition.toString(), everyMs = 25 } = options;
  const deadline = performance.now() + timeoutMs;
  let cause: unknown;
  for (;;) {
    try {
      const value = await condition();
      if (value) return value as Exclude<T, Falsy>;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    if (performance.now() >= deadline) throw new Error(`not in ${timeoutMs} ms: ${what}`, { cause });
    await sleep(everyMs);
  }
}
