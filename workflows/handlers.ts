/** Updates and queries of a run. One rule function serves validator and handler (src/domain/decide.ts). */
import { ApplicationFailure, condition, defineQuery, defineUpdate, setHandler } from '@temporalio/workflow';
import { commandDigest, parseCommand, type Command } from '../src/domain/commands.js';
import { check } from '../src/domain/decide.js';
import type { EffectState } from '../src/domain/effect.js';
import { isErrorCode, refusal } from '../src/domain/errors.js';
import { checkTenant } from '../src/domain/guards.js';
import { viewOf, type PackedView } from '../src/domain/pack.js';
import { dryRunReassign } from '../src/domain/reassign.js';
import { specOf } from '../src/domain/run.js';
import {
  QUERIES,
  UPDATES,
  type CommandAnswer,
  type DryRun,
  type RememberedCommand,
  type StateView,
  type UpdateName,
} from '../src/domain/wire.js';
import { isSettledEffect, resolveEffect } from './effects.js';
import { claimFailureOf } from './failures.js';
import type { Leases } from './leases.js';
import { failureOf, type Machine } from './machine.js';
import type { Offers } from './offers.js';

export class Handlers {
  /** Commands whose handler is at work: a repeat under another update id joins it. */
  private readonly inFlight = new Map<string, { digest: string; answer: Promise<CommandAnswer> }>();

  constructor(
    private readonly machine: Machine,
    private readonly offers: Offers,
    private readonly leases: Leases,
  ) {}

  get busy(): boolean {
    return this.inFlight.size > 0;
  }

  register(): void {
    for (const name of UPDATES) {
      setHandler(defineUpdate<CommandAnswer, unknown[]>(name), (...raw) => this.handle(name, raw), {
        validator: (...raw) => this.validate(name, raw),
        description: `Baton command \`${name}\`: one JSON object.`,
      });
    }
    setHandler(defineQuery<StateView | PackedView>(QUERIES.state), () => {
      const { state, rollingOver } = this.machine;
      return viewOf({ state, leases: this.leases.activityIds(), rollingOver });
    });
    setHandler(defineQuery<RememberedCommand | null, [string]>(QUERIES.commandAnswer), (commandId) => {
      return this.machine.remembered.get(commandId) ?? null;
    });
    setHandler(defineQuery<DryRun, [unknown]>(QUERIES.dryRun), (raw) => this.dryRun(raw));
  }

  /** Synchronous: a rejected update leaves no event. */
  private validate(name: UpdateName, raw: unknown[]): void {
    const command = this.parse(name, raw);
    const foreign = checkTenant(this.machine.state, command);
    if (foreign) throw failureOf(foreign);
    if (this.seen(command)) return;
    if (this.machine.rollingOver)
      throw failureOf(refusal('RollingOver', 'the run is being continued as new', { run: command.run }));
    const refused = check(this.machine.state, command, Date.now());
    if (refused) throw failureOf(refused);
  }

  private async handle(name: UpdateName, raw: unknown[]): Promise<CommandAnswer> {
    const command = this.parse(name, raw);
    const first =
      this.machine.remembered.get(command.commandId)?.answer ?? this.inFlight.get(command.commandId)?.answer;
    if (first) return first;
    const digest = commandDigest(command);
    const answer = this.carryOut(command).catch((error: unknown) => {
      throw error instanceof ApplicationFailure
        ? error
        : ApplicationFailure.nonRetryable(String(error), 'Internal');
    });
    this.inFlight.set(command.commandId, { digest, answer });
    try {
      const given = await answer;
      this.machine.remember(command.commandId, digest, given);
      return given;
    } finally {
      this.inFlight.delete(command.commandId);
    }
  }

  private carryOut(command: Command): Promise<CommandAnswer> {
    if (command.name === 'cancelRun') {
      this.machine.obey(command);
      return Promise.resolve(this.answer(command));
    }
    return this.offers.locked(command.slot, async () => {
      await this.offers.withdraw(command.slot);
      // Somebody may have claimed the slot while its offer was being withdrawn: the guards run again.
      const refused = check(this.machine.state, command, Date.now());
      if (refused) throw failureOf(refused);
      if (command.name === 'resolveEffect') return this.resolveEffect(command);
      this.machine.obey(command);
      return command.name === 'claim' ? this.claim(command) : this.answer(command);
    });
  }

  private async claim(command: Extract<Command, { name: 'claim' }>): Promise<CommandAnswer> {
    const { machine } = this;
    const slot = machine.state.slots[command.slot];
    if (!slot) throw new RangeError(`no slot ${command.slot}`);
    const { worker, owner = null, commandId, actor } = command;
    const direct = { worker, owner, commandId, actor };
    try {
      const attempt = await this.offers.claimDirectly(
        slot,
        specOf(machine.state, slot),
        command.workerClass,
        direct,
      );
      machine.observe({ kind: 'claimed', slot: command.slot, attempt });
    } catch (error) {
      const { code, message, details } = claimFailureOf(error);
      machine.observe({ kind: 'claim-failed', slot: command.slot, failure: { code, message } });
      throw failureOf({
        code: isErrorCode(code) ? code : 'Internal',
        message,
        details: { ...details, slot: command.slot },
      });
    }
    return this.answer(command);
  }

  private async resolveEffect(command: Extract<Command, { name: 'resolveEffect' }>): Promise<CommandAnswer> {
    const { tenant, run, slot, effect: name, outcome, receipt = null, actor, commandId } = command;
    const facts = { slot, name, instance: command.instance ?? null };
    const input = { tenant, run, ...facts, outcome, receipt, actor, reason: command.reason ?? '', commandId };
    let state: EffectState;
    try {
      state = await resolveEffect(this.machine, { ...input, at: Date.now() });
    } catch (error) {
      const refused = claimFailureOf(error);
      // Settled by somebody else, its owner's answer included: then the run need not wait for the next settle to learn of it.
      if (isSettledEffect(refused)) await this.effectSettled(facts);
      throw failureOf({ ...refused, code: isErrorCode(refused.code) ? refused.code : 'Internal' });
    }
    await this.effectSettled(facts);
    return { ...this.answer(command), effect: { name, instance: facts.instance, state } };
  }

  /** An end that is being recorded meanwhile may have counted the effect still: the fact comes after it. */
  private async effectSettled(effect: {
    slot: string;
    name: string;
    instance: string | null;
  }): Promise<void> {
    await condition(() => !this.machine.slot(effect.slot)?.ending);
    this.machine.observe({ kind: 'effect-settled', ...effect });
  }

  private answer(command: Command): CommandAnswer {
    const { state } = this.machine;
    const slot = 'slot' in command ? state.slots[command.slot] : undefined;
    const { commandId } = command;
    if (!slot)
      return {
        slot: null,
        state: state.status,
        gate: null,
        retryTime: null,
        spec: null,
        attempt: null,
        commandId,
      };
    const attempt = command.name === 'claim' ? slot.active : null;
    // The slot first: the UI's list of events has room for the beginning.
    return {
      slot: slot.slot,
      state: slot.state,
      gate: slot.gate,
      retryTime: slot.retryTime,
      spec: slot.spec,
      attempt,
      commandId,
    };
  }

  private parse(name: UpdateName, raw: unknown[]): Command {
    const parsed = parseCommand(name, raw.length === 1 ? raw[0] : raw);
    if (!parsed.ok) throw failureOf(parsed.refusal);
    return parsed.command;
  }

  /** True for a repeat; throws for another command under the same id. */
  private seen(command: Command): boolean {
    const known = this.machine.remembered.get(command.commandId) ?? this.inFlight.get(command.commandId);
    if (!known) return false;
    if (known.digest === commandDigest(command)) return true;
    throw failureOf(
      refusal('CommandConflict', 'the command id belongs to another command', {
        commandId: command.commandId,
      }),
    );
  }

  private dryRun(raw: unknown): DryRun {
    const parsed = parseCommand('reassign', raw);
    const wellFormed = {
      code: 'InvalidCommand',
      passed: parsed.ok,
      message: parsed.ok ? null : parsed.refusal.message,
    };
    if (!parsed.ok)
      return { verdicts: [{ ...wellFormed, code: parsed.refusal.code }], accepted: false, spec: null };
    const command = parsed.command as Extract<Command, { name: 'reassign' }>;
    const verdict = dryRunReassign(this.machine.state, command, Date.now());
    return { ...verdict, verdicts: [wellFormed, ...verdict.verdicts] };
  }
}
