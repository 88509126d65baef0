/** Holds the documents to the code: a code without its section, or a section without its code, is a mistake. */
import { access, readFile, readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { END_CODES, ERROR_CODES, type ErrorCode } from '../src/domain/errors.js';

const docs = new URL('../docs/', import.meta.url);
const read = (name: string): Promise<string> => readFile(new URL(name, docs), 'utf8');

/** Messages that are not made from the table: they are the agent's own, or name a place to look at. */
const OWN_WORDS: readonly ErrorCode[] = ['AgentError', 'CompletedOutside', 'TemporalUnavailable'];

const sections = async (): Promise<Map<string, string>> => {
  const [, codes = ''] = (await read('failures.md')).split('\n## Codes\n');
  return new Map(
    codes
      .split(/^### /m)
      .slice(1)
      .map((section) => [/^`?([^`\n]+)`?\n/.exec(section)?.[1] ?? section, section]),
  );
};

test('the failure guide has one section for every code, in the order of the table, and none besides', async () => {
  expect([...(await sections()).keys()]).toEqual(Object.keys(ERROR_CODES));
});

test('each section of a code says what to do in steps, and its example ends with the next step of the table', async () => {
  for (const [code, section] of await sections()) {
    expect(section, code).toMatch(/^1\. \S/m);
    const example = /```text\n([\s\S]+?)\n```/.exec(section)?.[1];
    expect(example, code).toBeDefined();
    if (OWN_WORDS.includes(code as ErrorCode)) continue;
    expect(example, code).toMatch(/\S/);
    expect(example?.endsWith(`. ${ERROR_CODES[code as ErrorCode].next}`), `${code}: ${example ?? ''}`).toBe(
      true,
    );
  }
});

test('the failure guide names every failure that no worker reports', async () => {
  const guide = await read('failures.md');
  for (const code of END_CODES) expect(guide, code).toContain(`\`${code}\``);
});

/** As the code host makes them of headings. */
const anchorsOf = (text: string): readonly string[] =>
  [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );

test('links between the documents lead somewhere', async () => {
  const pages = (await readdir(docs)).filter((name) => name.endsWith('.md'));
  for (const [page, base] of [['README.md', new URL('../', docs)], ...pages.map((name) => [name, docs])] as [
    string,
    URL,
  ][]) {
    const text = await readFile(new URL(page, base), 'utf8');
    for (const [, target = '', anchor] of text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)) {
      const place = target === '' ? new URL(page, base) : new URL(target, base);
      await expect(access(place), `${page}: ${target}`).resolves.toBeUndefined();
      if (anchor !== undefined)
        expect(anchorsOf(await readFile(place, 'utf8')), `${page}: ${target}#${anchor}`).toContain(anchor);
    }
  }
});
