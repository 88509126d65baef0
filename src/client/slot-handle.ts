/** One slot of one run, for the caller. */
import type { ArtifactView, AttemptView, EffectView, Handoff } from '../agent/types.js';
import type { OpenEffect } from '../domain/effect.js';
import type { Gate, RunStatus, SlotState } from '../domain/types.js';
import { QUERIES, workflowIdOf, type CommandAnswer, type DryRun, type UpdateName } from '../domain/wire.js';
import { parseCommand } from '../domain/commands.js';
import { BatonError } from '../domain/errors.js';
import { claim, type ClaimRequest, type Claimed } from './claim.js';
import { sendCommand } from './commands.js';
import { complete, fail, release } from './ending.js';
import { isTimeout, toBatonError } from './failure.js';
import { listArtifacts, listAttempts, listEffects, readRecovery } from './history.js';
import { heartbeat, type BeatAnswer, type HolderAnswer } from './holder.js';
import { save, type SaveAnswer, type SaveRequest } from './save.js';
import type { Session } from './session.js';
import { iso, showRun, type SlotShown } from './show.js';
import type { Json } from '../store/port.js';

/** The slot after a command. */
export interface SlotAnswer {
  readonly commandId: string;
  /** Null when the command was for the whole run; `state` is the run's status then. */
  readonly slot: string | null;
  readonly state: SlotState | RunStatus;
  readonly gate: Gate | null;
  readonly retryTime: string | null;
  readonly spec: string | null;
}

export interface ReasonRequest {
  /** Why; recorded. Must not be blank. */
  readonly reason: string;
  /** Makes the command repeatable: the same id and content is carried out once. Default: a fresh one. */
  readonly commandId?: string;
}

export interface ReassignRequest extends ReasonRequest {
  /** Class of worker that is to take over; a launch specification of the slot must admit it. */
  readonly workerClass: string;
}

export interface ResolveEffectRequest extends ReasonRequest {
  /** The effect's name, and its instance if it has one. */
  readonly name: string;
  readonly instance?: string | null;
  readonly outcome: 'committed' | 'absent';
  /** Of a committed one: JSON of at most 64 KiB, as its owner would have given it. Default null. */
  readonly receipt?: Json;
}

/** The slot after `resolveEffect`, and the effect. */
export interface EffectAnswer extends SlotAnswer {
  readonly effect: OpenEffect;
}

export class SlotHandle {
  readonly #session: Session;

  constructor(
    session: Session,
    readonly run: string,
    readonly slot: string,
  ) {
    this.#session = session;
  }

  /**
   * Opens a slot in `retry-wait` for a worker of the class, on the same run with the same pins.
   *
   * @throws BatonError the first guard that does not pass (design, section 2), `CommandConflict`, `OutcomeUnknown`
   */
  reassign({ workerClass, reason, commandId }: ReassignRequest): Promise<SlotAnswer> {
    return this.#send('reassign', { workerClass, reason, commandId });
  }

  /** The verdict of each guard of a reassign, without giving the command. */
  async dryRunReassign({ workerClass, reason }: Omit<ReassignRequest, 'commandId'>): Promise<DryRun> {
    const { client, tenant, actor, timeoutMs } = this.#session;
    const { run, slot } = this;
    const command = { tenant, run, slot, workerClass, reason, actor, commandId: 'dry-run' };
    const parsed = parseCommand('reassign', command);
    if (!parsed.ok) throw BatonError.from(parsed.refusal);
    const handle = client.workflow.getHandle(workflowIdOf(tenant, run));
    try {
      return await client.withDeadline(Date.now() + timeoutMs, () =>
        handle.query<DryRun, [unknown]>(QUERIES.dryRun, command),
      );
    } catch (error) {
      if (!isTimeout(error)) throw toBatonError(error, { tenant, run });
      const facts = { tenant, run, slot };
      throw BatonError.of(
        'TemporalUnavailable',
        'no control worker answers for the run; start one with `baton worker`',
        facts,
      );
    }
  }

  /** Keeps the slot from being claimed until {@link releaseHold}. */
  hold(request: ReasonRequest): Promise<SlotAnswer> {
    return this.#send('hold', { ...request });
  }

  releaseHold(request: ReasonRequest): Promise<SlotAnswer> {
    return this.#send('releaseHold', { ...request });
  }

  /** Ends the active attempt; the slot then waits for a reassign. */
  revoke(request: ReasonRequest): Promise<SlotAnswer> {
    return this.#send('revoke', { ...request });
  }

  cancel(request: ReasonRequest): Promise<SlotAnswer> {
    return this.#send('cancelSlot', { ...request });
  }

  /**
   * Settles an effect whose outcome is not known, by somebody who has asked its owner. `committed`: it happened, and whoever visits it
   * gets the receipt. `absent`: it did not, and a later attempt may send it again under the same key. The first word stands.
   *
   * While somebody holds the slot only an `unresolved` effect can be settled; otherwise one that is sent or accepted too.
   *
   * @throws BatonError `RunClosed`, `SlotNotFound`, `LeaseNotTerminal` (an end is being recorded), `ReasonRequired`,
   *   `EffectNotFound`, `EffectNotUnresolved`, `CommandConflict`, `StoreUnavailable`, `OutcomeUnknown`
   */
  async resolveEffect(request: ResolveEffectRequest): Promise<EffectAnswer> {
    const { name, ...rest } = request;
    const { run, slot } = this;
    const fields = { run, slot, effect: name, ...rest };
    const answer = await sendCommand(this.#session, 'resolveEffect', fields);
    if (!answer.effect) throw BatonError.of('Internal', 'the run answered without the effect', { run, slot });
    return { ...slotAnswer(answer), effect: answer.effect };
  }

  effects(): Promise<readonly EffectView[]> {
    return listEffects(this.#session, this.run, this.slot);
  }

  /** Claims a `direct` slot for a worker that is no Temporal worker. The answer holds the lease token and the handoff. */
  claim(request: Omit<ClaimRequest, 'run' | 'slot'>): Promise<Claimed> {
    return claim(this.#session, { ...request, run: this.run, slot: this.slot });
  }

  /** Extends the lease by its TTL. */
  heartbeat(lease: string, options: { progress?: Json; commandId?: string } = {}): Promise<BeatAnswer> {
    return heartbeat(this.#session, { ...this.#holder(lease), ...options });
  }

  /** Saves an artifact under the live lease. */
  save(lease: string, artifact: Omit<SaveRequest, 'run' | 'slot' | 'lease'>): Promise<SaveAnswer> {
    return save(this.#session, { ...this.#holder(lease), ...artifact });
  }

  /** Ends the attempt with the slot's result. */
  complete(lease: string, options: { result?: Json; commandId?: string } = {}): Promise<HolderAnswer> {
    return complete(this.#session, { ...this.#holder(lease), ...options });
  }

  /** Ends the attempt as failed; the retry policy decides what the slot waits for. */
  fail(lease: string, failure: { code: string; message: string; commandId?: string }): Promise<HolderAnswer> {
    return fail(this.#session, { ...this.#holder(lease), ...failure });
  }

  /** Gives the slot back unfinished: it is claimable at once and no budget is used up. */
  release(lease: string, request: ReasonRequest): Promise<HolderAnswer> {
    return release(this.#session, { ...this.#holder(lease), ...request });
  }

  attempts(): Promise<readonly AttemptView[]> {
    return listAttempts(this.#session, this.run, this.slot);
  }

  artifacts(): Promise<readonly ArtifactView[]> {
    return listArtifacts(this.#session, this.run, this.slot);
  }

  /** What the next worker would be given. */
  async recovery(): Promise<Handoff> {
    return (await readRecovery(this.#session, this.run, this.slot)).handoff;
  }

  /** @throws BatonError `RunNotFound`, `SlotNotFound` */
  async show(): Promise<SlotShown> {
    const { run, slot } = this;
    const found = (await showRun(this.#session, run)).slots.find((shown) => shown.slot === slot);
    if (!found) throw BatonError.of('SlotNotFound', 'the run has no such slot', { run, slot });
    return found;
  }

  #holder(lease: string): { run: string; slot: string; lease: string } {
    return { run: this.run, slot: this.slot, lease };
  }

  async #send(
    name: UpdateName,
    fields: Record<string, unknown> & { commandId?: string | undefined },
  ): Promise<SlotAnswer> {
    return slotAnswer(await sendCommand(this.#session, name, { run: this.run, slot: this.slot, ...fields }));
  }
}

export const slotAnswer = ({ commandId, slot, state, gate, retryTime, spec }: CommandAnswer): SlotAnswer => ({
  commandId,
  slot,
  state,
  gate,
  retryTime: iso(retryTime),
  spec,
});
