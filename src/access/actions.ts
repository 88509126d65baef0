/**
 * Everything that somebody may be allowed to do or not, by name: the commands of a run, those beside it, and the reads. A new one
 * is added here first; what it is called with is in the client, and the tests hold both together.
 */
import { UPDATES } from '../domain/wire.js';

/** What changes something. `repair` is `baton doctor --fix`; `collect` is `baton gc`, with `--dry-run` too. */
export const COMMANDS = [
  'publish',
  'accept',
  'launch',
  ...UPDATES,
  'heartbeat',
  'save',
  'complete',
  'fail',
  'release',
  'repair',
  'collect',
] as const;

/** What only looks. `artifacts` is their bytes too, `dryRun` the verdicts of a reassign's guards. */
export const READS = [
  'list',
  'show',
  'attempts',
  'artifacts',
  'effects',
  'recovery',
  'export',
  'report',
  'result',
  'dryRun',
  'doctor',
  'audit',
] as const;

export type CommandName = (typeof COMMANDS)[number];
export type ReadName = (typeof READS)[number];
export type ActionName = CommandName | ReadName;

/** What somebody asks for, without anything that it carries: no input, result, reason, receipt, token or bytes. */
export interface ActionAsked {
  readonly name: ActionName;
  readonly kind: 'command' | 'read';
  readonly tenant: string;
  /** Absent for what is of no run, and for a launch that leaves the id to the client. Whether there is such a run is not known. */
  readonly run?: string;
  readonly slot?: string;
  /** The attempt that a holder's lease token names; whether the token is genuine is judged later. */
  readonly attempt?: string;
  /** Worker class of a claim or reassign. */
  readonly class?: string;
  /** Of a claim: the actor to be recorded as owner of the worker. */
  readonly owner?: string;
  /** Name of the effect that is settled. */
  readonly effect?: string;
  /** What is launched (`NAME` or `NAME@REV`) or accepted (`KIND/NAME@REV`). */
  readonly target?: string;
}
