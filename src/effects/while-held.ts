/** Waiting that ends with the attempt's authority. */

/**
 * An agent is not kept waiting, by an owner or by a store, once its authority has gone. The call itself goes on: what it does is
 * fenced where it arrives.
 *
 * @param signal of the authority; its reason is what is thrown
 */
export async function whileHeld<T>(signal: AbortSignal, call: Promise<T>): Promise<T> {
  const done = new AbortController();
  const gone = new Promise<never>((_resolve, reject) => {
    const end = (): void => reject(signal.reason as Error);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true, signal: done.signal });
  });
  try {
    return await Promise.race([gone, call]);
  } finally {
    done.abort();
  }
}
