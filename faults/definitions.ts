/** What the runs of the matrix are launched from. */
import { fails, leaseEnds, rollsOver } from './cells.js';
import type { Cell } from './model.js';

export const PACKAGE = 'faults';
/** The slot that is interrupted. */
export const WORK = 'work';
/** Claimed while the run wants to roll over. */
export const OTHER = 'other';
/** Held and released to fill the history; optional, cancelled in the end. */
export const NOISE = 'noise';
export const FIRST = 'first';
export const SECOND = 'second';
export const SHORT_TTL_MS = 3_000;
/** Longer than any outage of the matrix: what keeps a lease is that its holder is alive. */
const LONG_TTL_MS = 20_000;

const spec = (
  workerClass: string,
  ttlMs: number,
  retry: object = { mode: 'manual' },
  dispatch = 'queue',
) => ({
  id: workerClass,
  workerClasses: [workerClass],
  dispatch,
  lease: { ttl: `${ttlMs}ms` },
  retry,
});

const AUTO = { mode: 'auto', backoff: { initial: '4s', factor: 1, max: '4s' } };

/** For `BatonClient.publish`: a slot to work on, and for roll-overs something to fill the history with. */
export function documents(cell: Cell): object[] {
  const retry = cell.point === 'retry-wait, for the retry time' ? AUTO : undefined;
  const first = spec(FIRST, leaseEnds(cell) ? SHORT_TTL_MS : LONG_TTL_MS, retry);
  const launch: Record<string, object[]> = { [WORK]: [first, spec(SECOND, LONG_TTL_MS)] };
  if (rollsOver(cell.point)) launch[NOISE] = [spec('nobody', LONG_TTL_MS, undefined, 'direct')];
  if (cell.point === 'continue-as-new, a claim under way') launch[OTHER] = [spec(OTHER, LONG_TTL_MS)];
  const names = Object.keys(launch);
  const nodes = names.map((node) => ({
    node,
    optional: node === NOISE,
    ...(node === WORK ? { steps: ['one', 'two', 'three'] } : {}),
  }));
  const bound = names.map((node) => [
    node,
    {
      agent: { name: 'worker', revision: '1' },
      attachments: [{ kind: 'prompt', name: 'main', text: 'Do three steps.' }],
      launch: launch[node],
    },
  ]);
  return [
    {
      kind: 'package',
      name: PACKAGE,
      outcome: 'Three steps, done.',
      content: {},
      workflow: PACKAGE,
      binding: PACKAGE,
    },
    { kind: 'workflow', name: PACKAGE, nodes },
    { kind: 'binding', name: PACKAGE, workflow: PACKAGE, nodes: Object.fromEntries(bound) as object },
  ];
}

/** Attempts up to this number report a failure. */
export const failUpTo = ({ point }: Cell): number => (fails(point) ? 1 : 0);
