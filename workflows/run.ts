/**
 * The run workflow. Its state changes only by commands (updates) and facts (activity ends, time); after each change the
 * world is made to agree with it. Continue-as-new needs nothing else: the next execution starts from the same state.
 */
import {
  allHandlersFinished,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  condition,
  continueAsNew,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import { refusal } from '../src/domain/errors.js';
import { carry } from '../src/domain/pack.js';
import { applyCancelRun, slotBeingRecorded } from '../src/domain/steer.js';
import { wants } from '../src/domain/wants.js';
import type { RunInput } from '../src/domain/wire.js';
import { Deadline } from './deadline.js';
import { Handlers } from './handlers.js';
import { Leases } from './leases.js';
import { Machine } from './machine.js';
import { Offers } from './offers.js';
import { Settles } from './settles.js';
import { Attributes, showDetails } from './view.js';

/** What a run that succeeded returns: the digest of each slot's result artifact. */
export interface RunResult {
  readonly status: 'succeeded';
  readonly results: Readonly<Record<string, string | null>>;
}

/** Longest a roll-over waits for claims that are on their way. */
const ROLL_OVER_WAIT = '10s';
/** Events of an offer that is made again and withdrawn again, or of a lease that is attached again. */
const EVENTS_EACH = 3;

export async function batonRun(input: RunInput): Promise<RunResult> {
  const run = new Run(input);
  let cancelled = false;
  CancellationScope.current().cancelRequested.catch(() => {
    cancelled = true;
    run.machine.changed = true;
  });
  return CancellationScope.nonCancellable(async () => {
    for (;;) {
      // Never on `rollOverDue`: the history's length is there before what a task brings has been seen, and conditions are looked
      // at after each of it, a refused update included, which no replay knows. So the order would be another in a replay.
      const { machine } = run;
      await condition(() => machine.changed || run.finished || (machine.early && run.rollOverDue));
      run.show();
      if (cancelled) run.cancel();
      if (run.finished) return await run.end();
      if (run.rollOverDue && (await run.rollOver())) await continueAsNew<typeof batonRun>(run.carried());
    }
  });
}

class Run {
  readonly machine: Machine;
  private readonly offers: Offers;
  private readonly leases: Leases;
  private readonly settles: Settles;
  private readonly deadline: Deadline;
  private readonly handlers: Handlers;
  private readonly attributes: Attributes;
  /** Activity ids of leases of this execution; kept after the lease is over, for its settle. */
  private readonly activityIds: Record<string, string>;
  private wanted = { finished: false };
  /** Events that this execution has only for taking over what was under way; they do not count for the next roll-over. */
  private readonly startEvents: number;

  constructor(private readonly input: RunInput) {
    this.machine = new Machine(input);
    this.activityIds = { ...input.carried?.previous?.leases };
    this.offers = new Offers(this.machine);
    this.leases = new Leases(this.machine);
    this.settles = new Settles(this.machine, (attempt) => this.activityIds[attempt] ?? null);
    this.deadline = new Deadline(this.machine, () => {
      void this.leases.checkDeadlines(Date.now());
      this.machine.observe({ kind: 'time-passed' });
    });
    this.handlers = new Handlers(this.machine, this.offers, this.leases);
    this.attributes = new Attributes(input);
    this.machine.reconcile = () => this.reconcile();
    this.handlers.register();
    this.reconcile();
    // Otherwise a run with many leases and offers would continue as new for ever, with nothing done between.
    const started = this.offers.pending + Object.keys(this.leases.activityIds()).length;
    this.startEvents = this.machine.early ? 0 : EVENTS_EACH * started;
  }

  get finished(): boolean {
    return this.wanted.finished && this.offers.pending === 0;
  }

  get rollOverDue(): boolean {
    const { continueAsNewSuggested, historyLength } = workflowInfo();
    const limit = this.input.rollOverEvents;
    return continueAsNewSuggested || (limit !== null && historyLength >= limit + this.startEvents);
  }

  show(): void {
    if (!this.machine.changed) return;
    this.machine.changed = false;
    showDetails(this.machine.state);
    this.attributes.refresh(this.machine.state);
  }

  /** Temporal's own cancellation. A claim or a success that is being recorded is waited for: the next change asks again. */
  cancel(): void {
    const { state } = this.machine;
    if (state.status !== 'running' || slotBeingRecorded(state)) return;
    this.machine.state = applyCancelRun(state, Date.now());
    this.machine.changed = true;
    this.machine.reconcile();
  }

  async end(): Promise<RunResult> {
    const { state } = this.machine;
    await this.settles.close(state.status);
    await condition(allHandlersFinished);
    const slots = Object.values(state.slots);
    if (state.status === 'succeeded') {
      return {
        status: 'succeeded',
        results: Object.fromEntries(slots.map((slot) => [slot.slot, slot.result])),
      };
    }
    if (state.status === 'cancelled') throw new CancelledFailure('the run was cancelled');
    const failed = slots
      .filter((slot) => slot.state === 'failed')
      .map(({ slot, failure }) => ({ slot, failure }));
    const first = failed[0];
    const ofSlot = first && `slot ${first.slot} failed: ${first.failure?.message ?? 'no cause given'}`;
    const why = state.failure?.message ?? ofSlot ?? 'a slot failed';
    const { message } = refusal('RunFailed', why, { run: state.run });
    throw ApplicationFailure.create({
      type: 'RunFailed',
      message,
      nonRetryable: true,
      details: [{ failed: failed.slice(0, 50) }],
    });
  }

  /** True when the run may continue as new at once: nothing is on its way that the next execution could not carry. */
  async rollOver(): Promise<boolean> {
    this.machine.rollingOver = true;
    void this.offers.withdrawAll();
    const quiet = () => this.offers.outstanding === 0 && !this.handlers.busy && allHandlersFinished();
    await condition(quiet, ROLL_OVER_WAIT);
    // One more turn, so that what the server has buffered meanwhile is seen before the state is carried away.
    await sleep(1, { summary: 'roll-over' });
    // The timer's task may bring ends of attempts too, and they are told to the run a few turns later than the timer is. A
    // condition that is not met at once is looked at again when all that a task brought has been worked through.
    let looks = 0;
    await condition(() => (looks += 1) > 1);
    if (this.finished || !quiet()) {
      this.machine.rollingOver = false;
      this.machine.reconcile();
      return false;
    }
    return true;
  }

  /** Input of the next execution. */
  carried(): RunInput {
    const { state, remembered } = this.machine;
    const previous = { workflowRunId: workflowInfo().runId, leases: this.leases.activityIds() };
    const deadlines = Object.fromEntries(this.leases.deadlines);
    const commands = [...remembered.values()];
    return carry(this.input, state, { commands, previous, deadlines, voids: this.offers.unwritten });
  }

  private reconcile(): void {
    const wanted = wants(this.machine.state, Date.now(), this.input.offersAtOnce ?? null);
    this.wanted = wanted;
    this.settles.reconcile(wanted);
    this.leases.reconcile(wanted);
    Object.assign(this.activityIds, this.leases.activityIds());
    this.offers.reconcile(wanted);
    const deadlines = [
      ...this.leases.deadlines.values(),
      ...(wanted.deadline === null ? [] : [wanted.deadline]),
    ];
    this.deadline.reconcile(deadlines.length > 0 ? Math.min(...deadlines) : null);
  }
}
