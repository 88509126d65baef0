import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDocument, parseStored } from '../../src/definitions/parse.js';
import { definitionOf } from '../../src/definitions/read.js';
import type { BindingDocument, WorkflowDocument } from '../../src/definitions/schema.js';
import { aBinding, aPackage, aWorkflow, bound, withField } from './fixtures.js';

const source = { file: 'x.yaml', document: 2 };
const launch = ['nodes', 'read', 'launch', 0] as const;

const refusal = (raw: unknown): { code: string; message: string; field: unknown } => {
  try {
    parseDocument(raw, source);
  } catch (error) {
    const { code, message, details } = error as {
      code: string;
      message: string;
      details: Record<string, unknown>;
    };
    expect(details).toMatchObject({ file: 'x.yaml', document: 2 });
    return { code, message, field: details['field'] };
  }
  throw new Error('was accepted');
};

describe('defaults', () => {
  it('writes out the defaults of lease and retry', () => {
    const document = parseDocument(
      withField(aBinding(), [...launch], { id: 's', workerClasses: ['w'] }),
      source,
    ) as BindingDocument;
    expect(document.nodes['read']?.launch[0]).toEqual({
      id: 's',
      workerClasses: ['w'],
      dispatch: 'queue',
      lease: { ttl: 60_000, maxDuration: null },
      retry: {
        mode: 'auto',
        backoff: { initial: 5_000, factor: 2, max: 300_000 },
        failures: 3,
        losses: 5,
        onExhausted: 'wait',
      },
    });
  });

  it('takes an unquoted agent revision and refuses one that lost a digit', () => {
    const at = ['nodes', 'read', 'agent', 'revision'];
    const document = parseDocument(withField(aBinding(), at, 4), source) as BindingDocument;
    expect(document.nodes['read']?.agent.revision).toBe('4');
    expect(refusal(withField(aBinding(), at, 1.1))).toMatchObject({ field: 'nodes.read.agent.revision' });
  });

  it('lets a first wait above the default longest wait raise it', () => {
    const document = parseDocument(
      withField(aBinding(), [...launch, 'retry'], { backoff: { initial: '10m' } }),
      source,
    ) as BindingDocument;
    expect(document.nodes['read']?.launch[0]?.retry.backoff.max).toBe(600_000);
  });
});

describe('what is wrong is named by its path', () => {
  const cases: [string, unknown, string | undefined, string?][] = [
    ['no mapping', ['x'], undefined],
    ['no kind', withField(aPackage, ['kind'], undefined), 'kind'],
    ['foreign kind', withField(aPackage, ['kind'], 'recipe'), 'kind'],
    ['unknown field', { ...aPackage, colour: 'red' }, 'colour'],
    [
      'nested unknown field',
      withField(aBinding(), [...launch, 'lease', 'tl'], '1s'),
      'nodes.read.launch[0].lease.tl',
    ],
    ['missing outcome', withField(aPackage, ['outcome'], undefined), 'outcome'],
    ['blank outcome', withField(aPackage, ['outcome'], ' \u200b'), 'outcome'],
    ['long outcome', withField(aPackage, ['outcome'], '😀'.repeat(4_001)), 'outcome', 'TooLarge'],
    ['NUL in the outcome', withField(aPackage, ['outcome'], 'a\0'), 'outcome'],
    ['bad name', withField(aPackage, ['name'], 'a b'), 'name'],
    ['bad reference', withField(aPackage, ['workflow'], 'graph@0'), 'workflow'],
    ['revision 0', { ...aPackage, revision: 0 }, 'revision'],
    ['revision as text', { ...aPackage, revision: '3' }, 'revision'],
    ['content with a number that JSON lacks', { ...aPackage, content: { a: [Infinity] } }, 'content'],
    ['content with a rounded number', { ...aPackage, content: 12345678901234567890 }, 'content'],
    ['content with half a pair', { ...aPackage, content: { a: '\ud800' } }, 'content'],
    ['no nodes', { ...aWorkflow, nodes: [] }, 'nodes'],
    ['slots: 0', withField(aWorkflow, ['nodes', 0, 'slots'], 0), 'nodes[0].slots'],
    ['slots: 1.5', withField(aWorkflow, ['nodes', 0, 'slots'], 1.5), 'nodes[0].slots'],
    ['slots: []', withField(aWorkflow, ['nodes', 0, 'slots'], []), 'nodes[0].slots'],
    ['the same slot twice', withField(aWorkflow, ['nodes', 0, 'slots'], ['a', 'a']), 'nodes[0].slots'],
    ['the same node twice', withField(aWorkflow, ['nodes', 1, 'node'], 'read'), 'nodes[1].node'],
    [
      'unknown dependency',
      withField(aWorkflow, ['nodes', 1, 'dependsOn', 0], 'raed'),
      'nodes[1].dependsOn[0]',
    ],
    [
      'dependency named twice',
      withField(aWorkflow, ['nodes', 1, 'dependsOn'], ['read', 'read']),
      'nodes[1].dependsOn[1]',
    ],
    ['cycle', withField(aWorkflow, ['nodes', 0, 'dependsOn'], ['publish']), 'nodes[0].dependsOn'],
    ['self-dependency', withField(aWorkflow, ['nodes', 0, 'dependsOn'], ['read']), 'nodes[0].dependsOn'],
    ['the same step twice', withField(aWorkflow, ['nodes', 1, 'steps'], ['x', 'x']), 'nodes[1].steps'],
    [
      'too many slots',
      {
        ...aWorkflow,
        nodes: [
          { node: 'a', slots: 1_200 },
          { node: 'b', slots: 1_200 },
        ],
      },
      'nodes',
      'TooLarge',
    ],
    ['no specification', withField(aBinding(), ['nodes', 'read', 'launch'], []), 'nodes.read.launch'],
    [
      'no class',
      withField(aBinding(), [...launch, 'workerClasses'], []),
      'nodes.read.launch[0].workerClasses',
    ],
    [
      'the same specification twice',
      withField(aBinding(), ['nodes', 'read', 'launch', 1, 'id'], 'fast'),
      'nodes.read.launch',
    ],
    [
      'foreign dispatch',
      withField(aBinding(), [...launch, 'dispatch'], 'mail'),
      'nodes.read.launch[0].dispatch',
    ],
    [
      'ttl too short',
      withField(aBinding(), [...launch, 'lease', 'ttl'], '999ms'),
      'nodes.read.launch[0].lease.ttl',
    ],
    [
      'ttl without unit',
      withField(aBinding(), [...launch, 'lease', 'ttl'], '10'),
      'nodes.read.launch[0].lease.ttl',
    ],
    [
      'ttl too long',
      withField(aBinding(), [...launch, 'lease', 'ttl'], '31d'),
      'nodes.read.launch[0].lease.ttl',
    ],
    [
      'negative duration',
      withField(aBinding(), [...launch, 'lease', 'maxDuration'], -1),
      'nodes.read.launch[0].lease.maxDuration',
    ],
    [
      'factor below 1',
      withField(aBinding(), [...launch, 'retry', 'backoff'], { factor: 0.5 }),
      'nodes.read.launch[0].retry.backoff.factor',
    ],
    [
      'max below initial',
      withField(aBinding(), [...launch, 'retry', 'backoff'], { max: '1s' }),
      'nodes.read.launch[0].retry.backoff.max',
    ],
    [
      'fractional budget',
      withField(aBinding(), [...launch, 'retry', 'losses'], 1.5),
      'nodes.read.launch[0].retry.losses',
    ],
    [
      'foreign mode',
      withField(aBinding(), [...launch, 'retry', 'mode'], 'maybe'),
      'nodes.read.launch[0].retry.mode',
    ],
    [
      'attachment without source',
      withField(aBinding(), ['nodes', 'read', 'attachments', 0, 'text'], undefined),
      'nodes.read.attachments[0]',
    ],
    [
      'attachment with two sources',
      withField(aBinding(), ['nodes', 'read', 'attachments', 0, 'file'], 'x'),
      'nodes.read.attachments[0]',
    ],
    ['bad node name', withField(aBinding(), ['nodes', 'a b'], bound('x')), 'nodes.a b'],
  ];

  it.each(cases)('%s', (_, raw, field, code = 'InvalidCommand') => {
    const found = refusal(raw);
    expect(found).toMatchObject({ code, field });
    expect(found.message).toContain(field ?? 'the document');
  });

  it('names the cycle', () => {
    expect(refusal(withField(aWorkflow, ['nodes', 0, 'dependsOn'], ['publish'])).message).toContain(
      'read → publish → notes → read',
    );
  });

  it('sees a slot name that two nodes share', () => {
    const nodes = [{ node: 'a', slots: ['b'] }, { node: 'a.b' }];
    expect(refusal({ ...aWorkflow, nodes }).message).toContain('a.b');
  });

  it('accepts every acyclic graph and refuses it once an edge is turned back', () => {
    const graphs = fc
      .integer({ min: 2, max: 30 })
      .chain((size) =>
        fc.tuple(fc.constant(size), fc.array(fc.tuple(fc.nat(size - 1), fc.nat(size - 1)), { minLength: 1 })),
      );
    fc.assert(
      fc.property(graphs, ([size, pairs]) => {
        const nodes = Array.from({ length: size }, (_, index) => ({
          node: `n${index}`,
          dependsOn: [
            ...new Set(pairs.filter(([from, to]) => from === index && to < from).map(([, to]) => `n${to}`)),
          ],
        }));
        const parsed = parseDocument({ kind: 'workflow', name: 'g', nodes }, source) as WorkflowDocument;
        expect(parsed.nodes).toHaveLength(size);
        const edge = nodes.flatMap(({ node, dependsOn }) => dependsOn.map((to) => [node, to] as const))[0];
        if (edge === undefined) return;
        const [from, to] = edge;
        const back = nodes.map((node) =>
          node.node === to ? { ...node, dependsOn: [...node.dependsOn, from] } : node,
        );
        expect(refusal({ kind: 'workflow', name: 'g', nodes: back }).message).toContain('is a cycle');
      }),
    );
  });
});

describe('stored content', () => {
  it('is read back as it was parsed, so that equal documents stay equal', async () => {
    for (const raw of [aPackage, aWorkflow, aBinding()]) {
      const { kind, content } = await definitionOf({ ...raw, revision: 7 });
      expect(JSON.parse(JSON.stringify(parseStored(kind, 'x@7', content)))).toEqual(content);
      expect(content).not.toHaveProperty('revision');
    }
  });

  it('does not depend on how a duration is written', async () => {
    const first = await definitionOf(withField(aBinding(), [...launch, 'lease', 'ttl'], '10s'));
    const second = await definitionOf(withField(aBinding(), [...launch, 'lease', 'ttl'], 10_000));
    expect(second.content).toEqual(first.content);
  });

  it('that this version cannot read is damage', () => {
    expect(() => parseStored('workflow', 'graph@1', { kind: 'workflow' })).toThrowError(
      expect.objectContaining({ code: 'PinsDamaged' }),
    );
  });
});
