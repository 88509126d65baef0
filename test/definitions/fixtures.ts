/** Definitions that tests publish, as data: two nodes, two specifications, one attachment. */
export const aPackage = {
  kind: 'package',
  name: 'report',
  outcome: 'A report.',
  content: { a: 1 },
  workflow: 'graph',
  binding: 'team',
};

export const aWorkflow = {
  kind: 'workflow',
  name: 'graph',
  nodes: [
    { node: 'read', slots: ['a', 'b'] },
    { node: 'notes', dependsOn: ['read'], steps: ['inventory', 'notes', 'decisions'] },
    { node: 'check', dependsOn: ['notes'], optional: true },
    { node: 'publish', dependsOn: ['notes', 'check'], slots: 2 },
  ],
};

export const spec = (id: string, ...workerClasses: string[]) => ({ id, workerClasses });

export const bound = (attachmentText: string) => ({
  agent: { name: 'agent', revision: '4' },
  attachments: [{ kind: 'prompt', name: 'main', text: attachmentText }],
  launch: [
    { ...spec('fast', 'researcher'), lease: { ttl: '10s', maxDuration: '2h' }, retry: { mode: 'manual' } },
    { ...spec('senior', 'senior', 'human'), dispatch: 'direct', lease: { ttl: '8h' } },
  ],
});

export const aBinding = (attachmentText = 'Be brief.') => ({
  kind: 'binding',
  name: 'team',
  workflow: 'graph',
  nodes: Object.fromEntries(
    ['read', 'notes', 'check', 'publish'].map((node) => [node, bound(attachmentText)]),
  ),
});

export const all = (attachmentText?: string): unknown[] => [aPackage, aWorkflow, aBinding(attachmentText)];

/** A deep copy of a JSON value with one path replaced; `undefined` removes it. */
export function withField(value: unknown, path: readonly (string | number)[], replacement: unknown): unknown {
  const copy = structuredClone(value) as Record<string | number, unknown>;
  const last = path[path.length - 1] as string | number;
  const parent = path.slice(0, -1).reduce((at, part) => at[part] as Record<string | number, unknown>, copy);
  if (replacement === undefined) delete parent[last];
  else parent[last] = replacement;
  return copy;
}
