/** The policy file: who may do what by it, for every action there is; and what is wrong with one that is not valid. */
import { describe, expect, it, test } from 'vitest';
import { COMMANDS, READS, type ActionName } from '../../src/access/actions.js';
import { loadPolicy, policyOf } from '../../src/access/policy.js';

const ALL: readonly ActionName[] = [...COMMANDS, ...READS];

const allowed = async (text: string, tenant: string, actor: string): Promise<readonly string[]> => {
  const authorize = policyOf(text, 'policy.yaml');
  const verdicts = await Promise.all(
    ALL.map(async (name) => {
      const kind = (READS as readonly string[]).includes(name) ? 'read' : 'command';
      return (await authorize({ name, kind, tenant }, actor)) === true ? [name] : [];
    }),
  );
  return verdicts.flat();
};

const EXAMPLE = new URL('../../examples/policy/policy.yaml', import.meta.url).pathname;
const reads = READS.filter((name) => name !== 'audit');
const held = ['heartbeat', 'save', 'complete', 'fail', 'release'] as const;

/** What each role of the example may do, in full: whoever adds a command decides here for whom. */
const ROLES: Readonly<Record<string, readonly ActionName[]>> = {
  viewer: reads,
  worker: [...reads, 'claim', ...held],
  operator: [
    ...reads,
    'launch',
    'reassign',
    'hold',
    'releaseHold',
    'revoke',
    'cancelSlot',
    'cancelRun',
    'resolveEffect',
    'audit',
  ],
  admin: ALL,
  nobody: [],
};

describe('the example', () => {
  it.each([
    ['acme', 'ada', 'admin'],
    ['acme', 'oncall-3', 'operator'],
    ['acme', 'agent-7', 'worker'],
    ['acme', 'anybody.else', 'viewer'],
    ['globex', 'hank', 'operator'],
    ['globex', 'ada', 'nobody'],
    ['globex', 'agent-7', 'nobody'],
    ['initech', 'ada', 'nobody'],
    // In every tenant.
    ['acme', 'platform-bot', 'admin'],
    ['initech', 'platform-bot', 'admin'],
    ['initech', 'platform-bot2', 'nobody'],
  ])('in %s, %s is %s', async (tenant, actor, role) => {
    const authorize = await loadPolicy(EXAMPLE);
    for (const name of ALL) {
      const kind = (READS as readonly string[]).includes(name) ? 'read' : 'command';
      const answer = await authorize({ name, kind, tenant }, actor);
      expect(answer === true, `${actor} ${name}`).toBe(ROLES[role]?.includes(name));
      if (answer !== true) expect(answer.refused).toContain(tenant);
    }
  });
});

test('rights of several roles add up, and a tenant’s own role replaces the common one there', async () => {
  const text = `
    roles: { viewer: [show], extra: [hold] }
    tenants:
      a: { bindings: { viewer: [ada], extra: ['ad*'] } }
      b: { roles: { viewer: [list] }, bindings: { viewer: [ada] } }
      '*': { bindings: { extra: [root] } }`;
  expect(await allowed(text, 'a', 'ada')).toEqual(['hold', 'show']);
  expect(await allowed(text, 'a', 'adam')).toEqual(['hold']);
  expect(await allowed(text, 'b', 'ada')).toEqual(['list']);
  expect(await allowed(text, 'b', 'root')).toEqual(['hold']);
  expect(await allowed(text, 'constructor', 'ada')).toEqual([]);
});

test('`*` is every command and read, `read` every read but the audit', async () => {
  const text = `{ roles: { all: ['*'], read: [read] }, tenants: { a: { bindings: { all: [ada], read: ['*'] } } } }`;
  expect(await allowed(text, 'a', 'ada')).toEqual(ALL);
  expect(await allowed(text, 'a', 'bob')).toEqual(reads);
});

describe('what is wrong is named by file and field', () => {
  it.each([
    ['an unknown field', '{ tenants: {}, rules: [] }', 'rules is an unknown field'],
    ['no tenants', '{ roles: { a: [show] } }', 'tenants is missing'],
    ['an unknown command', '{ roles: { a: [show, frobnicate] }, tenants: {} }', 'roles.a[1] is no command'],
    ['a role without commands', '{ roles: { a: [] }, tenants: {} }', 'roles.a must have at least one entry'],
    [
      'a role that is not there',
      '{ tenants: { a: { bindings: { boss: [ada] } } } }',
      'tenants.a.bindings.boss names a role that is not defined',
    ],
    ['no bindings', '{ tenants: { a: {} } }', 'tenants.a.bindings is missing'],
    ['a tenant that is none', `{ tenants: { 'a b': { bindings: {} } } }`, 'is no tenant'],
    [
      'a pattern that matches nobody',
      `{ roles: { r: [show] }, tenants: { a: { bindings: { r: ['agent:*'] } } } }`,
      'tenants.a.bindings.r[0] is no actor',
    ],
    [
      'a star in the middle',
      `{ roles: { r: [show] }, tenants: { a: { bindings: { r: ['a*b'] } } } }`,
      'tenants.a.bindings.r[0] is no actor',
    ],
    ['a prototype for a role', '{ tenants: { a: { bindings: { toString: [ada] } } } }', 'not defined'],
    ['the same key twice', '{ tenants: {}, tenants: {} }', 'cannot be read'],
    ['two documents', 'tenants: {}\n---\ntenants: {}\n', 'a policy is one document'],
    ['nothing', '', 'has no document'],
    ['a text', 'everybody', 'must be a mapping'],
  ])('%s', (_what, text, said) => {
    const read = () => policyOf(text, 'who.yaml');
    expect(read).toThrow(expect.objectContaining({ code: 'InvalidCommand' }));
    expect(read).toThrow(said);
    expect(read).toThrow('who.yaml');
  });

  it('a file that is not there', async () => {
    await expect(loadPolicy('/no/such/policy.yaml')).rejects.toMatchObject({
      code: 'InvalidCommand',
      message: expect.stringContaining('/no/such/policy.yaml does not exist'),
    });
  });
});
