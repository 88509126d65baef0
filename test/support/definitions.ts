/** Small definitions for tests. */

export interface SpecOptions {
  readonly id?: string;
  readonly classes?: readonly string[];
  readonly dispatch?: 'queue' | 'direct';
  readonly ttl?: string;
  readonly maxDuration?: string;
  readonly retry?: Record<string, unknown>;
}

export function spec(options: SpecOptions = {}): Record<string, unknown> {
  const {
    id = 'main',
    classes = ['coder'],
    dispatch = 'direct',
    ttl = '5s',
    maxDuration,
    retry = { mode: 'manual' },
  } = options;
  return {
    id,
    workerClasses: classes,
    dispatch,
    lease: { ttl, ...(maxDuration ? { maxDuration } : {}) },
    retry,
  };
}

export interface NodeOptions {
  readonly dependsOn?: readonly string[];
  readonly optional?: boolean;
  readonly steps?: readonly string[];
  readonly slots?: number | readonly string[];
  readonly launch?: readonly Record<string, unknown>[];
  readonly prompt?: string;
  readonly deadline?: string;
  readonly escalate?: readonly Record<string, unknown>[];
}

/** Package, workflow and binding of one name. */
export function documents(
  nodes: Readonly<Record<string, NodeOptions>>,
  name = 'job',
  deadline?: string,
): unknown[] {
  return [
    { kind: 'package', name, outcome: 'A test.', content: {}, workflow: name, binding: name },
    {
      kind: 'workflow',
      name,
      ...(deadline ? { deadline } : {}),
      nodes: Object.entries(nodes).map(
        ([node, { launch: _launch, prompt: _prompt, escalate: _escalate, ...rest }]) => ({
          node,
          ...rest,
        }),
      ),
    },
    {
      kind: 'binding',
      name,
      workflow: name,
      nodes: Object.fromEntries(
        Object.entries(nodes).map(([node, { launch = [spec()], prompt, escalate }]) => [
          node,
          {
            agent: { name: 'tester', revision: '1' },
            ...(escalate ? { escalate } : {}),
            attachments: prompt === undefined ? [] : [{ kind: 'prompt', name: 'main', text: prompt }],
            launch,
          },
        ]),
      ),
    },
  ];
}
