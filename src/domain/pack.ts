/**
 * How a run travels: through continue-as-new and in the answer of the `state` query. Temporal takes 2 MB a payload, so that
 * what the plan tells is left out, and what is kept elsewhere too is cut when a run would not fit. Pure.
 */
import { beforeClaim } from './attempt.js';
import { newSlot } from './run.js';
import { utf8Bytes } from './text.js';
import type { BeforeClaim, Ending, Failure, RunPlan, RunState, Slot } from './types.js';
import type { CarriedState, RememberedCommand, RunInput, StateView } from './wire.js';
import { packPlan, unpackPlan } from './pack-plan.js';

/** Largest input that a run carries into its next execution, in bytes: Temporal's limit less what it adds itself. */
export const MAX_CARRIED_BYTES = 1_900_000;
/** Text of a failure or a reason in a run that would not fit otherwise, in bytes. The whole is in store and history. */
const SHORT_TEXT = 120;
/** Commands that are remembered however large the run is. */
const LEAST_COMMANDS = 50;

/** The slots in plan order, each with only what differs from a slot that nobody has touched. */
export interface PackedState {
  readonly status: RunState['status'];
  readonly slots: readonly PackedSlot[];
  readonly deadline?: number;
  readonly failure?: Failure;
}

type PackedSlot = Partial<Omit<Slot, 'before' | 'ending'>> & {
  readonly before?: Partial<BeforeClaim>;
  readonly ending?: Omit<Ending, 'before'> & { readonly before: Partial<BeforeClaim> };
};
type Identity = Pick<RunState, 'tenant' | 'run' | 'pins' | 'plan'>;

export function packState(state: RunState): PackedState {
  const slots = untouched(state.plan).map((blank): PackedSlot => {
    const slot = state.slots[blank.slot] ?? blank;
    const { before, ending, ...rest } = slot;
    const blankBefore = beforeClaim(blank);
    return {
      ...difference(rest, blank),
      ...(before ? { before: difference(before, blankBefore) } : {}),
      ...(ending ? { ending: { ...ending, before: difference(ending.before, blankBefore) } } : {}),
    };
  });
  return { status: state.status, ...ofTheRun(state), slots };
}

const ofTheRun = ({ deadline, failure }: Pick<RunState, 'deadline' | 'failure'>) => ({
  ...(deadline === undefined ? {} : { deadline }),
  ...(failure === undefined ? {} : { failure }),
});

/** @param carried packed, or the state as runs of earlier versions carry it */
export function unpackState(carried: PackedState | RunState, identity: Identity): RunState {
  const { tenant, run, pins, plan } = identity;
  if ('plan' in carried) return { ...carried, plan };
  const slots: Record<string, Slot> = {};
  for (const [index, blank] of untouched(plan).entries()) {
    const { before, ending, ...rest } = carried.slots[index] ?? {};
    const blankBefore = beforeClaim(blank);
    slots[blank.slot] = {
      ...blank,
      ...rest,
      before: before ? { ...blankBefore, ...before } : null,
      ending: ending ? { ...ending, before: { ...blankBefore, ...ending.before } } : null,
    };
  }
  return { tenant, run, pins, plan, status: carried.status, ...ofTheRun(carried), slots };
}

const untouched = (plan: RunPlan): Slot[] =>
  plan.nodes.flatMap((node) => node.slots.map((slot) => newSlot(node, slot)));

function difference<T extends object>(value: T, from: T): Partial<T> {
  const entries = Object.entries(value).filter(([key, now]) => {
    const was: unknown = from[key as keyof T];
    return now !== was && (typeof now !== 'object' || JSON.stringify(now) !== JSON.stringify(was));
  });
  return Object.fromEntries(entries) as Partial<T>;
}

/**
 * The input of the next execution. One that would be too large loses, in this order and as far as it must: the ends of long
 * failure texts and the names of open effects (not their number), the oldest remembered commands, the ends of all long texts.
 */
export function carry(
  input: RunInput,
  state: RunState,
  rest: Omit<CarriedState, 'state' | 'commands'> & { readonly commands: readonly RememberedCommand[] },
): RunInput {
  const made = (packed: PackedState, commands: readonly RememberedCommand[]): RunInput => {
    return { ...input, carried: { ...rest, state: packed, commands } };
  };
  let packed = packState(state);
  let { commands } = rest;
  let size = bytesOf(made(packed, commands));
  if (size > MAX_CARRIED_BYTES) {
    packed = withShortFailures(packed);
    size = bytesOf(made(packed, commands));
  }
  let drop = 0;
  for (; size > MAX_CARRIED_BYTES && commands.length - drop > LEAST_COMMANDS; drop += 1)
    size -= bytesOf(commands[drop]) + 1;
  commands = commands.slice(drop);
  if (size > MAX_CARRIED_BYTES) packed = shortened(packed, ['message', 'reason']);
  return made(packed, commands);
}

/** The answer of the `state` query: as it is, unless it would be too large. */
export function viewOf(view: StateView): StateView | PackedView {
  if (bytesOf(view) <= MAX_CARRIED_BYTES) return view;
  const { state, ...rest } = view;
  const { tenant, run, pins, plan } = state;
  const packed = { tenant, run, pins, plan: packPlan(plan), packed: packState(state), ...rest };
  return bytesOf(packed) <= MAX_CARRIED_BYTES ? packed : shortened(packed, ['message', 'reason']);
}

/** What {@link viewOf} made, whole again. */
export function readView(view: StateView | PackedView): StateView {
  if ('state' in view) return view;
  const { packed, plan, tenant, run, pins, ...rest } = view;
  return { state: unpackState(packed, { tenant, run, pins, plan: unpackPlan(plan) }), ...rest };
}

export type PackedView = Omit<StateView, 'state'> &
  Omit<Identity, 'plan'> & { readonly plan: ReturnType<typeof packPlan>; readonly packed: PackedState };

const bytesOf = (value: unknown): number => utf8Bytes(JSON.stringify(value));

/** An end that is not recorded yet keeps its words: nobody else may have them. */
function withShortFailures(packed: PackedState): PackedState {
  const slots = packed.slots.map(({ ending, effects, ...slot }) => {
    const open = effects ? { effects: { ...effects, listed: [] } } : {};
    return { ...shortened(slot, ['message']), ...open, ...(ending ? { ending } : {}) };
  });
  return { ...packed, slots };
}

/** The value with the texts of these fields cut, however deep they are. */
function shortened<T>(value: T, fields: readonly string[]): T {
  if (Array.isArray(value)) return value.map((item: unknown) => shortened(item, fields)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]: [string, unknown]) => {
    const cut = typeof item === 'string' && fields.includes(key);
    return [key, cut ? short(item) : shortened(item, fields)];
  });
  return Object.fromEntries(entries) as T;
}

function short(text: string): string {
  let bytes = 0;
  let kept = '';
  for (const char of text) {
    bytes += utf8Bytes(char);
    if (bytes > SHORT_TEXT) return `${kept}…`;
    kept += char;
  }
  return text;
}
