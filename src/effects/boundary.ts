/**
 * `ctx.effect`: the worker's side of the effect protocol (design, section 4). Here is what it is given and who shares it; what is
 * done with it is in `attempt-effect.ts`.
 */
import type { Authority } from '../agent/authority.js';
import { checkName } from '../agent/provenance.js';
import { effectLabel } from '../domain/effect.js';
import { digestOf } from '../store/canonical.js';
import type { Fence, Json, Store } from '../store/port.js';
import { countRefusal } from '../telemetry/metrics.js';
import { ATTRIBUTES } from '../telemetry/names.js';
import { SpanKind, traced } from '../telemetry/trace.js';
import { conflict, EffectAttempt } from './attempt-effect.js';
import { effectKey } from './key.js';
import { checkedOptions, inlineJson } from './options.js';
import { EffectRecords } from './records.js';
import { authorityToken } from './token.js';
import type { EffectOptions } from './types.js';

export interface BoundaryInput {
  readonly store: Pick<Store, 'effects' | 'key'>;
  readonly fence: Fence;
  readonly authority: Authority;
  /** Told of each effect whose lost answer nobody can ask for. */
  readonly warn: (effect: string, message: string) => void;
}

/** The effects of one attempt. */
export class Effects {
  readonly #running = new Map<string, { readonly digest: string; readonly receipt: Promise<Json> }>();
  readonly #records: EffectRecords;

  constructor(private readonly input: BoundaryInput) {
    this.#records = new EffectRecords(input.store, input.fence, input.authority);
  }

  /**
   * @param name names the effect in its slot, with `instance`; two calls at once share one
   * @returns the owner's receipt
   * @throws BatonError `EffectRejected`, `EffectUnresolved`, `EffectConflict`, `StaleLease`, `TooLarge`, `InvalidCommand`; or
   *   what `perform` threw, when its owner says each time that nothing has happened
   */
  async effect(name: string, given: EffectOptions): Promise<Json> {
    checkName('name', name);
    const options = checkedOptions(given);
    const instance = options.instance ?? null;
    const { tenant, run, slot, epoch } = this.input.fence;
    const key = effectKey({ tenant, run, slot, name, instance });
    const request = inlineJson('request', options.request);
    const digest = digestOf(request);
    const label = effectLabel({ name, instance });
    const running = this.#running.get(key);
    if (running) {
      if (running.digest !== digest) throw conflict(label, slot);
      return running.receipt;
    }
    if (!options.lookup) this.input.warn(name, unrecoverable(name));
    const receipt = traced('baton.effect', spanOf(name, instance, key), async () => {
      const authority = await this.#token();
      const call = { key, request, authority, epoch, signal: this.input.authority.signal };
      const effect = { name, instance, label, key, digest, options, call };
      return new EffectAttempt(effect, this.#records, this.input.authority).receipt();
    });
    this.#running.set(key, { digest, receipt });
    try {
      return await receipt;
    } catch (error) {
      countRefusal(error, 'effect');
      throw error;
    } finally {
      this.#running.delete(key);
    }
  }

  async #token(): Promise<string> {
    return authorityToken(await this.#records.storeKey(), this.input.fence);
  }
}

/** The key is no secret: its owner keeps it, and finds the span by it. */
const spanOf = (name: string, instance: string | null, key: string) => ({
  kind: SpanKind.CLIENT,
  attributes: {
    [ATTRIBUTES.effect]: name,
    [ATTRIBUTES.effectKey]: key,
    ...(instance === null ? {} : { [ATTRIBUTES.effectInstance]: instance }),
  },
});

const unrecoverable = (name: string): string =>
  `effect "${name}" has no \`lookup\`: if its answer is lost, nobody can find out whether it happened. It is then unresolved ` +
  'and not sent again, and its slot waits for `baton resolve-effect`. Give `ctx.effect` a `lookup` that asks the owner by `key`.';
