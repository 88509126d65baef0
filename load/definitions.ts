/** What the runs of the load test are launched from, and what each run must have in the end. */

export const PACKAGE = 'load';
export const WORKER_CLASS = 'loaded';
export const STEPS = ['read', 'think', 'write'] as const;
/** All slots of a run: one, then three side by side, then one that needs all three. */
export const SLOTS = ['plan', 'part.a', 'part.b', 'part.c', 'merge'] as const;
const MERGE = 'merge';

/** Bytes of the artifact that a slot's agent saves: those of `merge` are too many for a row of the store, and become a file. */
export const artifactSize = (node: string): number => (node === MERGE ? 100 * 1024 : 2 * 1024);

/** For `BatonClient.publish`. @param ttlMs how long a killed host keeps its slots */
export function documents(ttlMs: number): object[] {
  const name = PACKAGE;
  const bound = {
    agent: { name: 'loaded', revision: '1' },
    attachments: [{ kind: 'prompt', name: 'main', text: 'Three steps and an artifact.' }],
    launch: [
      {
        id: 'only',
        workerClasses: [WORKER_CLASS],
        dispatch: 'queue',
        lease: { ttl: `${ttlMs}ms` },
        retry: { mode: 'auto', backoff: { initial: '500ms', factor: 2, max: '5s' } },
      },
    ],
  };
  return [
    {
      kind: 'package',
      name,
      outcome: 'Three steps of each slot.',
      content: {},
      workflow: name,
      binding: name,
    },
    {
      kind: 'workflow',
      name,
      nodes: [
        { node: 'plan', steps: [...STEPS] },
        { node: 'part', slots: ['a', 'b', 'c'], dependsOn: ['plan'], steps: [...STEPS] },
        { node: MERGE, dependsOn: ['part'], steps: [...STEPS] },
      ],
    },
    { kind: 'binding', name, workflow: name, nodes: { plan: bound, part: bound, merge: bound } },
  ];
}

/** A slot's result, as its agent gives it. */
export interface SlotResult {
  /** Attempt that ran each step. */
  readonly steps: Readonly<Record<string, string>>;
  readonly artifact: { readonly digest: string; readonly size: number };
  /** Slots of the node `part` whose results were handed to it. */
  readonly upstream: readonly string[];
}
