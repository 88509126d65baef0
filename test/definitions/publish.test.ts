import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { accept, publish } from '../../src/definitions/publish.js';
import { digestOf } from '../../src/store/canonical.js';
import { aBinding, all, aPackage, aWorkflow } from './fixtures.js';
import { testStore, type TestStore } from './store.js';

let test: TestStore;
beforeEach(async () => void (test = await testStore()));
afterEach(() => test.end());

const by = { tenant: 'acme', actor: 'ada', at: 1_000 };
const put = (documents: readonly unknown[], draft = false) =>
  publish(test.store, { ...by, documents, draft });

describe('publish', () => {
  it('numbers revisions by kind and name, and answers equal content with the revision that exists', async () => {
    const first = await put(all());
    expect(first.map(({ kind, ref }) => `${kind}/${ref}`)).toEqual([
      'package/report@1',
      'workflow/graph@1',
      'binding/team@1',
    ]);
    expect(await put(all())).toEqual(first);
    expect((await put(all('Be long.'))).map(({ ref }) => ref)).toEqual(['report@1', 'graph@1', 'team@2']);
    const row = await test.store.revisions.get('acme', 'binding', 'team', 2);
    expect(row).toMatchObject({ accepted: { actor: 'ada', at: 1_000 }, digest: digestOf(row?.content) });
  });

  it('keeps tenants apart', async () => {
    await put(all());
    expect(await test.store.revisions.get('other', 'package', 'report', null)).toBeNull();
  });

  it('takes a stated number that is right, and not its content into the digest', async () => {
    const [stated] = await put([{ ...aPackage, revision: 1 }]);
    expect(await put([aPackage])).toEqual([stated]);
    expect(
      (
        await put([
          { ...aPackage, revision: 2, content: 2 },
          { ...aPackage, revision: 3, content: 3 },
        ])
      ).map(({ ref }) => ref),
    ).toEqual(['report@2', 'report@3']);
  });

  it.each([
    ['other content under a stated number', [{ ...aPackage, revision: 1, content: 9 }], 'RevisionConflict'],
    ['a gap', [{ ...aPackage, revision: 3, content: 9 }], 'RevisionConflict'],
    ['a second number for content that has one', [{ ...aPackage, revision: 2 }], 'RevisionConflict'],
    [
      'one name twice',
      [
        { ...aPackage, content: 8 },
        { ...aPackage, content: 9 },
      ],
      'InvalidCommand',
    ],
    ['a wrong document', [{ ...aPackage, colour: 'red' }], 'InvalidCommand'],
    [
      'a missing attachment',
      [
        {
          ...aBinding(),
          nodes: {
            read: {
              ...aBinding().nodes['read'],
              attachments: [{ kind: 'a', name: 'b', file: '/no/such/file' }],
            },
          },
        },
      ],
      'InvalidCommand',
    ],
    ['nothing', [], 'InvalidCommand'],
  ])('refuses %s and writes nothing of the whole publication', async (_, bad, code) => {
    await put([aPackage]);
    const documents = bad.length === 0 ? [] : [aWorkflow, aBinding(), ...bad];
    await expect(put(documents)).rejects.toMatchObject({ code });
    expect([test.count('revisions'), test.count('blobs')]).toEqual([1, 0]);
  });
});

describe('accept', () => {
  it('records the first who accepted a draft', async () => {
    await put([aPackage], true);
    expect((await test.store.revisions.get('acme', 'package', 'report', null))?.accepted).toBeNull();
    const target = 'package/report@1';
    const first = await accept(test.store, { ...by, actor: 'bob', at: 5, target });
    expect(first).toMatchObject({ ref: 'report@1', accepted: { actor: 'bob', at: 5 } });
    expect(await accept(test.store, { ...by, actor: 'eve', at: 9, target })).toEqual(first);
  });

  it.each([
    ['package/report@7', 'UnknownRevision'],
    ['package/report', 'InvalidCommand'],
    ['recipe/report@1', 'InvalidCommand'],
    ['package/re port@1', 'InvalidCommand'],
    ['report@1', 'InvalidCommand'],
  ])('refuses %s with %s', async (target, code) => {
    await put([aPackage]);
    await expect(accept(test.store, { ...by, target })).rejects.toMatchObject({ code });
  });
});
