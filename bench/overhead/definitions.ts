/** What the runs of this benchmark are launched from: three packages of one slot each. */

export const LAUNCH = { package: 'launch', workerClass: 'answers' } as const;
export const STEER = {
  package: 'steer',
  direct: ['coder', 'senior'],
  offered: ['absent', 'missing'],
} as const;
export const KILL = { package: 'kill', workerClass: 'victim', ttlMs: 2_000 } as const;
/** The slot of every package. */
export const SLOT = 'work';

const spec = (workerClass: string, dispatch: 'queue' | 'direct', ttl: string): object => ({
  id: workerClass,
  workerClasses: [workerClass],
  dispatch,
  lease: { ttl },
  retry: { mode: 'manual' },
});

const job = (name: string, launch: readonly object[]): object[] => [
  { kind: 'package', name, outcome: 'One slot, measured.', content: {}, workflow: name, binding: name },
  { kind: 'workflow', name, nodes: [{ node: SLOT }] },
  {
    kind: 'binding',
    name,
    workflow: name,
    nodes: { [SLOT]: { agent: { name: 'bench', revision: '1' }, attachments: [], launch } },
  },
];

/** For `BatonClient.publish`. */
export const documents = (): object[] => [
  ...job(LAUNCH.package, [spec(LAUNCH.workerClass, 'queue', '60s')]),
  ...job(STEER.package, [
    ...STEER.direct.map((workerClass) => spec(workerClass, 'direct', '60s')),
    // Classes that nobody works for: their offers stay out, so that a reassign has to take one back.
    ...STEER.offered.map((workerClass) => spec(workerClass, 'queue', '60s')),
  ]),
  ...job(KILL.package, [spec(KILL.workerClass, 'queue', `${KILL.ttlMs}ms`)]),
];
