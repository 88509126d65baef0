/**
 * Which step an error came from. The error itself is thrown on unchanged (its class, code and stack are what the agent's own
 * `catch` knows); the step is remembered beside it and named in the attempt's failure.
 */
const steps = new WeakMap<object, string>();

/** Remembers the innermost step; gives the error back. What is no object cannot be remembered, and becomes an Error. */
export function nameStep(error: unknown, step: string): unknown {
  const thrown = typeof error === 'object' && error !== null ? error : new Error(String(error));
  if (stepOf(thrown) === undefined) steps.set(thrown, step);
  return thrown;
}

/** How far causes are followed: an agent may wrap what a step threw. */
const DEPTH = 10;

/** Full name of the step that an error, or an error that caused it, came out of; undefined for others. */
export function stepOf(error: unknown): string | undefined {
  let at = error;
  for (let depth = 0; depth < DEPTH && typeof at === 'object' && at !== null; depth += 1) {
    const step = steps.get(at);
    if (step !== undefined) return step;
    at = (at as { cause?: unknown }).cause;
  }
  return undefined;
}
