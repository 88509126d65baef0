import { readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { takeInventory } from '../../examples/dependency-report/inventory.js';
import { parsePolicy } from '../../examples/dependency-report/licence.js';
import { noteOf } from '../../examples/dependency-report/note.js';
import { renderReport } from '../../examples/dependency-report/report.js';
import type { Note } from '../../examples/dependency-report/types.js';
import { GPL3, makeProject, MIT } from './dependency-report-project.js';

const read = (file: string) => readFileSync(`examples/dependency-report/${file}`, 'utf8');
const policy = parsePolicy(read('licence-policy.yaml'));

async function notesOf(project: string, node = '20.19.0'): Promise<Record<string, Note>> {
  const { packages } = await takeInventory(project);
  const notes = await Promise.all(packages.map((one) => noteOf(project, one, policy, { node })));
  return Object.fromEntries(notes.map((note) => [note.package.name, note]));
}
const codes = (note: Note | undefined) => note?.questions.map((question) => question.code);

/** One package in `node_modules` and in the lock. */
async function withPackage(
  name: string,
  entry: Record<string, unknown>,
  files: Record<string, unknown>,
): Promise<{ project: string; note: Note }> {
  const project = await makeProject({
    'package-lock.json': {
      lockfileVersion: 3,
      packages: { [`node_modules/${name}`]: { version: '1.0.0', ...entry } },
    },
    ...Object.fromEntries(
      Object.entries(files).map(([file, content]) => [`node_modules/${name}/${file}`, content]),
    ),
  });
  return { project, note: (await notesOf(project))[name] as Note };
}

describe('note of one package', () => {
  it('asks nothing of a plain permissive package and says what is on disk', async () => {
    const { note, project } = await withPackage(
      'a',
      {},
      {
        'package.json': { version: '1.0.0', license: 'MIT' },
        LICENSE: MIT,
        'CHANGELOG.md': '## 1.0.0 (2021-02-03)',
        'node_modules/inner/index.js': 'not a part of it',
      },
    );
    expect(note).toMatchObject({
      presence: 'installed',
      released: '2021-02-03',
      questions: [],
      content: { files: 3 },
    });
    expect(note.licence).toMatchObject({ expression: 'MIT', class: 'permissive', from: 'package.json' });
    await writeFile(path.join(project, 'node_modules/a/LICENSE'), `${MIT} changed`);
    const later = (await notesOf(project))['a'];
    expect(later?.content?.digest).not.toBe(note.content?.digest);
  });

  it.each([
    ['copyleft', { license: 'GPL-3.0-only' }, { LICENSE: GPL3 }, ['licence-asks']],
    ['no licence at all', {}, {}, ['licence-missing']],
    ['words that are no expression', { license: 'SEE LICENSE IN terms.txt' }, {}, ['licence-unknown']],
    ['a licence unknown to the policy', { license: 'LicenseRef-mine' }, {}, ['licence-asks']],
    ['another text than it states', { license: 'MIT' }, { LICENSE: GPL3 }, ['licence-differs']],
    ['no statement but a known text', {}, { LICENSE: MIT }, []],
    ['a choice with a permissive side', { license: '(MIT OR GPL-3.0-only)' }, { LICENSE: MIT }, []],
  ])('judges %s', async (_, manifest, files, expected) => {
    const { note } = await withPackage(
      'a',
      {},
      { 'package.json': { version: '1.0.0', ...manifest }, ...files },
    );
    expect(codes(note)).toEqual(expected);
  });

  it('asks about deprecation, engines, install scripts and another installed version', async () => {
    const entry = { license: 'MIT', deprecated: 'gone', engines: { node: '>=22' }, hasInstallScript: true };
    const { note } = await withPackage('a', entry, { 'package.json': { version: '1.2.0', license: 'MIT' } });
    expect(codes(note)).toEqual(['deprecated', 'version-differs', 'install-script', 'engines']);
    expect(note.presence).toBe('other version');
  });

  it('takes the licence of an absent package from the lock, and leaves it unread where the lock has none', async () => {
    const { note } = await withPackage('a', { license: 'ISC', optional: true }, {});
    expect(note).toMatchObject({ presence: 'absent', content: null, questions: [] });
    expect(note.licence).toMatchObject({ expression: 'ISC', from: 'lock' });
    const bare = await withPackage('b', {}, {});
    expect(bare.note.licence.class).toBe('unread');
    expect(bare.note.questions).toEqual([]);
  });

  it('notices copies of one version that differ, and a package.json that is no JSON', async () => {
    const project = await makeProject({
      'package-lock.json': {
        lockfileVersion: 3,
        packages: {
          'node_modules/a': { version: '1.0.0', license: 'MIT' },
          'node_modules/b/node_modules/a': { version: '1.0.0', license: 'MIT' },
          'node_modules/c': { version: '1.0.0', license: 'MIT' },
        },
      },
      'node_modules/a/package.json': { version: '1.0.0', license: 'MIT' },
      'node_modules/b/node_modules/a/package.json': { version: '1.0.0', license: 'MIT', patched: true },
      'node_modules/c/package.json': '{ broken',
    });
    const notes = await notesOf(project);
    expect(codes(notes['a'])).toEqual(['content-differs']);
    expect(codes(notes['c'])).toEqual(['unreadable']);
    await rm(path.join(project, 'node_modules/b'), { recursive: true });
    expect(codes((await notesOf(project))['a'])).toEqual([]);
  });

  it("does not ask about the licence of the project's own private workspaces", async () => {
    const project = await makeProject({
      'package-lock.json': {
        lockfileVersion: 3,
        packages: { 'apps/web': { version: '1.0.0' }, 'libs/x': { version: '1.0.0' } },
      },
      'apps/web/package.json': { private: true },
      'libs/x/package.json': { name: 'x' },
    });
    const notes = await notesOf(project);
    expect(codes(notes['web'])).toEqual([]);
    expect(codes(notes['x'])).toEqual(['licence-missing']);
  });

  it('stops between two files when its attempt is over', async () => {
    const { project } = await withPackage('a', {}, { 'package.json': { version: '1.0.0' } });
    const { packages } = await takeInventory(project);
    const signal = AbortSignal.abort(new Error('lease lost'));
    const noting = noteOf(project, packages[0] as Note['package'], policy, { node: '20.0.0', signal });
    await expect(noting).rejects.toThrow('lease lost');
  });
});

describe('report', () => {
  it('names every package, every question and no markup of theirs', async () => {
    const { project, note } = await withPackage(
      'a',
      { deprecated: 'see <b>|x|</b>\n# big' },
      {
        'package.json': { version: '1.0.0', license: 'MIT' },
      },
    );
    const { packages: _, ...about } = await takeInventory(project);
    const markdown = renderReport(read('prompts/report.md'), read('prompts/decisions.md'), {
      about,
      notes: [note],
    });
    expect(markdown).not.toContain('{{');
    expect(markdown).toContain(
      '| a@1.0.0 | deprecated | Its authors say: see \\<b\\>\\|x\\|\\</b\\> # big |',
    );
    expect(markdown).toContain('**1 package for a person to decide.**');
    expect(markdown).toContain(note.content?.digest.slice(7, 19));
    expect(() => renderReport('{{nothing}}', '', { about, notes: [] })).toThrow(/\{\{nothing\}\}/);
  });
});
