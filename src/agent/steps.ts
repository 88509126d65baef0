/**
 * `ctx.step`: work that runs once per slot, across attempts. The saved result is what a later call gets, also in a
 * successor; a step that was killed before its save runs again.
 */
import type { Json } from '../store/port.js';
import type { Authority } from './authority.js';
import { checkName, jsonBytes, type Saves } from './saves.js';

export class Steps {
  readonly #running = new Map<string, Promise<Json>>();

  constructor(
    private readonly saves: Saves,
    private readonly authority: Authority,
  ) {}

  /**
   * @param name unique in the slot; two calls at once share one run of `fn`
   * @param fn its result must be JSON; a throw saves nothing, so that the next call runs it again
   */
  async step<T>(name: string, fn: () => Promise<T> | T): Promise<T> {
    checkName('step', name);
    let running = this.#running.get(name);
    if (!running) {
      running = this.#once(name, fn).finally(() => this.#running.delete(name));
      this.#running.set(name, running);
    }
    return running as Promise<T>;
  }

  async #once(name: string, fn: () => unknown): Promise<Json> {
    const saved = await this.saves.newest((row) => row.step === name);
    if (saved) return this.saves.valueOf(saved);
    // No new work without authority: a detached attempt may have a successor already.
    await this.authority.usable();
    const bytes = jsonBytes(await fn());
    await this.saves.save({ kind: 'checkpoint', name, bytes, mediaType: 'application/json', step: name });
    // What was saved, not what fn gave: every caller, this one too, sees the same value.
    return JSON.parse(new TextDecoder().decode(bytes)) as Json;
  }
}
