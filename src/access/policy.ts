/**
 * The default hook: a small file with roles (lists of commands) and, for each tenant, who has them. Rights only add up; there
 * is no "deny", and what no role allows is refused.
 */
import { z } from 'zod';
import { id } from '../definitions/fields.js';
import { invalid, problemsOf, type Problem, type Source } from '../definitions/problems.js';
import { documentsOf, readText } from '../definitions/read.js';
import { isId } from '../domain/text.js';
import { COMMANDS, READS } from './actions.js';
import type { Authorize } from './authorize.js';

/** Bytes of a policy file. */
const FILE_LIMIT = 1024 * 1024;
const EVERY = '*';
/** `read`: every read but the audit, which tells of people and not of runs. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  [EVERY]: [...COMMANDS, ...READS],
  read: READS.filter((name) => name !== 'audit'),
};
const KNOWN: ReadonlySet<string> = new Set([...COMMANDS, ...READS, ...Object.keys(GROUPS)]);

const action = z
  .string()
  .refine((name) => KNOWN.has(name), `is no command; known are ${[...KNOWN].join(', ')}`);

/** Ids of actors have no other characters, so a pattern with one would never match. */
const actorPattern = z
  .string()
  .refine(
    (pattern) => pattern === EVERY || isId(pattern.replace(/\*$/, '')),
    'is no actor: write an id (A-Z a-z 0-9 . _ -), the beginning of ids with a `*` behind it, or `*`',
  );

const roles = z.record(id, z.array(action).min(1));
const tenantKey = z
  .string()
  .refine((key) => key === EVERY || (isId(key) && key !== '__proto__'), 'is no tenant: write an id, or `*`');

const schema = z.strictObject({
  /** Of all tenants. */
  roles: roles.default({}),
  tenants: z.record(
    tenantKey,
    z.strictObject({
      /** Of this tenant alone; one of the same name replaces the common one here. */
      roles: roles.default({}),
      /** Role: who has it. */
      bindings: z.record(id, z.array(actorPattern).min(1)),
    }),
  ),
});

type Policy = z.output<typeof schema>;

/**
 * @param file path of a YAML file
 * @returns the hook that the file describes
 * @throws BatonError `InvalidCommand` naming file and field, `TooLarge`
 */
export async function loadPolicy(file: string): Promise<Authorize> {
  return policyOf(await readText(file, FILE_LIMIT, { field: 'policy', file }), file);
}

/** Like {@link loadPolicy}, of a text. @param file for messages */
export function policyOf(text: string, file: string): Authorize {
  const source: Source = { file, document: 1 };
  const [document, ...more] = documentsOf(text, file);
  if (more.length > 0)
    throw invalid(source, [{ field: '', what: 'is not the only one: a policy is one document' }]);
  const parsed = schema.safeParse(document);
  if (!parsed.success) throw invalid(source, problemsOf(parsed.error));
  const unknown = unknownRoles(parsed.data);
  if (unknown.length > 0) throw invalid(source, unknown);
  return hookOf(parsed.data);
}

/** A binding to a role that is nowhere would silently allow nothing. */
const unknownRoles = (policy: Policy): readonly Problem[] =>
  Object.entries(policy.tenants).flatMap(([tenant, { bindings }]) =>
    Object.keys(bindings)
      .filter((role) => roleOf(policy, tenant, role) === null)
      .map((role) => ({
        field: `tenants.${tenant}.bindings.${role}`,
        what: 'names a role that is not defined',
      })),
  );

function roleOf(policy: Policy, tenant: string, role: string): readonly string[] | null {
  const own = policy.tenants[tenant]?.roles ?? {};
  const found = Object.hasOwn(own, role)
    ? own[role]
    : Object.hasOwn(policy.roles, role)
      ? policy.roles[role]
      : null;
  return found ?? null;
}

interface Grant {
  readonly pattern: string;
  readonly actions: ReadonlySet<string>;
}

function hookOf(policy: Policy): Authorize {
  const grants = new Map(Object.keys(policy.tenants).map((tenant) => [tenant, grantsOf(policy, tenant)]));
  return ({ name, tenant }, actor) => {
    const here = [...(grants.get(tenant) ?? []), ...(grants.get(EVERY) ?? [])];
    if (here.some(({ pattern, actions }) => actions.has(name) && matches(pattern, actor))) return true;
    // The same words for a tenant that the file does not have.
    return { refused: `no role of theirs in tenant ${tenant} allows it` };
  };
}

function grantsOf(policy: Policy, tenant: string): readonly Grant[] {
  return Object.entries(policy.tenants[tenant]?.bindings ?? {}).flatMap(([role, patterns]) => {
    const named = roleOf(policy, tenant, role) ?? [];
    const actions = new Set(named.flatMap((name) => GROUPS[name] ?? [name]));
    return patterns.map((pattern) => ({ pattern, actions }));
  });
}

const matches = (pattern: string, actor: string): boolean =>
  pattern.endsWith('*') ? actor.startsWith(pattern.slice(0, -1)) : actor === pattern;
