/** The context that an agent gets: who it is, what it is handed, and what it may do while its lease gives authority. */
import type { PerformInput } from '../domain/wire.js';
import { checkInline } from '../domain/text.js';
import { BatonError } from '../domain/errors.js';
import type { Fence, Json, Store } from '../store/port.js';
import type { Authority } from './authority.js';
import { jsonBytes, Saves } from './saves.js';
import { Steps } from './steps.js';
import type { AgentContext, Handoff, LoadedAttachment } from './types.js';

export interface ContextInput {
  readonly store: Store;
  readonly authority: Authority;
  readonly work: PerformInput;
  readonly handoff: Handoff;
  readonly attachments: readonly LoadedAttachment[];
}

/** Makes the context of one attempt. Its methods throw `BatonError`s: see {@link Saves.save}. */
export function createContext({ store, authority, work, handoff, attachments }: ContextInput): AgentContext {
  const { attempt, number, epoch, workerClass, worker } = work.attempt;
  const fence: Fence = { tenant: work.tenant, run: work.run, slot: work.slot, attempt, epoch };
  const saves = new Saves(store, fence, authority);
  const steps = new Steps(saves, authority);
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
    step: (name, fn) => steps.step(name, fn),
    checkpoint: (name, value) =>
      saves.save({ kind: 'checkpoint', name, bytes: jsonBytes(value), mediaType: 'application/json' }),
    async lastCheckpoint(name) {
      const row = await saves.newest(
        (saved) => saved.kind === 'checkpoint' && saved.name === name && saved.step === null,
      );
      return row ? { value: await saves.valueOf(row), attempt: row.attempt } : null;
    },
    save: ({ kind, name, content, mediaType }) => saves.save({ kind, name, ...encoded(content, mediaType) }),
    read: ({ digest }) => saves.read(digest),
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

function encoded(content: Json | Uint8Array, mediaType?: string): { bytes: Uint8Array; mediaType: string } {
  if (content instanceof Uint8Array)
    return { bytes: content, mediaType: mediaType ?? 'application/octet-stream' };
  if (typeof content === 'string') {
    return { bytes: new TextEncoder().encode(content), mediaType: mediaType ?? 'text/plain; charset=utf-8' };
  }
  return { bytes: jsonBytes(content), mediaType: mediaType ?? 'application/json' };
}
