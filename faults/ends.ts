/** Everything that is started says how it ends, and all of it is ended, last first, whatever happens. */

export type AtEnd = (end: () => Promise<unknown>) => void;

export async function withEnds<T>(use: (atEnd: AtEnd) => Promise<T>): Promise<T> {
  const ends: (() => Promise<unknown>)[] = [];
  let over = false;
  const run = async (): Promise<void> => {
    // Each is tried: one that fails to end must not keep the others running.
    for (const end of ends.splice(0)) await end().catch((error: unknown) => console.error(error));
  };
  try {
    return await use((end) => {
      ends.unshift(end);
      // Started while all was being ended, after an interruption: ended at once.
      if (over) void run();
    });
  } finally {
    over = true;
    await run();
  }
}
