/** The README's saved queries, as they stand there to be typed into the UI: `| view | \`query\` |` between its marks. */
import { readFile } from 'node:fs/promises';

export async function savedQueries(): Promise<readonly string[]> {
  const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8');
  const [, table = ''] = /<!-- saved queries -->([\s\S]*?)<!-- \/saved queries -->/.exec(readme) ?? [];
  return [...table.matchAll(/^\|[^|]+\| `([^`]+)`/gm)].map(([, query = '']) => query);
}
