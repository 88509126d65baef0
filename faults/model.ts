/** What the fault matrix is made of: interruption points, what is taken away there, and what comes of a cell. Pure. */

/** Where the work is interrupted. */
export const POINTS = [
  'claimed, not attached',
  'attached, before the first line of work',
  'after a tool result, before it is saved',
  'after a tool result is saved',
  'effect, before its intent',
  'effect, after its intent',
  'effect, after the owner committed',
  'effect, after its receipt',
  'retry-wait, for an operator',
  'retry-wait, for the retry time',
  'retry-wait, reassigned and not claimed',
  'settle of a failure, before its write',
  'settle of a success, after its write',
  'continue-as-new, a claim under way',
  'continue-as-new, lease not attached again',
] as const;
export type Point = (typeof POINTS)[number];

/** What is killed with SIGKILL, or taken away for a while. */
export const VICTIMS = ['agent host', 'control worker', 'Temporal server', 'store'] as const;
export type Victim = (typeof VICTIMS)[number];

/** What must hold after a cell, in the words of the report. */
export const MUSTS = {
  reached: 'interrupted where it says',
  identity: 'same run, slot and pins throughout',
  epochs: 'no epoch used twice',
  leases: 'never two live leases of a slot',
  work: 'no agent at work twice at the same time, none started twice',
  steps: 'saved steps reused, only unsaved ones repeated',
  attempts: 'the attempts end as stated',
  ended: 'the run ends succeeded',
  tasks: 'no failed workflow task',
  kept: 'the predecessor and what it saved stay addressable, and its successor is told of it',
  reassign: 'reassign creates no attempt and no lease',
  claim: 'the later claim creates exactly one of each, for the requested class',
  unsettled: 'no reassign before the end is recorded, and the refused one changes nothing',
  timer: 'not claimed before the retry time',
  rolled: 'the run has continued as new',
  once: 'by the owner’s own count the effect was committed once',
  asked: 'nothing sent again before the owner was asked, and nothing after it committed',
  handed: 'the successor is handed the effect as it stood on record',
  receipt: 'the run’s record of the effect and its result are the owner’s receipt',
} as const;
export type Must = keyof typeof MUSTS;

/** How one attempt of the slot is to end. */
export type AttemptEnd = 'lost' | 'failed' | 'succeeded';

/** Lease of the first attempt, the steps that it has saved and the state of its effect, as the store has them. */
export interface Progress {
  readonly lease: 'provisional' | 'live' | 'released';
  readonly saved: readonly string[];
  /** Null where the run has none on record. */
  readonly effect: 'intent' | 'committed' | null;
  /** Commits of the effect, by its owner's own count. */
  readonly commits: number;
}

/** One cell of the interruption matrix: where, what, and what is expected of it. */
export interface Cell {
  readonly point: Point;
  readonly victim: Victim;
  /** Ends of the slot's attempts, in order. Claims that never attached are none. */
  readonly attempts: readonly AttemptEnd[];
  /** Steps that run twice, because the first result was not saved. */
  readonly repeated: readonly string[];
  /** How far the first attempt is at the point. */
  readonly at: Progress;
  readonly must: readonly Must[];
  /** Calls that the effect's owner gets, in order; null: any number, since what is away may have them repeated. */
  readonly calls: readonly EffectCall[] | null;
}

/** A call of the effect's owner: the effect itself, or the question what became of it. */
export type EffectCall = 'send' | 'lookup';

/** A cell that says nothing, and why. */
export interface Meaningless {
  readonly point: Point;
  readonly victim: Victim;
  readonly why: string;
}

/** One row of the report's JSON. */
export interface CellResult {
  readonly row: string;
  readonly victim: string;
  readonly must: readonly string[];
  readonly held: boolean;
  readonly problem: string | null;
  readonly seconds: number;
}
