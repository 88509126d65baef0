/**
 * The life of an effect (design, "Effect protocol"): its states, which of them may follow which, and what a visit to one must
 * do. Slot state is never evidence of an effect: only this record and its owner's word are. Pure.
 */
import type { Failure } from './types.js';

/**
 * `intent`: recorded, the outcome is not known yet. `accepted`: the owner took it and finishes later. `committed`: its receipt
 * is recorded. `rejected`: the owner said no, for good. `unresolved`: the owner was asked and could not say, or there is nobody to
 * ask. `absent`: an operator settled that it never happened, so that it may be sent.
 */
export const EFFECT_STATES = ['intent', 'accepted', 'committed', 'rejected', 'unresolved', 'absent'] as const;
export type EffectState = (typeof EFFECT_STATES)[number];

/** States in which nobody knows the outcome: they keep their slot from being completed. */
export const OPEN_EFFECTS = ['intent', 'accepted', 'unresolved'] as const satisfies readonly EffectState[];
export const isOpenEffect = (state: EffectState): boolean =>
  (OPEN_EFFECTS as readonly EffectState[]).includes(state);

/** States that a worker may record, by the state that is there. `committed` and `rejected` never change. */
const FOLLOWING: Readonly<Record<EffectState, readonly EffectState[]>> = {
  intent: ['intent', 'accepted', 'committed', 'rejected', 'unresolved'],
  accepted: ['accepted', 'committed', 'rejected', 'unresolved'],
  unresolved: ['intent', 'accepted', 'committed', 'rejected', 'unresolved'],
  // An owner that is heard after an operator said that it never happened knows better: nothing is sent then.
  absent: ['intent', 'accepted', 'committed', 'rejected'],
  committed: [],
  rejected: [],
};

/** The states from which a worker may record this one. */
export const mayPrecede = (next: EffectState): readonly EffectState[] =>
  EFFECT_STATES.filter((state) => FOLLOWING[state].includes(next));

/** States that an operator may settle while nobody holds the slot; while somebody does, only `unresolved`. */
export const settleable = (held: boolean): readonly EffectState[] => (held ? ['unresolved'] : OPEN_EFFECTS);

/** What is known of an effect when `ctx.effect` comes to it. */
export interface KnownEffect {
  readonly state: EffectState;
  readonly requestDigest: string;
  /** A handle is kept once the owner has accepted, whatever came after. */
  readonly accepted: boolean;
}

/** What the caller can do besides sending. */
export interface Means {
  readonly lookup: boolean;
  readonly poll: boolean;
}

export type Visit =
  /** Record the intent, then call `perform`. */
  | 'send'
  /** Ask `lookup`; send only after *absent*. */
  | 'ask'
  /** Ask `poll` until it is finished. */
  | 'poll'
  /** Return the recorded receipt; nobody is called. */
  | 'receipt'
  | 'rejected'
  /** Another request under the same key. */
  | 'conflict'
  /** The outcome is not known and there is no way to ask: nothing may be sent. */
  | 'unresolved';

/**
 * What a visit to an effect does.
 *
 * @param known the record, or null when there was none before this visit
 */
export function visit(known: KnownEffect | null, requestDigest: string, means: Means): Visit {
  if (known === null) return 'send';
  if (known.requestDigest !== requestDigest) return 'conflict';
  switch (known.state) {
    case 'committed':
      return 'receipt';
    case 'rejected':
      return 'rejected';
    case 'absent':
      return 'send';
    case 'accepted':
      return means.poll ? 'poll' : means.lookup ? 'ask' : 'unresolved';
    case 'intent':
    case 'unresolved':
      return means.lookup ? 'ask' : known.accepted && means.poll ? 'poll' : 'unresolved';
  }
}

/** What an owner answers to `lookup` and `poll`; a throw, or no answer, counts as `unknown`. */
export type OwnerWord<J> =
  | { readonly state: 'committed'; readonly receipt: J }
  | { readonly state: 'accepted'; readonly handle: J }
  | { readonly state: 'rejected'; readonly failure: Failure }
  | { readonly state: 'absent' }
  | { readonly state: 'unknown' };

/** An effect whose outcome nobody knows, as the run keeps it with its slot: how to name it, and where it stands. */
export interface OpenEffect {
  readonly name: string;
  readonly instance: string | null;
  readonly state: EffectState;
}

/** Open effects of one slot that a run keeps and lists. */
export const LISTED_EFFECTS = 50;

/** The open effects of a slot: how many, and the oldest of them, at most {@link LISTED_EFFECTS}. */
export interface OpenEffects {
  readonly count: number;
  readonly listed: readonly OpenEffect[];
}

export const NO_EFFECTS: OpenEffects = { count: 0, listed: [] };

/** The open ones among the effects of a slot, which come in order of their first intent. */
export function openAmong(effects: readonly OpenEffect[]): OpenEffects {
  const open = effects.filter(({ state }) => isOpenEffect(state));
  const listed = open
    .slice(0, LISTED_EFFECTS)
    .map(({ name, instance, state }) => ({ name, instance, state }));
  return { count: open.length, listed };
}

/** Effects that a text names one by one. */
const NAMED = 5;

/** The open effects in words, for people: `pay (intent), deploy (unresolved) and 3 more`. */
export function effectsInWords({ count, listed }: OpenEffects): string {
  const named = listed.slice(0, NAMED).map((effect) => `${effectLabel(effect)}: ${effect.state}`);
  const more = count - named.length;
  return `${named.join(', ')}${more > 0 ? `${named.length > 0 ? ' and ' : ''}${more} more` : ''}`;
}

/** How an effect is written in a text: its name, and its instance when it has one. */
export const effectLabel = ({ name, instance }: Pick<OpenEffect, 'name' | 'instance'>): string =>
  instance === null ? name : `${name} (${instance})`;
