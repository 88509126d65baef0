/** Offers: one claim activity out for every slot that hosts may claim, and their withdrawal. */
import { CancellationScope, isCancellation, workflowInfo } from '@temporalio/workflow';
import type { AttemptRef, LaunchSpec, Slot } from '../src/domain/types.js';
import { classQueue, type ClaimSlotInput, type VoidClaimInput } from '../src/domain/wire.js';
import type { Wants } from '../src/domain/wants.js';
import { readClaimed } from '../src/domain/answers.js';
import { directClaim, done, offered, persistently, recorded } from './activities.js';
import { claimedOutside, claimFailureOf } from './failures.js';
import type { Machine } from './machine.js';

interface Offer {
  readonly spec: string;
  readonly workerClass: string;
  readonly scope: CancellationScope;
  /** Settles when the offer is over and its outcome is in the run's state. */
  done: Promise<void>;
}

export class Offers {
  private readonly out = new Map<string, Offer>();
  private readonly locks = new Map<string, Promise<void>>();
  private readonly voids = new Map<string, VoidClaimInput>();
  private sequence = 0;

  constructor(private readonly machine: Machine) {
    for (const left of machine.input.carried?.voids ?? []) this.voidClaim(left);
  }

  /** Offers and tombstones that are still on their way. */
  get pending(): number {
    return this.out.size + this.voids.size;
  }

  get outstanding(): number {
    return this.out.size;
  }

  get unwritten(): readonly VoidClaimInput[] {
    return [...this.voids.values()];
  }

  reconcile(wants: Wants): void {
    for (const [slot, offer] of this.out) {
      const want = wants.offers.get(slot);
      if (want?.spec.id !== offer.spec || want.workerClass !== offer.workerClass) offer.scope.cancel();
    }
    if (this.machine.rollingOver) return;
    for (const [slot, want] of wants.offers) {
      if (!this.out.has(slot) && !this.locks.has(slot)) this.start(slot, want);
    }
  }

  /** Takes the offer back; when this settles no offer is out, and a claim that won the race is in the state. */
  async withdraw(slot: string): Promise<void> {
    const offer = this.out.get(slot);
    offer?.scope.cancel();
    await offer?.done;
  }

  async withdrawAll(): Promise<void> {
    await Promise.all([...this.out.keys()].map((slot) => this.withdraw(slot)));
  }

  /** Commands that need the offer out of the way run one after the other for each slot; nothing is offered meanwhile. */
  async locked<T>(slot: string, work: () => Promise<T>): Promise<T> {
    for (let held = this.locks.get(slot); held; held = this.locks.get(slot)) await held;
    let release = () => {};
    this.locks.set(slot, new Promise((resolve) => (release = resolve)));
    try {
      return await work();
    } finally {
      this.locks.delete(slot);
      release();
      this.machine.reconcile();
    }
  }

  /** A direct claim on the control queue. Throws what the claim failed with; what it may have written is void soon after. */
  async claimDirectly(
    slot: Slot,
    spec: LaunchSpec,
    workerClass: string,
    direct: NonNullable<ClaimSlotInput['direct']>,
  ): Promise<AttemptRef> {
    const activityId = this.nextId(slot.slot);
    try {
      const scope = new CancellationScope({ cancellable: false, parent: this.machine.detached });
      const claim = directClaim({
        activityId,
        summary: `claim ${slot.slot} by ${direct.worker} (${workerClass})`,
      });
      const input = this.claimInput(slot, spec, workerClass, direct);
      return claimOf(await scope.run(() => claim.claimSlot(input)), input, this.machine.input.taskQueue);
    } catch (error) {
      this.voidClaim(this.tombstone(slot.slot, activityId));
      throw error;
    }
  }

  private start(name: string, want: { spec: LaunchSpec; workerClass: string }): void {
    const { machine } = this;
    const slot = machine.slot(name);
    if (!slot) return;
    const activityId = this.nextId(name);
    const scope = new CancellationScope({ cancellable: true, parent: machine.detached });
    const offer: Offer = {
      spec: want.spec.id,
      workerClass: want.workerClass,
      scope,
      done: Promise.resolve(),
    };
    this.out.set(name, offer);
    const activity = offered({
      taskQueue: classQueue(machine.input.taskQueue, want.workerClass),
      activityId,
      tenant: machine.state.tenant,
      summary: `offer ${name} to ${want.workerClass}`,
    });
    const input = this.claimInput(slot, want.spec, want.workerClass, null);
    offer.done = scope
      .run(() => activity.claimSlot(input))
      .then((answer) => claimOf(answer, input, machine.input.taskQueue))
      .then(
        (attempt) => {
          this.out.delete(name);
          machine.observe({ kind: 'claimed', slot: name, attempt });
        },
        (error: unknown) => {
          this.out.delete(name);
          this.voidClaim(this.tombstone(name, activityId));
          if (isCancellation(error)) return machine.reconcile();
          const { code, message } = claimFailureOf(error);
          machine.observe({ kind: 'claim-failed', slot: name, failure: { code, message } });
        },
      );
  }

  /** A claim id is fresh for each offer: this execution's run id and the activity's id. */
  private nextId(slot: string): string {
    this.sequence += 1;
    return `claim:${slot}:${this.sequence}`;
  }

  private claimInput(
    slot: Slot,
    spec: LaunchSpec,
    workerClass: string,
    direct: ClaimSlotInput['direct'],
  ): ClaimSlotInput {
    const { tenant, run, pins } = this.machine.state;
    const base = {
      tenant,
      run,
      slot: slot.slot,
      node: slot.node,
      pins,
      spec,
      workerClass,
      direct,
      reassign: slot.reassign,
    };
    return {
      ...base,
      lastEpoch: slot.epoch ?? 0,
      lastNumber: slot.number,
      inheritedOwner: slot.prior?.ownerActor ?? null,
      priorTrace: slot.prior?.trace,
    };
  }

  private tombstone(slot: string, activityId: string): VoidClaimInput {
    const { tenant, run } = this.machine.state;
    return { tenant, run, slot, claimId: `${workflowInfo().runId}:${activityId}` };
  }

  private voidClaim(input: VoidClaimInput): void {
    this.voids.set(input.claimId, input);
    const scope = new CancellationScope({ cancellable: false, parent: this.machine.detached });
    void scope
      .run(() =>
        persistently(() => recorded(`void the withdrawn offer of ${input.slot}`).voidClaim(input), done),
      )
      .then(() => this.voids.delete(input.claimId));
  }
}

/** The claimed attempt; throws when somebody else than a claimant has completed the activity. */
function claimOf(answer: unknown, input: ClaimSlotInput, taskQueue: string): AttemptRef {
  const attempt = readClaimed(answer, input, taskQueue);
  if (!attempt) throw claimedOutside();
  return attempt;
}
