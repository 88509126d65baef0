import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { ERROR_CODES } from '../src/domain/errors.js';

test('the README’s table of error codes is the one in code', async () => {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
  const table = /<!-- error codes[^>]*-->\n\n?([\s\S]*?)\n\n?<!-- \/error codes -->/.exec(readme)?.[1];
  const rows = Object.entries(ERROR_CODES).map(
    ([code, { exit, meaning, next }]) =>
      `| \`${code}\` | ${exit} | ${meaning} | ${next.replaceAll('|', '\\|')} |`,
  );
  const squeeze = (text: string) => text.replaceAll(/ +/g, ' ').replaceAll(/-+/g, '-');
  expect(squeeze(table ?? '')).toBe(
    squeeze(['| code | exit | meaning | next step |', '| --- | --- | --- | --- |', ...rows].join('\n')),
  );
});
