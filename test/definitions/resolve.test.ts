import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { publish } from '../../src/definitions/publish.js';
import { loadPlan, resolveLaunch, verifyPins } from '../../src/definitions/resolve.js';
import { sha256 } from '../../src/store/canonical.js';
import { aBinding, all, aPackage, aWorkflow, bound, withField } from './fixtures.js';
import { testStore, type TestStore } from './store.js';

let test: TestStore;
beforeEach(async () => void (test = await testStore()));
afterEach(() => test.end());

const tenant = 'acme';
const put = (documents: readonly unknown[], draft = false) =>
  publish(test.store, { tenant, actor: 'ada', at: 1, documents, draft });
const resolve = (refs: { package?: string; workflow?: string; binding?: string } = {}) =>
  resolveLaunch(test.store, { tenant, package: 'report', ...refs });

describe('resolveLaunch', () => {
  it('pins the newest accepted revisions and joins them to a plan', async () => {
    const [p, w, b] = await put(all());
    const { pins, plan } = await resolve();
    expect(pins).toEqual({
      package: { ref: 'report@1', digest: p?.digest },
      workflow: { ref: 'graph@1', digest: w?.digest },
      binding: { ref: 'team@1', digest: b?.digest },
    });
    expect(
      plan.nodes.map(({ node, slots, dependsOn, optional, steps }) => ({
        node,
        slots,
        dependsOn,
        optional,
        steps,
      })),
    ).toEqual([
      { node: 'read', slots: ['read.a', 'read.b'], dependsOn: [], optional: false, steps: null },
      {
        node: 'notes',
        slots: ['notes'],
        dependsOn: ['read'],
        optional: false,
        steps: ['inventory', 'notes', 'decisions'],
      },
      { node: 'check', slots: ['check'], dependsOn: ['notes'], optional: true, steps: null },
      {
        node: 'publish',
        slots: ['publish.1', 'publish.2'],
        dependsOn: ['notes', 'check'],
        optional: false,
        steps: null,
      },
    ]);
    expect(plan.nodes[0]).toMatchObject({
      agent: { name: 'agent', revision: '4' },
      attachments: [{ kind: 'prompt', name: 'main', digest: sha256('Be brief.') }],
      launch: [
        {
          id: 'fast',
          dispatch: 'queue',
          lease: { ttlMs: 10_000, maxDurationMs: 7_200_000 },
          retry: { mode: 'manual' },
        },
        {
          id: 'senior',
          dispatch: 'direct',
          lease: { ttlMs: 28_800_000, maxDurationMs: null },
          retry: { mode: 'auto', losses: 5 },
        },
      ],
    });
    expect(await loadPlan(test.store, tenant, pins)).toEqual(plan);
  });

  it('prefers an accepted revision to a newer draft, and takes what is stated', async () => {
    await put(all());
    await put([aBinding('Two.')], true);
    expect((await resolve()).pins.binding.ref).toBe('team@1');
    await expect(resolve({ binding: 'team@2' })).rejects.toMatchObject({ code: 'RevisionNotAccepted' });
    await put([aBinding('Two.')]);
    expect((await resolve()).pins.binding.ref).toBe('team@2');
    expect((await resolve({ binding: 'team@1' })).pins.binding.ref).toBe('team@1');
  });

  it('refuses what does not exist, is a draft only, or is no reference', async () => {
    await put([aWorkflow, aBinding()]);
    await put([aPackage], true);
    await expect(resolve()).rejects.toMatchObject({
      code: 'RevisionNotAccepted',
      details: { ref: 'report@1' },
    });
    await expect(resolve({ package: 'other' })).rejects.toMatchObject({ code: 'UnknownRevision' });
    await put([aPackage]);
    await expect(resolve({ package: 'report@9' })).rejects.toMatchObject({ code: 'UnknownRevision' });
    await expect(resolve({ workflow: 'graph@x' })).rejects.toMatchObject({
      code: 'InvalidCommand',
      details: { field: 'workflow' },
    });
    await expect(resolveLaunch(test.store, { tenant: 'other', package: 'report' })).rejects.toMatchObject({
      code: 'UnknownRevision',
    });
  });

  it('needs a workflow from the launch when the package names none', async () => {
    await put([withField(aPackage, ['workflow'], undefined), aWorkflow, aBinding()]);
    await expect(resolve()).rejects.toMatchObject({ code: 'InvalidCommand', details: { field: 'workflow' } });
    expect((await resolve({ workflow: 'graph' })).pins.workflow.ref).toBe('graph@1');
  });

  it.each([
    ['an unbound node', withField(aBinding(), ['nodes', 'check'], undefined), 'does not bind node check'],
    [
      'a node that the workflow lacks',
      withField(aBinding(), ['nodes', 'chekc'], bound('x')),
      'binds node chekc',
    ],
    ['another workflow', { ...aBinding(), workflow: 'other' }, 'is for workflow other'],
    ['another revision of the workflow', { ...aBinding(), workflow: 'graph@2' }, 'is for workflow graph@2'],
  ])('refuses a binding with %s', async (_, binding, what) => {
    await put([aPackage, aWorkflow, binding]);
    await expect(resolve()).rejects.toMatchObject({
      code: 'InvalidCommand',
      message: expect.stringContaining(what) as unknown,
      details: { binding: 'team@1', workflow: 'graph@1' },
    });
  });

  it('refuses a plan that no run could carry', async () => {
    const nodes = Array.from({ length: 400 }, (_, index) => `n${index}`);
    const workflow = {
      ...aWorkflow,
      nodes: nodes.map((node) => ({ node, steps: Array.from({ length: 20 }, (_, n) => `${n}`.repeat(80)) })),
    };
    await put([
      aPackage,
      workflow,
      { ...aBinding(), nodes: Object.fromEntries(nodes.map((node) => [node, bound('x')])) },
    ]);
    await expect(resolve()).rejects.toMatchObject({ code: 'TooLarge', details: { limit: 512 * 1024 } });
  });

  it('does not launch content that is not what was published', async () => {
    await put(all());
    expect(
      test.damage(
        `update revisions set content = replace(content, 'A report.', 'A bomb.') where kind = 'package'`,
      ),
    ).toBe(1);
    await expect(resolve()).rejects.toMatchObject({ code: 'PinsDamaged', details: { ref: 'report@1' } });
  });
});

describe('pins hold (S16)', () => {
  it('gives all of revision 1 after revision 2 is published', async () => {
    await put(all('Prüfe.\r\n'));
    const { pins, plan } = await resolve();
    await put([
      withField(aBinding('Two.'), ['nodes', 'notes', 'launch', 0, 'id'], 'slow'),
      { ...aWorkflow, nodes: aWorkflow.nodes.slice(0, 2) },
    ]);
    const verified = await verifyPins(test.store, tenant, pins, 'notes');
    expect(verified.plan).toEqual(plan.nodes[1]);
    expect(verified.attachments).toEqual([
      { kind: 'prompt', name: 'main', digest: sha256('Prüfe.\r\n'), text: 'Prüfe.\r\n' },
    ]);
    expect(await loadPlan(test.store, tenant, pins)).toEqual(plan);
  });

  const damages: [string, string, string][] = [
    ['a package that is gone', `delete from revisions where kind = 'package' and revision = 1`, 'report@1'],
    ['a workflow that is gone', `delete from revisions where kind = 'workflow' and revision = 1`, 'graph@1'],
    ['a binding that is gone', `delete from revisions where kind = 'binding' and revision = 1`, 'team@1'],
    [
      'a binding that differs',
      `update revisions set content = replace(content, 'fast', 'last') where kind = 'binding' and revision = 1`,
      'team@1',
    ],
    [
      'a binding that is no JSON',
      `update revisions set content = '{' where kind = 'binding' and revision = 1`,
      'team@1',
    ],
    [
      'a binding that is another revision',
      `update revisions set content = (select content from revisions where kind = 'binding' and revision = 2) where kind = 'binding' and revision = 1`,
      'team@1',
    ],
    ['attachment bytes that are gone', `delete from blobs where digest = '${sha256('One.')}'`, 'prompt/main'],
    [
      'attachment bytes that differ',
      `update blobs set bytes = x'4f' where digest = '${sha256('One.')}'`,
      'prompt/main',
    ],
  ];

  it.each(damages)('refuses %s and falls back to nothing', async (_, statement, named) => {
    await put(all('One.'));
    const { pins } = await resolve();
    await put([aBinding('Two.'), { ...aPackage, content: 2 }]);
    await verifyPins(test.store, tenant, pins, 'notes');
    expect(test.damage(statement)).toBe(1);
    await expect(verifyPins(test.store, tenant, pins, 'notes')).rejects.toMatchObject({
      code: 'PinsDamaged',
      message: expect.stringContaining(named) as unknown,
    });
  });

  it('does not take a closed store for damage', async () => {
    await put(all());
    const { pins } = await resolve();
    await test.store.close();
    await expect(verifyPins(test.store, tenant, pins, 'notes')).rejects.not.toMatchObject({
      code: 'PinsDamaged',
    });
  });
});
