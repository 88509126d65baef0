/**
 * One agent at work under one lease: loads what it is handed, runs it, and tells the first thing that ends the attempt: its
 * result or error, a release, an operator's revocation, or the end of the lease. A roll-over of the run only brings the
 * keeper a new activity; the agent does not notice.
 */
import type { Client } from '@temporalio/client';
import type { Logger } from '@temporalio/common';
import pRetry from 'p-retry';
import { fenceOf, isCode, storeWithin, type Held } from '../../activities/claims-shared.js';
import { createContext } from '../agent/context.js';
import { buildHandoff } from '../agent/handoff.js';
import { agentRevisionOf } from '../agent/provenance.js';
import type { AgentDefinition } from '../agent/types.js';
import type { AgentRef } from '../domain/types.js';
import type { PerformInput } from '../domain/wire.js';
import type { Fence, Staged, Store } from '../store/port.js';
import { AttemptTelemetry } from './attempt-telemetry.js';
import { findLeaseEnd } from './lease-check.js';
import { LeaseKeeper } from './keeper.js';
import { failureOf, outcomeOf, stage, tell, type Outcome } from './outcome.js';

const warned = new Set<string>();
/** Names of effects that are made up as they go belong into `instance`; until then they must not fill the memory. */
const MOST_WARNINGS = 1_000;

export interface AgentRunOptions {
  readonly definition: AgentDefinition;
  readonly work: PerformInput;
  /** Server time of the first attachment. */
  readonly startedAt: number | null;
  readonly held: Held;
  readonly client: Client;
  readonly store: Store;
  readonly logger: Logger;
}

export class AgentRun {
  /** Resolves when the attempt's end is told, or cannot be any more. Never rejects. */
  readonly told: Promise<void>;
  /** Resolves when the agent's own code has ended too: only then is its place free. Never rejects. */
  readonly gone: Promise<void>;
  readonly #options: AgentRunOptions;
  readonly #fence: Fence;
  readonly #keeper: LeaseKeeper;
  readonly #telemetry: AttemptTelemetry;
  /** Null until the handoff is read. */
  #agentRevision: string | null = null;
  #interrupt: (outcome: Outcome) => void = () => undefined;

  constructor(options: AgentRunOptions) {
    const { client, store, work, held } = options;
    this.#options = options;
    this.#fence = fenceOf(work);
    this.#telemetry = new AttemptTelemetry(work, options.logger);
    const interrupted = new Promise<Outcome>((resolve) => (this.#interrupt = resolve));
    this.#keeper = new LeaseKeeper(
      {
        attempt: work.attempt.attempt,
        ttlMs: work.attempt.ttlMs,
        heartbeat: (token, progress) =>
          client.withDeadline(Date.now() + work.attempt.ttlMs, () =>
            client.activity.heartbeat(token, progress),
          ),
        findEnd: (where) => findLeaseEnd(client, store, this.#fence, where),
        onRenewed: (leftMs) => this.#telemetry.renewed(leftMs),
        onRevoked: (by) => this.#interrupt({ kind: 'revoked', why: `the activity was ${by}` }),
        onOver: () => this.#interrupt({ kind: 'over' }),
      },
      held,
    );
    const working = this.#telemetry.within(() => this.#work());
    this.told = Promise.race([interrupted, working]).then((outcome) => this.#tell(outcome));
    this.gone = Promise.all([this.told, working]).then(() => undefined);
  }

  get attempt(): string {
    return this.#fence.attempt;
  }

  /** A new activity for the lease, after a roll-over. False when this run has no use for it any more. */
  reattach(held: Held): boolean {
    const attached = this.#keeper.attach(held);
    if (attached) this.#telemetry.reattached();
    return attached;
  }

  /** Gives the lease up: the agent's signal fires, its slot is claimable again at once. Resolves when that is told. */
  async release(why: string): Promise<void> {
    this.#interrupt({ kind: 'release', failure: { code: 'Released', message: why } });
    this.#keeper.withdraw(why);
    await this.told;
  }

  /** Never rejects: whatever the agent throws is an outcome. */
  async #work(): Promise<Outcome> {
    const { definition, store, work } = this.#options;
    try {
      const { tenant, run, slot } = work;
      const load = () =>
        storeWithin(
          buildHandoff(store, { tenant, run, slot, before: work.attempt.epoch }),
          10_000,
          `handoff of ${slot}`,
        );
      const { handoff, attachments } = await this.#persistently(load);
      this.#agentRevision = agentRevisionOf(handoff.agent);
      this.#telemetry.handedOver(handoff, this.#agentRevision, this.#options.startedAt);
      const warn = (effect: string, message: string): void => this.#warnOnce(handoff.agent, effect, message);
      const context = createContext({ store, authority: this.#keeper, work, handoff, attachments, warn });
      return outcomeOf(await definition.run(context));
    } catch (error) {
      return { kind: 'failure', failure: failureOf(error) };
    }
  }

  /** Once in this process for each effect of an agent: it is about the agent's code, not about this attempt. */
  #warnOnce(agent: AgentRef, effect: string, message: string): void {
    const subject = `${agentRevisionOf(agent)}/${effect}`;
    if (warned.has(subject) || warned.size >= MOST_WARNINGS) return;
    warned.add(subject);
    this.#telemetry.warn(message, { agent: agent.name, revision: agent.revision, effect });
  }

  async #tell(outcome: Outcome): Promise<void> {
    const { client } = this.#options;
    const telemetry = this.#telemetry;
    if (outcome.kind === 'failure') telemetry.failed(outcome.failure);
    let said = outcome;
    try {
      let staged: Staged | null;
      [said, staged] = await this.#stage(outcome);
      const acknowledged = await this.#keeper.finish(tell(client.activity, said, staged));
      telemetry.ended(said, acknowledged ? null : 'StaleLease');
    } catch (error) {
      if (isCode(error, 'StaleLease')) this.#keeper.lose('the store refused its end');
      else this.#keeper.lose('its end could not be told');
      telemetry.notTold(said, error);
    }
  }

  /** A completion that the store refuses because of the slot's effects is a failure of the attempt: the agent has ended. */
  async #stage(outcome: Outcome): Promise<readonly [Outcome, Staged | null]> {
    const { store } = this.#options;
    const staged = (end: Outcome) =>
      this.#persistently(() =>
        storeWithin(stage(store, this.#fence, end, this.#agentRevision), 10_000, 'staging the end'),
      );
    try {
      return [outcome, await staged(outcome)];
    } catch (error) {
      if (outcome.kind !== 'completion' || !isCode(error, 'EffectUnresolved')) throw error;
      const refused = { kind: 'failure', failure: failureOf(error) } as const;
      this.#telemetry.failed(refused.failure, 'completion refused');
      return [refused, await staged(refused)];
    }
  }

  /** As long as the lease lasts: a store that is away for a while costs no work. */
  #persistently<T>(call: () => Promise<T>): Promise<T> {
    return pRetry(call, {
      retries: Number.POSITIVE_INFINITY,
      minTimeout: 50,
      maxTimeout: 1_000,
      signal: this.#keeper.ended,
      shouldRetry: ({ error }) => isCode(error, 'StoreUnavailable'),
    });
  }
}
