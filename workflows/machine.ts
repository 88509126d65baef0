/** Holds the run's state and the commands it remembers; every change goes through here, so that the world is reconciled after each. */
import { ApplicationFailure, CancellationScope } from '@temporalio/workflow';
import type { Command } from '../src/domain/commands.js';
import { observe, obey, type Fact } from '../src/domain/decide.js';
import type { Refusal } from '../src/domain/errors.js';
import { unpackPlan } from '../src/domain/pack-plan.js';
import { unpackState } from '../src/domain/pack.js';
import { createRun } from '../src/domain/run.js';
import type { RunState, Slot } from '../src/domain/types.js';
import type { CommandAnswer, RememberedCommand, RunInput } from '../src/domain/wire.js';

/** Accepted commands that a run remembers, across continue-as-new and after its end. */
export const REMEMBERED_COMMANDS = 500;

export class Machine {
  state: RunState;
  /** In order of acceptance; the oldest goes first. */
  readonly remembered: Map<string, RememberedCommand>;
  /** Set while the run is being continued as new: nothing new starts then. */
  rollingOver = false;
  /** Parent of everything the run starts: Temporal's cancellation reaches the run as a command, not its activities. */
  readonly detached = new CancellationScope({ cancellable: false });
  /** Makes the world agree with the state. */
  reconcile: () => void = () => {};
  changed = true;
  private asked = false;
  /** Launched by an early version: such a run goes on as it began, since its history replays in no other order. */
  readonly early: boolean;

  constructor(readonly input: RunInput) {
    this.early = input.offersAtOnce === undefined;
    const { tenant, run, pins } = input;
    const identity = { tenant, run, pins, plan: unpackPlan(input.plan) };
    this.state = input.carried ? unpackState(input.carried.state, identity) : createRun(identity, Date.now());
    this.remembered = new Map(input.carried?.commands.map((command) => [command.commandId, command]));
  }

  observe(fact: Fact): void {
    this.become(observe(this.state, fact, Date.now()));
  }

  obey(command: Command): void {
    this.become(obey(this.state, command, Date.now()));
  }

  slot(name: string): Slot | undefined {
    return Object.hasOwn(this.state.slots, name) ? this.state.slots[name] : undefined;
  }

  remember(commandId: string, digest: string, answer: CommandAnswer): void {
    this.remembered.set(commandId, { commandId, digest, answer });
    for (const oldest of this.remembered.keys()) {
      if (this.remembered.size <= REMEMBERED_COMMANDS) break;
      this.remembered.delete(oldest);
    }
  }

  private become(state: RunState): void {
    if (state !== this.state) {
      this.state = state;
      this.changed = true;
    }
    if (this.early) this.reconcile();
    else this.reconcileOnce();
  }

  /**
   * Once for all that came with one task: in a large run a task brings a hundred ends, and looking at every slot after each of
   * them took longer than Temporal gives a task.
   */
  private reconcileOnce(): void {
    if (this.asked) return;
    this.asked = true;
    void Promise.resolve().then(() => {
      this.asked = false;
      this.reconcile();
    });
  }
}

/** A refusal as the only kind of error that a handler may throw: anything else would fail the workflow task for ever. */
export function failureOf(refused: Refusal): ApplicationFailure {
  return ApplicationFailure.create({
    type: refused.code,
    message: refused.message,
    nonRetryable: true,
    details: [refused.details],
  });
}
