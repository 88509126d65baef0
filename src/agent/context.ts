/** The context that an agent gets: who it is, what it is handed, and what it may do while its lease gives authority. */
import type { PerformInput } from '../domain/wire.js';
import { checkInline } from '../domain/text.js';
import { Effects, type BoundaryInput } from '../effects/boundary.js';
import { BatonError } from '../domain/errors.js';
import type { Fence, Json, Store } from '../store/port.js';
import type { EffectOptions } from '../effects/types.js';
import type { Authority } from './authority.js';
import { encoded, withSource } from './content.js';
import { agentRevisionOf } from './provenance.js';
import { handoffMarkdown } from './recovery.js';
import { Saves } from './saves.js';
import { Steps } from './steps.js';
import type { AgentContext, Handoff, LoadedAttachment } from './types.js';

export interface ContextInput {
  readonly store: Store;
  readonly authority: Authority;
  readonly work: PerformInput;
  readonly handoff: Handoff;
  readonly attachments: readonly LoadedAttachment[];
  /** Told of effects whose lost answer nobody could ask for. */
  readonly warn: BoundaryInput['warn'];
}

/** Makes the context of one attempt. Its methods throw `BatonError`s: see {@link Saves.save}. */
export function createContext(input: ContextInput): AgentContext {
  const { store, authority, work, handoff, attachments, warn } = input;
  const { attempt, number, epoch, workerClass, worker } = work.attempt;
  const fence: Fence = { tenant: work.tenant, run: work.run, slot: work.slot, attempt, epoch };
  const saves = new Saves(store, fence, authority, agentRevisionOf(handoff.agent));
  const steps = new Steps(saves, authority);
  const effects = new Effects({ store, fence, authority, warn });
  return {
    tenant: work.tenant,
    run: work.run,
    slot: work.slot,
    node: work.node,
    attempt,
    number,
    epoch,
    workerClass,
    worker,
    pins: work.pins,
    agent: handoff.agent,
    attachments,
    input: handoff.input,
    upstream: handoff.upstream,
    handoff,
    signal: authority.signal,
    step: (name, fn, options) => steps.step(name, fn, options),
    steps: (name, items, fn, options) => steps.steps(name, items, fn, options),
    effect: <T>(name: string, options: EffectOptions) => effects.effect(name, options) as Promise<T>,
    checkpoint: (name, value, options) => saves.checkpoint(name, value, options),
    async lastCheckpoint(name) {
      const last = await saves.lastCheckpoint(name);
      if (last === null) return null;
      const { attempt: by, number: nth, digest, savedAt, agentRevision } = last.row;
      const whose = { attempt: by, number: nth, own: by === attempt, agentRevision };
      return { value: last.value, ...whose, digest, savedAt };
    },
    save: (input) =>
      withSource(input.content, async () => {
        const { kind, name, tags, derivedFrom } = input;
        return saves.save({ kind, name, tags, derivedFrom, ...encoded(input) });
      }),
    read: ({ digest }) => saves.read(digest),
    readStream: ({ digest }) => saves.readStream(digest),
    handoffMarkdown: (options) =>
      handoffMarkdown(store, handoff, { tenant: work.tenant, run: work.run, slot: work.slot }, options),
    progress(value) {
      authority.progress(JSON.parse(inline(value)) as Json);
    },
  };
}

/** A copy, so that what the agent changes later is not sent half changed; and checked here, where the agent sees the error. */
function inline(value: Json): string {
  try {
    return checkInline('progress', value);
  } catch (error) {
    if (error instanceof BatonError) throw error;
    throw BatonError.of('InvalidCommand', '`progress` is not JSON', { field: 'progress' });
  }
}
