/**
 * Who is on a host: claims that wait for their attachment and agents at work, by attempt, each with its place. This is what
 * the host's activities talk to.
 */
import type { Client } from '@temporalio/client';
import type { Logger } from '@temporalio/common';
import type { Held, HostPort, TakenPlace } from '../../activities/claims-shared.js';
import type { AgentDefinition } from '../agent/types.js';
import { BatonError } from '../domain/errors.js';
import type { AttemptRef } from '../domain/types.js';
import type { PerformInput } from '../domain/wire.js';
import type { AttemptRow, Store } from '../store/port.js';
import { AgentRun } from './agent-run.js';
import { Places } from './places.js';

/** Beyond schedule-to-start, for the way of the task from the server. */
const MARGIN_MS = 2_000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

interface Claim {
  readonly id: string;
  readonly workerClass: string;
  readonly worker: string;
  attempt: string | null;
  timer: NodeJS.Timeout | null;
}

export interface RosterOptions {
  readonly agents: readonly AgentDefinition[];
  readonly host: string;
  readonly hostQueue: string;
  readonly owner: string | null;
  readonly client: Client;
  readonly store: Store;
  readonly logger: Logger;
}

export class Roster implements HostPort {
  readonly hostQueue: string;
  readonly owner: string | null;
  readonly #classes = new Map<string, { definition: AgentDefinition; places: Places; started: number }>();
  readonly #claims = new Map<string, Claim>();
  readonly #runs = new Map<string, AgentRun>();
  #closing = false;

  constructor(private readonly options: RosterOptions) {
    this.hostQueue = options.hostQueue;
    this.owner = options.owner;
    for (const definition of options.agents) {
      this.#classes.set(definition.workerClass, {
        definition,
        places: new Places(definition.places ?? 1),
        started: 0,
      });
    }
  }

  /** Places of each class, for the Workers that poll for it. */
  places(workerClass: string): Places {
    return this.#class(workerClass).places;
  }

  get claims(): number {
    return this.#claims.size;
  }

  /** Agents whose end has not been told yet, and those whose code has not ended. */
  get agents(): readonly AgentRun[] {
    return [...this.#runs.values()];
  }

  /** From now on no claim is taken and none is started. */
  close(): void {
    this.#closing = true;
  }

  // ---- what the activities ask ---------------------------------------------------------------------------------------

  take(claimId: string, workerClass: string): TakenPlace {
    const known = this.#claims.get(claimId);
    // A later try of the same claim on this host: same place, same worker, so that the store sees the same claim.
    if (known) return this.#placeOf(known);
    const group = this.#class(workerClass);
    if (this.#closing)
      throw BatonError.of('HostFull', 'the host is shutting down', { host: this.options.host });
    if (!group.places.take()) {
      throw BatonError.of('HostFull', 'all places are taken', {
        host: this.options.host,
        workerClass,
        places: group.places.total,
      });
    }
    group.started += 1;
    const worker = `${group.definition.name ?? this.options.host}-${group.started}`;
    const claim: Claim = { id: claimId, workerClass, worker, attempt: null, timer: null };
    this.#claims.set(claimId, claim);
    return this.#placeOf(claim);
  }

  expect(attempt: string): 'claimed' | 'running' | 'unknown' {
    if (this.#runs.has(attempt)) return 'running';
    const claim = this.#claimOf(attempt);
    if (!claim) return 'unknown';
    this.#disarm(claim);
    return 'claimed';
  }

  attached(work: PerformInput, row: AttemptRow, held: Held): boolean {
    const attempt = work.attempt.attempt;
    const running = this.#runs.get(attempt);
    if (running) return running.reattach(held);
    const claim = this.#claimOf(attempt);
    if (!claim) return false;
    if (this.#closing) {
      this.#forget(claim);
      return false;
    }
    this.#start(claim, work, row, held);
    return true;
  }

  dropped(attempt: string): void {
    const claim = this.#claimOf(attempt);
    if (claim) this.#forget(claim);
  }

  // ---- places --------------------------------------------------------------------------------------------------------

  #placeOf(claim: Claim): TakenPlace {
    return {
      worker: claim.worker,
      keep: (attempt: AttemptRef) => {
        this.#disarm(claim);
        claim.attempt = attempt.attempt;
        claim.timer = setTimeout(
          () => this.#forget(claim),
          Math.min(attempt.ttlMs + MARGIN_MS, LONGEST_TIMER_MS),
        );
        claim.timer.unref();
      },
      giveBack: () => this.#forget(claim),
    };
  }

  /** The claim's place goes over to the agent, and comes back when the agent's code has ended. */
  #start(claim: Claim, work: PerformInput, { startedAt }: AttemptRow, held: Held): void {
    const { definition, places } = this.#class(claim.workerClass);
    const { client, store, logger } = this.options;
    this.#disarm(claim);
    this.#claims.delete(claim.id);
    const run = new AgentRun({ definition, work, startedAt, held, client, store, logger });
    this.#runs.set(run.attempt, run);
    void run.gone.then(() => {
      this.#runs.delete(run.attempt);
      places.giveBack();
    });
  }

  #forget(claim: Claim): void {
    this.#disarm(claim);
    if (this.#claims.delete(claim.id)) this.#class(claim.workerClass).places.giveBack();
  }

  #disarm(claim: Claim): void {
    if (claim.timer) clearTimeout(claim.timer);
    claim.timer = null;
  }

  #claimOf(attempt: string): Claim | undefined {
    return [...this.#claims.values()].find((claim) => claim.attempt === attempt);
  }

  #class(workerClass: string): { definition: AgentDefinition; places: Places; started: number } {
    const group = this.#classes.get(workerClass);
    if (!group)
      throw BatonError.of('Internal', 'the host has no agent of that class', {
        host: this.options.host,
        workerClass,
      });
    return group;
  }
}
