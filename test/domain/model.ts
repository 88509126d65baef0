/** A world around the domain for property tests: it claims, ends, settles and commands as the workflow may, and keeps a ledger. */
import type { Command } from '../../src/domain/commands.js';
import { check, obey, observe, type Fact } from '../../src/domain/decide.js';
import { createRun, specOf } from '../../src/domain/run.js';
import type { AttemptRef, EndKind, RunPlan, RunState, Slot } from '../../src/domain/types.js';
import { wants } from '../../src/domain/wants.js';
import type { Step } from './arbitraries.js';
import { NOW, deepFreeze, pins, verdict } from './kit.js';

/** What the store would say of an end instead: only what its settle can find. */
const FOUND: Partial<Record<EndKind, readonly EndKind[]>> = {
  success: ['outside', 'never-attached'],
  failure: ['outside'],
  released: ['outside', 'never-attached'],
  'never-attached': ['expired'],
};

interface Entry {
  readonly ref: AttemptRef;
  end: EndKind | null;
  /** Reassigns of the slot before this attempt. */
  readonly period: number;
}

export class World {
  state: RunState;
  now = NOW;
  readonly ledger = new Map<string, Entry[]>();
  readonly reassigns = new Map<string, number>();
  /** Offers that a host has taken and whose claim is on its way. */
  readonly taken = new Set<string>();
  private sequence = 0;

  constructor(plan: RunPlan) {
    this.state = deepFreeze(createRun({ tenant: 'acme', run: 'r1', pins, plan }, NOW));
  }

  get slots(): Slot[] {
    return Object.values(this.state.slots);
  }
  slot(index: number): Slot {
    return this.slots[index % this.slots.length] as Slot;
  }
  /** A slot for which the step is likely to do something; any, where there is none or for one time in eight. */
  private likely(what: string, index: number): Slot {
    const fits: Record<string, (slot: Slot) => boolean> = {
      take: ({ slot }) => wants(this.state, this.now).offers.has(slot) && !this.taken.has(slot),
      deliver: ({ slot, state }) => this.taken.has(slot) || state === 'claiming',
      'fail-claim': ({ slot, state }) => this.taken.has(slot) || state === 'claiming',
      end: ({ active, ending }) => active !== null && ending === null,
      settle: ({ ending }) => ending !== null,
      correct: ({ ending }) => ending !== null,
      claim: ({ state }) => state === 'open' || state === 'retry-wait',
      reassign: ({ state, ending }) => state === 'retry-wait' && ending === null,
      revoke: ({ state }) => state === 'active',
      releaseHold: ({ state }) => state === 'on-hold',
    };
    const fit = fits[what];
    const some = fit && index < 7 ? this.slots.filter(fit) : [];
    return some[index % some.length] ?? this.slot(index);
  }
  entries(name: string): readonly Entry[] {
    return this.ledger.get(name) ?? [];
  }

  /** Does one step, or nothing where it is not possible. Returns the command when one was judged. */
  step(step: Step): { command: Command; refused: boolean } | null {
    if (step.do === 'wait') this.pass(step.ms);
    else if (step.do === 'command') return this.command(step);
    else {
      const target = this.likely(step.do, step.slot);
      if (step.do === 'end') this.end(target, step.end);
      else if (step.do === 'take') this.take(target.slot);
      else if (step.do === 'deliver') this.deliver(target.slot, step.pick);
      else if (step.do === 'fail-claim') this.failClaim(target.slot);
      else if (step.do === 'late') this.late(target, step.pick);
      else this.settle(target, step.do === 'correct' ? step.pick : null);
    }
    return null;
  }

  pass(ms: number): void {
    this.now += ms;
    const due = this.slots.filter(
      ({ active, ending }) =>
        active &&
        !ending &&
        active.maxDurationMs !== null &&
        this.now >= active.startedAt + active.maxDurationMs,
    );
    for (const { slot: name, active } of due) this.note(name, active?.attempt, 'max-duration');
    this.fact({ kind: 'time-passed' });
  }

  take(name: string): void {
    if (wants(this.state, this.now).offers.has(name)) this.taken.add(name);
  }

  deliver(name: string, owner = 0): void {
    const target = this.state.slots[name];
    const direct = target?.pendingWorker ?? null;
    if (!target || (!this.taken.delete(name) && target.state !== 'claiming' && !this.unanswered.has(name)))
      return;
    this.unanswered.delete(name);
    const entries = this.ledger.get(name) ?? [];
    const real = entries.filter((entry) => entry.end !== 'never-attached');
    this.sequence += 1;
    const chosen = specOf(this.state, target);
    const ref: AttemptRef = {
      attempt: `t${this.sequence}`,
      number: Math.max(target.number, ...real.map((entry) => entry.ref.number)) + 1,
      epoch: Math.max(target.epoch ?? 0, ...entries.map((entry) => entry.ref.epoch)) + 1,
      worker: direct ?? `host-${this.sequence}`,
      workerClass: chosen.workerClasses[0] ?? '',
      ownerActor: [null, null, 'ada', 'ada', 'bob'][owner] ?? null,
      lease: `l${this.sequence}`,
      spec: chosen.id,
      hostQueue: 'q',
      ttlMs: chosen.lease.ttlMs,
      maxDurationMs: chosen.lease.maxDurationMs,
      startedAt: this.now,
    };
    this.ledger.set(name, [...entries, { ref, end: null, period: this.reassigns.get(name) ?? 0 }]);
    this.fact({ kind: 'claimed', slot: name, attempt: ref });
  }

  failClaim(name: string): void {
    if (
      !this.taken.delete(name) &&
      this.state.slots[name]?.state !== 'claiming' &&
      !this.unanswered.has(name)
    )
      return;
    this.unanswered.delete(name);
    this.fact({ kind: 'claim-failed', slot: name, failure: { code: 'StoreUnavailable', message: 'down' } });
  }

  end({ slot: name, active, ending }: Slot, end: EndKind): void {
    if (!active || ending) return;
    this.note(name, active.attempt, end);
    const failure = end === 'success' ? null : { code: 'X', message: end };
    this.fact({ kind: 'attempt-ended', slot: name, attempt: active.attempt, end, staged: null, failure });
  }

  settle({ slot: name, ending }: Slot, pick: number | null): void {
    if (!ending) return;
    const others = FOUND[ending.end] ?? ['never-attached'];
    const end = pick === null ? ending.end : (others[pick % others.length] ?? ending.end);
    this.note(name, ending.attempt.attempt, end);
    const settled = verdict(
      end,
      end === 'success' ? null : { code: 'Y', message: end },
      end === 'success' ? 'sha256:x' : null,
    );
    this.fact({ kind: 'settled', slot: name, attempt: ending.attempt.attempt, settled });
  }

  /** Something that comes too late, about an attempt that is over: must change nothing. */
  private late({ slot: name, active, ending }: Slot, pick: number): void {
    const old = this.entries(name)[pick];
    if (!old || old.ref.attempt === active?.attempt || old.ref.attempt === ending?.attempt.attempt) return;
    const before = this.state;
    const about = { slot: name, attempt: old.ref.attempt } as const;
    this.fact({ kind: 'attempt-ended', ...about, end: 'success', staged: 's', failure: null });
    this.fact({ kind: 'settled', ...about, settled: verdict('success', null, 'sha256:z') });
    if (before !== this.state && JSON.stringify(before) !== JSON.stringify(this.state))
      throw new Error('a late fact changed the run');
  }

  /** Direct claims whose slot left `claiming` because the run ended: their answer still comes. */
  private readonly unanswered = new Set<string>();

  private command(step: Extract<Step, { do: 'command' }>): { command: Command; refused: boolean } {
    const target = this.likely(step.name, step.slot);
    // The handler withdraws the offer first and waits: a claim that was on its way wins.
    if (step.name !== 'cancelRun' && this.taken.has(target.slot)) this.deliver(target.slot);
    const signed = { tenant: 'acme', run: 'r1', actor: step.actor, commandId: 'c' };
    const { reason, workerClass } = step;
    const on = { ...signed, slot: target.slot };
    const command: Command =
      step.name === 'claim'
        ? { name: 'claim', ...on, workerClass, worker: 'dora', spec: step.spec }
        : step.name === 'reassign'
          ? { name: 'reassign', ...on, workerClass, reason }
          : step.name === 'cancelRun'
            ? { name: 'cancelRun', ...signed, reason }
            : { name: step.name, ...on, reason };
    return { command, refused: !this.give(command) };
  }

  /** Judges a command and carries it out; false when it was refused. */
  give(command: Command): boolean {
    if (check(this.state, command, this.now)) return false;
    if (command.name === 'reassign')
      this.reassigns.set(command.slot, (this.reassigns.get(command.slot) ?? 0) + 1);
    const named = 'slot' in command ? this.state.slots[command.slot] : undefined;
    if (command.name === 'revoke') this.note(command.slot, named?.active?.attempt, 'revoked');
    this.become(() => obey(this.state, command, this.now));
    return true;
  }

  private fact(fact: Fact): void {
    this.become(() => observe(this.state, fact, this.now));
  }

  private note(name: string, attempt: string | undefined, end: EndKind): void {
    const entry = this.ledger.get(name)?.find((one) => one.ref.attempt === attempt);
    if (entry) entry.end = end;
  }

  /** The next state, decided twice, and carried as JSON as through continue-as-new. */
  private become(decide: () => RunState): void {
    const before = this.state;
    const next = decide();
    const text = JSON.stringify(next);
    if (JSON.stringify(decide()) !== text) throw new Error('not deterministic');
    const carried = JSON.parse(text) as RunState;
    this.lossless(next, carried);
    this.state = deepFreeze(carried);
    for (const [name, now] of Object.entries(this.state.slots)) {
      const was = before.slots[name];
      // A policy's reassign restarts the budgets as a person's does.
      if ((now.escalated?.length ?? 0) > (was?.escalated?.length ?? 0))
        this.reassigns.set(name, (this.reassigns.get(name) ?? 0) + 1);
      if (was?.state === 'claiming' && now.state === 'cancelled') this.unanswered.add(name);
      if (now.state === 'cancelled' && was?.active && !was.ending && now.ending?.end === 'cancelled')
        this.note(name, was.active.attempt, 'cancelled');
      if (now.ending?.end === 'cancelled' && was?.ending?.attempt.attempt !== now.ending.attempt.attempt)
        this.note(name, now.ending.attempt.attempt, 'cancelled');
    }
  }

  /** Set by the test: compares a state with its JSON copy. */
  lossless: (state: RunState, carried: RunState) => void = () => {};
}
