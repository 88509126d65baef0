/**
 * The owner's protocol as scripts: generators that yield statements and calls, and know nothing of who carries them out. One
 * text of the rules so serves engines that answer at once (better-sqlite3) and those that must be awaited.
 */

/** A statement with `?` for each parameter; its answer are the rows. Or a call of the owner's own code inside the transaction. */
export type Ask =
  { readonly sql: string; readonly parameters: readonly Value[] } | { readonly call: () => unknown };

export type Value = string | number | null;
export type Row = Readonly<Record<string, unknown>>;
export type Script<T> = Generator<Ask, T, unknown>;

/** Yields one statement. */
export function* query(sql: string, parameters: readonly Value[] = []): Script<readonly Row[]> {
  return (yield { sql, parameters }) as readonly Row[];
}

/** Yields a call of the owner's code; gives what it returns or resolves to. */
export function* call(work: () => unknown): Script<unknown> {
  return yield { call: work };
}

/** Carries a script out at once. */
export function runSync<T>(script: Script<T>, answer: (ask: Ask) => unknown): T {
  let step = script.next();
  while (!step.done) {
    let value: unknown;
    try {
      value = answer(step.value);
    } catch (error) {
      step = script.throw(error);
      continue;
    }
    step = script.next(value);
  }
  return step.value;
}

/** Carries a script out, awaiting each answer. */
export async function runAsync<T>(script: Script<T>, answer: (ask: Ask) => unknown): Promise<T> {
  let step = script.next();
  while (!step.done) {
    let value: unknown;
    try {
      value = await answer(step.value);
    } catch (error) {
      step = script.throw(error);
      continue;
    }
    step = script.next(value);
  }
  return step.value;
}
