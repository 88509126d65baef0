/**
 * The lease keeper: keeps one attempt's lease by beating its activity through the client, so that every beat is
 * acknowledged. The Temporal server is the only clock of the lease; here time is monotonic and only tells how long the last
 * acknowledged beat is good for, counted from when it was *sent*, which is never later than the server counts.
 *
 * attached ──not found──▶ detached ──new attachment──▶ attached      any ──end, or last acknowledged + TTL──▶ over
 */
import {
  ActivityCancelledError,
  ActivityNotFoundError,
  ActivityPausedError,
  ActivityResetError,
} from '@temporalio/client';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Held } from '../../activities/claims-shared.js';
import { within } from '../access/within.js';
import type { Authority } from '../agent/authority.js';
import { BatonError } from '../domain/errors.js';
import type { Json } from '../store/port.js';

export type RevokedBy = 'cancelled' | 'paused' | 'reset';

export interface KeeperOptions {
  readonly attempt: string;
  readonly ttlMs: number;
  /** One beat by token; throws the client's errors. */
  readonly heartbeat: (taskToken: Uint8Array, progress: Json) => Promise<void>;
  /** Why the lease is known to be over, from store and server; null when that cannot be told. Never throws. */
  readonly findEnd: (held: Held) => Promise<string | null>;
  /** An operator's pause, reset or cancel, or the run's own cancel. The keeper has stopped beating. */
  readonly onRevoked: (by: RevokedBy) => void;
  /** A renewal was acknowledged, and so much was left of the lease then, in milliseconds. */
  readonly onRenewed?: (leftMs: number) => void;
  /** The lease is over, whatever the reason but a {@link LeaseKeeper.finish} that went through. */
  readonly onOver: (why: BatonError) => void;
}

/** Node fires a timer at once when it is longer than this. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
const noAnswer = (): Error => new Error('no answer in time');

export class LeaseKeeper implements Authority {
  readonly #options: KeeperOptions;
  readonly #authority = new AbortController();
  readonly #ended = new AbortController();
  readonly #intervalMs: number;
  readonly #patienceMs: number;
  readonly #retryMs: number;
  #held: Held;
  #state: 'attached' | 'detached' | 'over' = 'attached';
  #beats = true;
  #acknowledged: number;
  #progress: Json = null;
  #spoken = false;
  #beatTimer: NodeJS.Timeout | undefined;
  #deadlineTimer: NodeJS.Timeout | undefined;
  #changed: PromiseWithResolvers;

  constructor(options: KeeperOptions, held: Held) {
    this.#options = options;
    this.#held = held;
    this.#acknowledged = held.receivedAt;
    this.#intervalMs = Math.min(options.ttlMs / 3, LONGEST_TIMER_MS);
    this.#patienceMs = Math.min(this.#intervalMs, 30_000);
    this.#retryMs = Math.min(1_000, Math.max(25, options.ttlMs / 12));
    this.#changed = withResolvers();
    this.#beatAt(this.#acknowledged + this.#intervalMs);
    this.#watchDeadline();
  }

  /** Authority of the agent: aborted when it must stop. */
  get signal(): AbortSignal {
    return this.#authority.signal;
  }

  /** Aborted when the lease is over and nothing of its end can be told any more, or all has been told. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  get state(): 'attached' | 'detached' | 'over' {
    return this.#state;
  }

  progress(value: Json): void {
    this.#progress = value;
    // The first is sent at once, so that it is not a third of the TTL before people see that work goes on; later ones go with
    // the beats, however often an agent speaks.
    if (this.#spoken) return;
    this.#spoken = true;
    if (this.#state === 'attached') this.#beatAt(performance.now());
  }

  async usable(): Promise<void> {
    for (;;) {
      this.#checkDeadline();
      this.signal.throwIfAborted();
      if (this.#state === 'attached') return;
      await this.#changed.promise;
    }
  }

  lose(why: string): BatonError {
    return this.#over(why);
  }

  /** Takes the agent's authority without ending the lease: what is left to do is to tell its end. */
  withdraw(why: string): void {
    if (!this.signal.aborted) this.#authority.abort(stale(this.#options.attempt, why));
  }

  /** A new activity for the same lease, after a roll-over. False when the lease is over here. */
  attach(held: Held): boolean {
    this.#checkDeadline();
    if (this.#state === 'over') return false;
    this.#held = held;
    this.#state = 'attached';
    this.#acknowledged = Math.max(this.#acknowledged, held.receivedAt);
    this.#watchDeadline();
    this.#beatAt(this.#acknowledged + this.#intervalMs);
    this.#change();
    return true;
  }

  /**
   * Sends the activity's end until it is acknowledged, with a new attachment's token if one comes.
   * @returns false when the lease was over before that
   */
  async finish(send: (taskToken: Uint8Array) => Promise<void>): Promise<boolean> {
    for (;;) {
      this.#checkDeadline();
      if (this.#state === 'over') return false;
      if (this.#state === 'detached') {
        await this.#changed.promise;
        continue;
      }
      const held = this.#held;
      try {
        await within(send(held.taskToken), Math.max(1_000, this.#patienceMs), noAnswer);
        this.#close();
        return true;
      } catch (error) {
        if (error instanceof ActivityNotFoundError) this.#detach(held);
        else await Promise.race([sleep(this.#retryMs), this.#changed.promise]);
      }
    }
  }

  // ---- beats ---------------------------------------------------------------------------------------------------------

  #beatAt(when: number): void {
    clearTimeout(this.#beatTimer);
    if (this.#state === 'over' || !this.#beats) return;
    this.#beatTimer = setTimeout(() => void this.#beat(), Math.max(0, when - performance.now()));
  }

  async #beat(): Promise<void> {
    this.#checkDeadline();
    if (this.#is('over') || !this.#beats) return;
    const held = this.#held;
    const sent = performance.now();
    const beat = this.#options.heartbeat(held.taskToken, this.#progress);
    // An acknowledgement that comes after our patience is still one, for the time at which the beat was sent.
    beat.then(
      () => this.#acknowledge(held, sent),
      () => undefined,
    );
    try {
      await within(beat, this.#patienceMs, noAnswer);
      if (held === this.#held) this.#beatAt(sent + this.#intervalMs);
    } catch (error) {
      if (held !== this.#held || this.#is('over')) return;
      const by = revokedBy(error);
      if (by) return this.#revoke(by);
      if (error instanceof ActivityNotFoundError) this.#detach(held);
      // One lost beat is nothing: the next is sent sooner, so that a blip never costs the lease.
      this.#beatAt(performance.now() + (this.#is('detached') ? this.#patienceMs : this.#retryMs));
    }
  }

  #acknowledge(held: Held, sent: number): void {
    if (held !== this.#held || this.#state === 'over') return;
    this.#options.onRenewed?.(this.#acknowledged + this.#options.ttlMs - performance.now());
    this.#acknowledged = Math.max(this.#acknowledged, sent);
    this.#watchDeadline();
    if (this.#state === 'detached') {
      this.#state = 'attached';
      this.#change();
    }
  }

  #revoke(by: RevokedBy): void {
    this.#beats = false;
    this.#options.onRevoked(by);
    this.withdraw(`its activity was ${by}`);
  }

  // ---- ends ----------------------------------------------------------------------------------------------------------

  #detach(held: Held): void {
    if (held !== this.#held || this.#state !== 'attached') return;
    this.#state = 'detached';
    this.#change();
    void this.#seekEnd(held);
  }

  /** Detached is not lost: a roll-over looks the same. Asks until a new attachment comes or the lease is over. */
  async #seekEnd(held: Held): Promise<void> {
    while (held === this.#held && this.#is('detached')) {
      const why = await this.#options.findEnd(held);
      if (held !== this.#held || !this.#is('detached')) return;
      if (why !== null) {
        this.#over(why);
        return;
      }
      await Promise.race([sleep(this.#retryMs * 2), this.#changed.promise]);
    }
  }

  #watchDeadline(): void {
    clearTimeout(this.#deadlineTimer);
    if (this.#state === 'over') return;
    const left = this.#acknowledged + this.#options.ttlMs - performance.now();
    this.#deadlineTimer = setTimeout(
      () => this.#deadlinePassed(),
      Math.min(Math.max(0, left) + 1, LONGEST_TIMER_MS),
    );
  }

  #deadlinePassed(): void {
    this.#checkDeadline();
    this.#watchDeadline();
  }

  #checkDeadline(): void {
    if (this.#state === 'over') return;
    if (performance.now() < this.#acknowledged + this.#options.ttlMs) return;
    this.#over(`no beat was acknowledged for ${this.#options.ttlMs} ms`);
  }

  #over(why: string): BatonError {
    const error = stale(this.#options.attempt, why);
    if (this.#state === 'over') return error;
    this.#options.onOver(error);
    this.#close();
    if (!this.signal.aborted) this.#authority.abort(error);
    return error;
  }

  #close(): void {
    this.#state = 'over';
    clearTimeout(this.#beatTimer);
    clearTimeout(this.#deadlineTimer);
    this.#ended.abort();
    this.#change();
  }

  /** Not a comparison in place: the state changes under an `await`, which the compiler does not see. */
  #is(state: LeaseKeeper['state']): boolean {
    return this.#state === state;
  }

  #change(): void {
    const { resolve } = this.#changed;
    this.#changed = withResolvers();
    resolve();
  }
}

interface PromiseWithResolvers {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

function withResolvers(): PromiseWithResolvers {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}

function revokedBy(error: unknown): RevokedBy | null {
  if (error instanceof ActivityCancelledError) return 'cancelled';
  if (error instanceof ActivityPausedError) return 'paused';
  if (error instanceof ActivityResetError) return 'reset';
  return null;
}

const stale = (attempt: string, why: string): BatonError =>
  BatonError.of('StaleLease', `the lease is over: ${why}`, { attempt });
