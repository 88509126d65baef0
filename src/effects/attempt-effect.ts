/**
 * One attempt's dealing with one effect. The intent is recorded before anything is sent and the owner's word after it; an intent
 * without an outcome is asked for before anything is sent again. Never is anything sent that may have happened, and no outcome is
 * ever made up: what nobody can tell is `EffectUnresolved`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Authority } from '../agent/authority.js';
import { visit } from '../domain/effect.js';
import { BatonError } from '../domain/errors.js';
import type { Failure } from '../domain/types.js';
import type { EffectRow, Json } from '../store/port.js';
import { countUnresolved } from '../telemetry/metrics.js';
import { pollEvery } from './options.js';
import { EffectRejected } from './outcome.js';
import { asked, sent, type Unheard } from './owner-calls.js';
import type { EffectRecords } from './records.js';
import type { EffectCallInput, EffectOptions } from './types.js';
import { whileHeld } from './while-held.js';

/** Sendings of one call, where the owner says *absent* after each (a refused connection, for example). */
const SENDS = 3;
/** How often in a row an owner may be out of reach before its word counts as not to be had. */
const ASKS = 3;
const POLL_MISSES = 10;
const PAUSE_MS = 200;

interface Effect {
  readonly name: string;
  readonly instance: string | null;
  /** Name and instance, for messages. */
  readonly label: string;
  readonly key: string;
  /** Of the request. */
  readonly digest: string;
  readonly options: EffectOptions;
  readonly call: EffectCallInput;
}

export class EffectAttempt {
  #sends = 0;
  #misses = 0;
  /** Why the last sending had no answer. */
  #unanswered: Unheard | null = null;

  constructor(
    private readonly effect: Effect,
    private readonly records: EffectRecords,
    private readonly authority: Authority,
  ) {}

  /** The recorded receipt, however it comes to be there. Throws as `Effects.effect` says. */
  async receipt(): Promise<Json> {
    const { name, instance, label, key, digest, options } = this.effect;
    const means = { lookup: options.lookup !== undefined, poll: options.poll !== undefined };
    await this.authority.usable();
    let { row, begun } = await this.records.begin({ name, instance, key, requestDigest: digest });
    for (; ; begun = false) {
      const known = begun ? null : { ...row, accepted: row.handle !== null };
      switch (visit(known, digest, means)) {
        case 'receipt':
          return row.receipt;
        case 'rejected':
          throw new EffectRejected(row.failure ?? { code: 'EffectRejected', message: 'no cause was given' });
        case 'conflict':
          throw conflict(label, this.records.fence.slot);
        case 'send':
          row = await this.#send(row, begun);
          break;
        case 'ask':
        case 'poll':
          row = await this.#ask(row);
          break;
        case 'unresolved':
          row = await this.#giveUp(row, this.#unanswered ?? nobodyToAsk);
          break;
      }
    }
  }

  /** @param begun the intent is this visit's own, just recorded */
  async #send(row: EffectRow, begun: boolean): Promise<EffectRow> {
    const { options, call, key } = this.effect;
    // The row stays an intent: what was sent may still arrive, so that whoever comes next asks again.
    if (this.#unanswered && this.#sends >= SENDS) throw this.#unanswered.error;
    if (this.#sends > 0) await this.#pause(PAUSE_MS * 2 ** this.#sends);
    await this.authority.usable();
    const intent = begun ? row : await this.records.record(key, { state: 'intent' });
    // Somebody has settled it in between.
    if (intent.state !== 'intent') return intent;
    await this.authority.usable();
    this.#sends += 1;
    const heard = await whileHeld(this.authority.signal, sent(options, call));
    if (heard.state === 'absent') throw new RangeError('a sending is never answered with absent');
    if (heard.state !== 'unknown') return this.records.record(key, heard);
    if (heard.stale) throw heard.error;
    this.#unanswered = heard;
    // Whether to ask or not is for the next look at the row to say.
    return heard.told ? this.#giveUp(intent, heard) : intent;
  }

  /** Asks the owner what became of it; what was accepted, until it has ended. */
  async #ask(row: EffectRow): Promise<EffectRow> {
    const { options, call, key } = this.effect;
    const polled = row.state === 'accepted' || options.lookup === undefined;
    await this.authority.usable();
    const word = () =>
      polled && options.poll ? options.poll({ ...call, handle: row.handle }) : options.lookup?.(call);
    const heard = await whileHeld(this.authority.signal, asked(word));
    switch (heard.state) {
      case 'unknown':
        if (heard.stale) throw heard.error;
        this.#misses += 1;
        if (heard.told || this.#misses >= (polled ? POLL_MISSES : ASKS)) return this.#giveUp(row, heard);
        await this.#pause(polled ? pollEvery(options) : PAUSE_MS * 2 ** this.#misses);
        return row;
      case 'absent':
        // It had said that it took it. Sending again would be a guess, however often it is asked.
        return polled || row.handle !== null ? this.#giveUp(row, nothingLeft) : this.#send(row, false);
      case 'accepted':
        this.#misses = 0;
        if (row.state === 'accepted') await this.#pause(pollEvery(options));
        return row.state === 'accepted' ? row : this.records.record(key, heard);
      default:
        return this.records.record(key, heard);
    }
  }

  /** Records that it is not known, and throws; returns the row where somebody has settled it in between. */
  async #giveUp(row: EffectRow, { failure, error }: Pick<Unheard, 'failure' | 'error'>): Promise<EffectRow> {
    const { label, key } = this.effect;
    const now = await this.records.record(key, { state: 'unresolved', failure });
    if (now.state !== 'unresolved') return now;
    // Asked again in vain it is still the same one.
    if (row.state !== 'unresolved') countUnresolved(row.name);
    // The owner did answer, and what is wrong with it is the agent's to know.
    if (['TooLarge', 'EffectConflict'].includes(failure.code)) throw error;
    const facts = { slot: row.slot, effect: label, cause: failure.code };
    const what = `whether effect ${label} happened is not known: ${failure.message}`;
    throw BatonError.of('EffectUnresolved', what, facts, { cause: error });
  }

  async #pause(ms: number): Promise<void> {
    const { signal } = this.authority;
    await sleep(ms, undefined, { signal }).catch(() => undefined);
    signal.throwIfAborted();
  }
}

export const conflict = (effect: string, slot: string): BatonError =>
  BatonError.of('EffectConflict', 'the effect was recorded with another request', { slot, effect });

const because = (code: string, message: string): { failure: Failure; error: undefined } => ({
  failure: { code, message },
  error: undefined,
});
const nobodyToAsk = because(
  'NobodyToAsk',
  'an earlier sending has no recorded answer, and there is no `lookup` to ask its owner',
);
const nothingLeft = because('EffectLost', 'its owner had accepted it and has it no more');
