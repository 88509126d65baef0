/** Several processes that do the same at once. */
import { startNode } from '../support/processes.js';

export const START_MS = 60_000;

/** Starts the processes, lets them go at once, and gives what each printed. */
export async function race(
  file: string,
  url: string,
  mode: string,
  count: number,
): Promise<Record<string, unknown>[]> {
  const names = Array.from({ length: count }, (_, index) => `w${index}`);
  const children = await Promise.all(
    names.map((name) => startNode(file, [mode, url, name], { stdin: true })),
  );
  await Promise.all(children.map((one) => one.ready(/^ready$/, START_MS)));
  for (const one of children) one.write('go\n');
  return Promise.all(
    children.map(async (one) => JSON.parse(await one.ready('json', START_MS)) as Record<string, unknown>),
  );
}
