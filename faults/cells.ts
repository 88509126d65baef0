/** The cells of the interruption matrix, each with what must hold after it. Pure. */
import {
  POINTS,
  VICTIMS,
  type Cell,
  type EffectCall,
  type Meaningless,
  type Must,
  type Point,
  type Progress,
  type Victim,
} from './model.js';

/** The first attempt reports a failure at these points, so that the slot comes to wait. */
const FAILING: ReadonlySet<Point> = new Set([
  'retry-wait, for an operator',
  'retry-wait, for the retry time',
  'retry-wait, reassigned and not claimed',
  'settle of a failure, before its write',
]);
const ALWAYS = [
  'reached',
  'identity',
  'epochs',
  'leases',
  'work',
  'steps',
  'attempts',
  'ended',
  'tasks',
] as const;

/** Whether a second host must stand by to go on with the slot. */
export const needsSuccessor = ({ point, victim, must }: Cell): boolean =>
  must.includes('reassign') || (victim === 'agent host' && point !== 'settle of a success, after its write');

/** Whether the slot's lease is to end by missed beats: only then a short one is wanted. */
export const leaseEnds = ({ point, victim }: Cell): boolean =>
  victim === 'agent host' && !fails(point) && !point.startsWith('settle');

export const fails = (point: Point): boolean => FAILING.has(point);
/** Whether the slot's agent has an effect, after its second step. */
export const hasEffect = (point: Point): boolean => point.startsWith('effect, ');
export const rollsOver = (point: Point): boolean => point.startsWith('continue-as-new');

const NO_EFFECT = { effect: null, commits: 0 } as const;
const live = (...saved: string[]): Progress => ({ lease: 'live', saved, ...NO_EFFECT });
const released = (...saved: string[]): Progress => ({ lease: 'released', saved, ...NO_EFFECT });
const effectful = (effect: Progress['effect'], commits: number): Progress => ({
  ...live('one', 'two'),
  effect,
  commits,
});
const PROGRESS: Readonly<Record<Point, Progress>> = {
  'claimed, not attached': { lease: 'provisional', saved: [], ...NO_EFFECT },
  'attached, before the first line of work': live(),
  'after a tool result, before it is saved': live('one'),
  'after a tool result is saved': live('one', 'two'),
  'effect, before its intent': effectful(null, 0),
  'effect, after its intent': effectful('intent', 0),
  'effect, after the owner committed': effectful('intent', 1),
  'effect, after its receipt': effectful('committed', 1),
  'retry-wait, for an operator': released('one'),
  'retry-wait, for the retry time': released('one'),
  'retry-wait, reassigned and not claimed': released('one'),
  'settle of a failure, before its write': live('one'),
  'settle of a success, after its write': released('one', 'two', 'three'),
  'continue-as-new, a claim under way': live('one'),
  'continue-as-new, lease not attached again': live('one'),
};

/** What the owner of the effect is asked by a predecessor that dies there and its successor together. */
const SUCCESSION: Readonly<Partial<Record<Point, readonly EffectCall[]>>> = {
  'effect, before its intent': ['send'],
  'effect, after its intent': ['lookup', 'send'],
  'effect, after the owner committed': ['send', 'lookup'],
  'effect, after its receipt': ['send'],
};

/** Combinations that say nothing of their own. */
export const MEANINGLESS: readonly Meaningless[] = [
  {
    point: 'retry-wait, reassigned and not claimed',
    victim: 'agent host',
    why: 'the host of the failed attempt has no part in the slot any more: the same as “retry-wait, for an operator”',
  },
];

const isMeaningless = (point: Point, victim: Victim): boolean =>
  MEANINGLESS.some((cell) => cell.point === point && cell.victim === victim);

/** All cells that say something, row by row. */
export const CELLS: readonly Cell[] = POINTS.flatMap((point) =>
  VICTIMS.filter((victim) => !isMeaningless(point, victim)).map((victim) => cellOf(point, victim)),
);

function cellOf(point: Point, victim: Victim): Cell {
  const lost = victim === 'agent host' && holdsLease(point);
  const attempts = lost
    ? (['lost', 'succeeded'] as const)
    : fails(point)
      ? (['failed', 'succeeded'] as const)
      : (['succeeded'] as const);
  const must: Must[] = [...ALWAYS];
  if (attempts.length > 1) must.push('kept');
  if (lost || (fails(point) && point !== 'retry-wait, for the retry time')) must.push('reassign', 'claim');
  if (point === 'settle of a failure, before its write') must.push('unsettled');
  if (point === 'retry-wait, for the retry time') must.push('timer');
  if (rollsOver(point)) must.push('rolled');
  if (hasEffect(point)) must.push('once', 'asked', 'receipt');
  if (hasEffect(point) && lost) must.push('handed');
  const calls = lost ? (SUCCESSION[point] ?? null) : null;
  return { point, victim, attempts, repeated: repeatedBy(point, lost), at: PROGRESS[point], must, calls };
}

/** A dead host's attempt is lost wherever it held a lease; before it attached, the claim came to nothing. */
function holdsLease(point: Point): boolean {
  return !fails(point) && !point.startsWith('settle') && point !== 'claimed, not attached';
}

function repeatedBy(point: Point, lost: boolean): readonly string[] {
  return lost && point === 'after a tool result, before it is saved' ? ['two'] : [];
}
