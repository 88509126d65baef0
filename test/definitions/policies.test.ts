/** Escalations and deadlines as they are written, and what becomes of them in the plan. */
import { describe, expect, it } from 'vitest';
import { parseDocument } from '../../src/definitions/parse.js';
import { planOf } from '../../src/definitions/plan.js';
import type { StoredBinding, WorkflowDocument } from '../../src/definitions/schema.js';
import { aBinding, aWorkflow, withField } from './fixtures.js';

const source = { file: 'x.yaml', document: 1 };
const at = ['nodes', 'read', 'escalate'];
const binding = (escalate: unknown): unknown => withField(aBinding(), at, escalate);
const workflow = (field: readonly (string | number)[], deadline: unknown): unknown =>
  withField(aWorkflow, field, deadline);
const parsed = (raw: unknown) => parseDocument(raw, source);
const refused = (raw: unknown): { code: string; field: unknown; message: string } => {
  try {
    parsed(raw);
  } catch (error) {
    const { code, details, message } = error as {
      code: string;
      details: Record<string, unknown>;
      message: string;
    };
    return { code, field: details['field'], message };
  }
  throw new Error('was accepted');
};
const policy = { name: 'two-losses', after: { losses: 2 }, to: 'senior' };

describe('escalate', () => {
  it('is part of the plan of its node only', () => {
    const written = [
      policy,
      { name: 'stuck', after: { failures: 1 }, to: 'human', reason: 'a person must look' },
    ];
    const { nodes } = planOf(
      parsed(aWorkflow) as WorkflowDocument,
      // No attachment is looked at here, so that of the written form will do.
      parsed(binding(written)) as unknown as StoredBinding,
      { workflow: 'graph@1', binding: 'team@1' },
    );
    expect(nodes[0]?.escalate).toEqual([
      { name: 'two-losses', count: 'losses', after: 2, workerClass: 'senior', reason: null },
      { name: 'stuck', count: 'failures', after: 1, workerClass: 'human', reason: 'a person must look' },
    ]);
    expect(nodes[1]).not.toHaveProperty('escalate');
  });

  it('leaves content without it as it was, and so its digest', () => {
    expect(JSON.stringify(parsed(aBinding()))).not.toContain('escalate');
    expect(JSON.stringify(parsed(aWorkflow))).not.toContain('deadline');
  });

  it.each([
    [
      'neither count',
      [{ ...policy, after: {} }],
      'nodes.read.escalate[0].after',
      'one of losses and failures',
    ],
    [
      'both counts',
      [{ ...policy, after: { losses: 1, failures: 1 } }],
      'nodes.read.escalate[0].after',
      'one of',
    ],
    ['none', [{ ...policy, after: { losses: 0 } }], 'nodes.read.escalate[0].after.losses', ''],
    ['a class that nobody may be', [{ ...policy, to: 'nobody' }], 'nodes.read.escalate[0].to', 'nobody'],
    [
      'a count above every budget',
      [{ ...policy, after: { losses: 6 } }],
      'nodes.read.escalate[0].after',
      'never reached',
    ],
    ['one name twice', [policy, policy], 'nodes.read.escalate', 'twice'],
    ['a name that is no id', [{ ...policy, name: 'a:b' }], 'nodes.read.escalate[0].name', ''],
    ['a blank reason', [{ ...policy, reason: ' ' }], 'nodes.read.escalate[0].reason', 'blank'],
    ['a misspelt field', [{ ...policy, too: 'senior' }], 'nodes.read.escalate[0].too', ''],
  ])('refuses %s', (_what, escalate, field, words) => {
    const problem = refused(binding(escalate));
    expect(problem).toMatchObject({ code: 'InvalidCommand', field });
    expect(problem.message).toContain(words);
  });
});

describe('deadline', () => {
  it('of workflow and node become milliseconds of the plan', () => {
    const written = withField(workflow(['deadline'], '24h'), ['nodes', 1, 'deadline'], '90m');
    const plan = planOf(parsed(written) as WorkflowDocument, parsed(aBinding()) as unknown as StoredBinding, {
      workflow: 'graph@1',
      binding: 'team@1',
    });
    expect(plan.deadlineMs).toBe(86_400_000);
    expect(plan.nodes.map((node) => node.deadlineMs)).toEqual([undefined, 5_400_000, undefined, undefined]);
  });

  it.each([
    [['deadline'], 'soon', 'deadline'],
    [['deadline'], '10ms', 'deadline'],
    [['nodes', 0, 'deadline'], '400d', 'nodes[0].deadline'],
    [['nodes', 0, 'deadline'], null, 'nodes[0].deadline'],
  ])('refuses %j: %j', (path, value, field) => {
    expect(refused(workflow(path, value))).toMatchObject({ code: 'InvalidCommand', field });
  });
});
