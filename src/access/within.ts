/** Waiting with a bound. */

/**
 * Waits for a call at most `ms` milliseconds; then rejects with what `late` makes. The call itself goes on: its late
 * answer or error is dropped, never an unhandled rejection.
 */
export async function within<T>(call: Promise<T>, ms: number, late: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const bound = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(late()), ms);
  });
  try {
    return await Promise.race([call, bound]);
  } finally {
    clearTimeout(timer);
    call.catch(() => undefined);
  }
}
