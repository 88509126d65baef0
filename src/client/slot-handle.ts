/** One slot of one run, for the caller. Everything here passes the door (door.ts), which may refuse it with `NotAuthorized`. */
import type { ArtifactView, AttemptView, EffectView, Handoff } from '../agent/types.js';
import type { ReadName } from '../access/actions.js';
import type { OpenEffect } from '../domain/effect.js';
import type { Gate, RunStatus, SlotState } from '../domain/types.js';
import type { CommandAnswer, DryRun, UpdateName } from '../domain/wire.js';
import { BatonError } from '../domain/errors.js';
import type { Holder } from './authority.js';
import { claim, type ClaimRequest, type Claimed } from './claim.js';
import { sendCommand } from './commands.js';
import { command, look, type Asked } from './door.js';
import { dryRunReassign } from './dry-run.js';
import { complete, fail, release } from './ending.js';
import { listArtifacts, listAttempts, listEffects, readRecovery } from './history.js';
import { heartbeat, type BeatAnswer, type HolderAnswer } from './holder.js';
import { save, type SaveAnswer, type SaveRequest } from './save.js';
import type { Session } from './session.js';
import { iso, showRun, type SlotShown } from './show.js';
import type { Json } from '../store/port.js';
import { commanded } from '../telemetry/commands.js';

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
  dryRunReassign(request: Omit<ReassignRequest, 'commandId'>): Promise<DryRun> {
    const { workerClass } = request;
    return this.#look('dryRun', () => dryRunReassign(this.#session, { ...this.#where, ...request }), {
      workerClass,
    });
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
    const answer = await this.#command('resolveEffect', { effect: name, ...rest });
    if (!answer.effect) throw BatonError.of('Internal', 'the run answered without the effect', { run, slot });
    return { ...slotAnswer(answer), effect: answer.effect };
  }

  effects(): Promise<readonly EffectView[]> {
    return this.#look('effects', () => listEffects(this.#session, this.run, this.slot));
  }

  /** Claims a `direct` slot for a worker that is no Temporal worker. The answer holds the lease token and the handoff. */
  claim(request: Omit<ClaimRequest, 'run' | 'slot'>): Promise<Claimed> {
    const { workerClass, owner, commandId } = request;
    const asked = { ...this.#where, workerClass, owner, commandId };
    return command(this.#session, 'claim', asked, () => claim(this.#session, { ...request, ...this.#where }));
  }

  /** Extends the lease by its TTL. */
  heartbeat(lease: string, options: { progress?: Json; commandId?: string } = {}): Promise<BeatAnswer> {
    return this.#held('heartbeat', lease, options, (held) =>
      heartbeat(this.#session, { ...held, ...options }),
    );
  }

  /** Saves an artifact under the live lease. */
  save(lease: string, artifact: Omit<SaveRequest, 'run' | 'slot' | 'lease'>): Promise<SaveAnswer> {
    return this.#held('save', lease, artifact, (held) => save(this.#session, { ...held, ...artifact }));
  }

  /** Ends the attempt with the slot's result. */
  complete(lease: string, options: { result?: Json; commandId?: string } = {}): Promise<HolderAnswer> {
    return this.#held('complete', lease, options, (held) => complete(this.#session, { ...held, ...options }));
  }

  /** Ends the attempt as failed; the retry policy decides what the slot waits for. */
  fail(lease: string, failure: { code: string; message: string; commandId?: string }): Promise<HolderAnswer> {
    return this.#held('fail', lease, failure, (held) => fail(this.#session, { ...held, ...failure }));
  }

  /** Gives the slot back unfinished: it is claimable at once and no budget is used up. */
  release(lease: string, request: ReasonRequest): Promise<HolderAnswer> {
    return this.#held('release', lease, request, (held) => release(this.#session, { ...held, ...request }));
  }

  attempts(): Promise<readonly AttemptView[]> {
    return this.#look('attempts', () => listAttempts(this.#session, this.run, this.slot));
  }

  artifacts(): Promise<readonly ArtifactView[]> {
    return this.#look('artifacts', () => listArtifacts(this.#session, this.run, this.slot));
  }

  /** What the next worker would be given. */
  async recovery(): Promise<Handoff> {
    return (await this.#look('recovery', () => readRecovery(this.#session, this.run, this.slot))).handoff;
  }

  /** @throws BatonError `RunNotFound`, `SlotNotFound` */
  async show(): Promise<SlotShown> {
    const { run, slot } = this;
    const { slots } = await this.#look('show', () => showRun(this.#session, run));
    const found = slots.find((shown) => shown.slot === slot);
    if (!found) throw BatonError.of('SlotNotFound', 'the run has no such slot', { run, slot });
    return found;
  }

  get #where(): { run: string; slot: string } {
    return { run: this.run, slot: this.slot };
  }

  #look<T>(name: ReadName, work: () => Promise<T>, more: Asked = {}): Promise<T> {
    return look(this.#session, name, { ...this.#where, ...more }, work);
  }

  /** A holder's command, under the lease that its token names. */
  #held<T>(
    name: 'heartbeat' | 'save' | 'complete' | 'fail' | 'release',
    lease: string,
    { commandId }: { readonly commandId?: string },
    work: (held: Holder) => Promise<T>,
  ): Promise<T> {
    const held = { ...this.#where, lease };
    const facts = { tenant: this.#session.tenant, ...this.#where };
    // Those of others get their span where they are sent to the run, which these do not pass.
    const told = (): Promise<T> => commanded(name, facts, commandId, () => work(held));
    return command(this.#session, name, { ...held, commandId }, told);
  }

  async #send(name: UpdateName, fields: Fields): Promise<SlotAnswer> {
    return slotAnswer(await this.#command(name, fields));
  }

  #command(name: UpdateName, fields: Fields): Promise<CommandAnswer> {
    const { workerClass, effect, commandId } = fields;
    const asked = { ...this.#where, workerClass, effect, commandId };
    return command(this.#session, name, asked, () =>
      sendCommand(this.#session, name, { ...this.#where, ...fields }),
    );
  }
}

type Fields = Readonly<Record<string, unknown>> & Pick<Asked, 'workerClass' | 'effect' | 'commandId'>;

export const slotAnswer = ({ commandId, slot, state, gate, retryTime, spec }: CommandAnswer): SlotAnswer => ({
  commandId,
  slot,
  state,
  gate,
  retryTime: iso(retryTime),
  spec,
});
