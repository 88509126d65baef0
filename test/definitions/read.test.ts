import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readDefinitions } from '../../src/definitions/read.js';
import { sha256 } from '../../src/store/canonical.js';
import { aBinding, aPackage, aWorkflow, withField } from './fixtures.js';

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'baton-read-'))));
afterEach(() => rm(folder, { recursive: true, force: true }));

const write = async (name: string, content: string | Uint8Array): Promise<string> => {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
};

const binding = (attachment: object) =>
  JSON.stringify(withField(aBinding(), ['nodes', 'read', 'attachments'], [attachment]));
const refused = (code: string, ...texts: string[]) => ({
  code,
  message: expect.toSatisfy((message: string) => texts.every((text) => message.includes(text))) as unknown,
});

describe('readDefinitions', () => {
  it('reads several YAML documents, comments and a last separator', async () => {
    const yaml = `# head\nkind: package\nname: p\noutcome: An outcome.\nrevision: 3\n---\nkind: workflow\nname: w\nnodes:\n  - { node: a }\n---\n`;
    const definitions = await readDefinitions([await write('x.yaml', yaml)]);
    expect(
      definitions.map(({ kind, name, revision, source }) => [kind, name, revision, source.document]),
    ).toEqual([
      ['package', 'p', 3, 1],
      ['workflow', 'w', null, 2],
    ]);
    expect(definitions[0]?.content).toEqual({
      kind: 'package',
      name: 'p',
      outcome: 'An outcome.',
      content: {},
    });
  });

  it('reads JSON with tabs, and a list as several documents', async () => {
    const definitions = await readDefinitions([
      await write('one.json', JSON.stringify(aPackage, null, '\t')),
      await write('many.json', JSON.stringify([aWorkflow, aBinding()])),
    ]);
    expect(definitions.map(({ kind }) => kind)).toEqual(['package', 'workflow', 'binding']);
  });

  it('takes attachments from files beside the YAML file, byte for byte', async () => {
    await mkdir(join(folder, 'prompts'));
    const bytes = new TextEncoder().encode('\ufeffPrüfe.\r\n');
    await write('prompts/a.md', bytes);
    const [definition] = await readDefinitions([
      await write('b.json', binding({ kind: 'prompt', name: 'a', file: 'prompts/a.md' })),
    ]);
    expect(definition?.attachments[0]).toEqual(bytes);
    expect(definition?.content).toMatchObject({
      nodes: {
        read: { attachments: [{ kind: 'prompt', name: 'a', digest: sha256(bytes), size: bytes.byteLength }] },
      },
    });
  });

  it.each([
    ['a file that is not there', { kind: 'prompt', name: 'a', file: 'no.md' }, 'does not exist'],
    ['a folder', { kind: 'prompt', name: 'a', file: '.' }, 'is not a file'],
    ['bytes that are no text', { kind: 'prompt', name: 'a', file: 'bin' }, 'is not UTF-8 text'],
    ['text with a NUL', { kind: 'prompt', name: 'a', text: 'a\0b' }, 'NUL'],
  ])('refuses as an attachment %s', async (_, attachment, what) => {
    await write('bin', Uint8Array.of(0xff, 0xfe));
    const file = await write('b.json', binding(attachment));
    const field = `nodes.read.attachments[0].${'file' in attachment ? 'file' : 'text'}`;
    await expect(readDefinitions([file])).rejects.toMatchObject({
      ...refused('InvalidCommand', what, field),
      details: { file, document: 1, field },
    });
  });

  it('refuses an attachment over its limit', async () => {
    await write('big.md', 'x'.repeat(1024 * 1024 + 1));
    const file = await write('b.json', binding({ kind: 'prompt', name: 'a', file: 'big.md' }));
    await expect(readDefinitions([file])).rejects.toMatchObject(refused('TooLarge', 'big.md'));
  });

  it.each([
    ['a duplicate key', 'kind: package\nname: a\nname: b\n', 'unique'],
    ['broken YAML', 'kind: [', 'cannot be read'],
    ['an unknown tag', 'kind: !!foo package\n', 'tag'],
    ['nothing', '# only a comment\n', 'no document'],
    ['a text', 'hello\n', 'mapping'],
    ['deep nesting', '['.repeat(20_000), 'cannot be read'],
    [
      'aliases that multiply',
      `a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [${'*a,'.repeat(30)}]\nc: &c [${'*b,'.repeat(30)}]\nd: [${'*c,'.repeat(30)}]\n`,
      'alias',
    ],
  ])('refuses %s and names the file', async (_, yaml, what) => {
    const file = await write('bad.yaml', yaml);
    await expect(readDefinitions([file])).rejects.toMatchObject(refused('InvalidCommand', what, file));
  });

  it('names file and document of a wrong field', async () => {
    const file = await write(
      'x.yaml',
      `kind: workflow\nname: w\nnodes: [{ node: a }]\n---\nkind: workflow\nname: w\nnodes: [{ nod: a }]\n`,
    );
    await expect(readDefinitions([file])).rejects.toMatchObject(
      refused(
        'InvalidCommand',
        file,
        'document=2',
        'nodes[0].nod is an unknown field',
        'nodes[0].node is missing',
      ),
    );
  });

  it('refuses a definition file that is not there', async () => {
    await expect(readDefinitions([join(folder, 'no.yaml')])).rejects.toMatchObject(
      refused('InvalidCommand', 'no.yaml', 'does not exist'),
    );
  });
});
