/** Everything that is started says how it ends, and all of it is ended, last first, whatever happens. */

export type AtEnd = (end: () => Promise<unknown>) => void;

/**
 * @param use is given the function that takes ends
 * @param outer ends these too when it ends first, as on Ctrl-C
 */
export async function withEnds<T>(use: (atEnd: AtEnd) => Promise<T>, outer?: AtEnd): Promise<T> {
  const ends: (() => Promise<unknown>)[] = [];
  let over = false;
  let ending = Promise.resolve();
  const run = (): Promise<void> => {
    over = true;
    ending = ending.then(async () => {
      // Each is tried: one that fails to end must not keep the others running.
      for (const end of ends.splice(0)) await end().catch((error: unknown) => console.error(error));
    });
    return ending;
  };
  outer?.(run);
  try {
    return await use((end) => {
      ends.unshift(end);
      // Started while all was being ended, after an interruption: ended at once.
      if (over) void run();
    });
  } finally {
    await run();
  }
}
