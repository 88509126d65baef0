/** The crash explorer's words: what it is given, and what it reports. */
import type { EffectState } from '../../domain/effect.js';
import type { RunStatus } from '../../domain/types.js';
import type { Json } from '../../store/port.js';

/** A module that exports an agent, as `defineAgent` makes it. */
export interface AgentModule {
  /** Path (from the working directory) or file URL. */
  readonly module: string | URL;
  /** Name of the export. Default: `default`, else the only agent that the module exports. */
  readonly export?: string;
}

export interface ExploreOptions {
  /** The agent to explore, by its module: every host is a process of its own and loads it there. */
  readonly agent?: AgentModule | string | URL;
  /** Several agents, for a package whose nodes are for several worker classes; each host runs all of them. */
  readonly agents?: readonly (AgentModule | string | URL)[];
  /** Definition files, as for `publish`. */
  readonly files?: readonly string[];
  /** Documents as data, as for `publish`. */
  readonly documents?: readonly unknown[];
  /** What is launched: `name` or `name@revision`. */
  readonly package: string;
  /** Input of every run; a function is asked for each run anew, so that runs of agents with effects keep apart. Default null. */
  readonly input?: Json | (() => Json | Promise<Json>);
  /** Which points to try. Default: all. */
  readonly only?: (point: CrashPoint) => boolean;
  /**
   * Whether a slot's result is as good as the undisturbed run's. Default: both are the same JSON. For results that say how
   * they came about: times, counts of what was reused.
   */
  readonly equal?: (undisturbed: Json, result: Json, slot: string) => boolean;
  /**
   * Asked after each kill, for each effect of the run: how often its owner has committed it. More than once is a problem, and so
   * is another number than what is recorded. Default: effects are killed around, but not counted.
   */
  readonly commits?: (effect: EffectAsked) => number | Promise<number>;
  /** A server to use, with Temporal's own configuration for the rest. Default: one of the explorer's own. */
  readonly server?: { readonly address: string; readonly namespace?: string };
  /** Lease TTL of every specification in milliseconds, from 1,000: what each kill costs in time. Default 2,000. */
  readonly ttlMs?: number;
  /** How many runs go on at once, 1 to 32. Default 2. */
  readonly parallel?: number;
  /** Longest time for one run in milliseconds. Default 60,000. */
  readonly timeoutMs?: number;
  /** Node options of the hosts, for example `['--import', 'tsx']`. Default: the loader options of this process. */
  readonly execArgv?: readonly string[];
  /** Added to the hosts' environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly onProgress?: (message: string) => void;
  /** Ends everything; the call rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

export interface EffectAsked {
  readonly run: string;
  readonly slot: string;
  readonly name: string;
  readonly instance: string | null;
  /** Idempotency key, as `perform` got it. */
  readonly key: string;
}

/**
 * `result` is the end of the agent's work: its result is recorded, but nobody has been told. Of an effect are recorded its intent
 * (before it is sent), that its owner took it, and its outcome (after the owner has committed it). More kinds may come.
 */
export type CrashPointKind =
  | 'step'
  | 'checkpoint'
  | 'artifact'
  | 'result'
  | 'effect-intent'
  | 'effect-accepted'
  | 'effect-outcome'
  | (string & Record<never, never>);

/** A place at which an undisturbed run had something saved. */
export interface CrashPoint {
  readonly slot: string;
  readonly node: string;
  readonly kind: CrashPointKind;
  readonly name: string;
  /** Counted from 1 among the saves of that kind and name in the slot. */
  readonly nth: number;
}

export interface RepeatedStep {
  readonly slot: string;
  readonly step: string;
  /** How often the step's function was run, over all attempts. */
  readonly times: number;
}

export interface CommittedEffect {
  readonly slot: string;
  /** Name, and instance when it has one. */
  readonly effect: string;
  readonly state: EffectState;
  /** How often its owner has committed it; null without the option `commits`. */
  readonly times: number | null;
}

/** What came of one kill. */
export interface CrashCell {
  readonly point: CrashPoint;
  /** `before`: the work was done, its save was not; `after`: the save was done, and nothing else. */
  readonly when: 'before' | 'after';
  /** Every explored slot succeeded. */
  readonly finished: boolean;
  /** The run's status when the explorer left it; `running` where it did not finish, or has slots that are not explored. */
  readonly status: RunStatus;
  /** Attempts of the point's slot, the killed one included. */
  readonly attempts: number;
  /** Steps that were run more often than in the undisturbed run, as the hosts recorded it. */
  readonly repeated: readonly RepeatedStep[];
  /** Effects of the run, and how often each was committed at its owner. */
  readonly effects: readonly CommittedEffect[];
  /** Results are as good as the undisturbed run's; null when it did not finish. */
  readonly sameResults: boolean | null;
  /** What is wrong, in words; null when the run went on as it must. */
  readonly problem: string | null;
}

export interface CrashReport {
  readonly package: string;
  /** In the order of saving. */
  readonly points: readonly CrashPoint[];
  /** Two for every point. */
  readonly cells: readonly CrashCell[];
  /** Slots that were not explored, and why. */
  readonly skipped: readonly { readonly slot: string; readonly why: string }[];
  /** Results of the undisturbed run by slot. */
  readonly results: Readonly<Record<string, Json>>;
  /** Every cell finished with the right results and nothing is wrong. */
  readonly ok: boolean;
}
