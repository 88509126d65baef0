/**
 * `ctx.step`: work that runs once per slot, across attempts. The saved result is what a later call gets, also in a
 * successor; a step that was killed before its save runs again.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import pMap from 'p-map';
import { BatonError } from '../domain/errors.js';
import type { ArtifactRow, Json } from '../store/port.js';
import { ATTRIBUTES } from '../telemetry/names.js';
import { traced } from '../telemetry/trace.js';
import type { Authority } from './authority.js';
import { JSON_TYPE, valueBytes } from './content.js';
import { checkName, checkWord } from './provenance.js';
import type { Saves } from './saves.js';
import { nameStep } from './step-errors.js';
import type { StepOptions, StepsOptions } from './types.js';

/** Items of {@link Steps.steps} at work at once, unless the agent says otherwise. */
const DEFAULT_CONCURRENCY = 4;

export class Steps {
  readonly #running = new Map<string, Promise<Json>>();
  /** Full name of the step that the caller is in. Of this attempt only: another agent of the process has its own. */
  readonly #inside = new AsyncLocalStorage<string>();

  constructor(
    private readonly saves: Saves,
    private readonly authority: Authority,
  ) {}

  /** See `AgentContext.step`. */
  async step<T>(name: string, fn: () => Promise<T> | T, options: StepOptions = {}): Promise<T> {
    checkName('step', name);
    const revision = options.revision === undefined ? null : checkWord('revision', options.revision);
    const outer = this.#inside.getStore();
    const full = outer === undefined ? name : checkName('step', `${outer}/${name}`);
    const key = JSON.stringify([full, revision]);
    let running = this.#running.get(key);
    if (!running) {
      running = this.#traced({ full, name }, revision, fn).finally(() => this.#running.delete(key));
      this.#running.set(key, running);
    }
    return running as Promise<T>;
  }

  /** See `AgentContext.steps`. */
  async steps<I, T>(
    name: string,
    items: Iterable<I>,
    fn: (item: I, index: number) => Promise<T> | T,
    options: StepsOptions<I> = {},
  ): Promise<T[]> {
    const { concurrency = DEFAULT_CONCURRENCY, key = keyOf, ...step } = options;
    if (!Number.isSafeInteger(concurrency) || concurrency < 1) {
      const facts = { field: 'concurrency', value: concurrency };
      throw BatonError.of('InvalidCommand', '`concurrency` must be a whole number from 1', facts);
    }
    // All names first: a second item of one name would silently get the first one's result.
    const named = [...items].map((item, index) => ({ item, name: `${name}/${key(item, index)}` }));
    const seen = new Set<string>();
    const twice = named.find((one) => seen.has(one.name) || !seen.add(one.name));
    if (twice !== undefined) {
      const facts = { field: 'key', step: twice.name };
      throw BatonError.of('InvalidCommand', 'two items have the same key', facts);
    }
    return pMap(
      named,
      (one, index) => this.step(one.name, () => fn(one.item, index), step),
      // After the first failure nothing new is begun; what is at work is left to save what it has.
      { concurrency, stopOnError: true, signal: this.authority.signal },
    );
  }

  #traced(names: StepNames, revision: string | null, fn: () => unknown): Promise<Json> {
    const { step, stepRevision, stepReused } = ATTRIBUTES;
    const attributes = { [step]: names.full, ...(revision === null ? {} : { [stepRevision]: revision }) };
    return traced('baton.step', { attributes }, async (span) => {
      const saved = await this.#saved(names, revision);
      span.setAttribute(stepReused, saved !== undefined);
      return saved ? this.saves.valueOf(saved) : this.#run(names.full, revision, fn);
    });
  }

  async #run(name: string, revision: string | null, fn: () => unknown): Promise<Json> {
    // No new work without authority: a detached attempt may have a successor already.
    await this.authority.usable();
    let bytes: Uint8Array;
    try {
      bytes = valueBytes('the step’s result', await this.#inside.run(name, async () => fn()));
    } catch (error) {
      throw nameStep(error, name);
    }
    const what = { kind: 'checkpoint', name, bytes, mediaType: JSON_TYPE } as const;
    await this.saves.save({ ...what, step: name, stepRevision: revision });
    // What was saved, not what fn gave: every caller, this one too, sees the same value.
    return JSON.parse(new TextDecoder().decode(bytes)) as Json;
  }

  /**
   * Early versions saved a step inside of another one under its own name alone. Their rows (they have no agent's revision) are
   * found by it, so that an attempt that was begun before the upgrade loses nothing; rows of today are never taken for another
   * step's.
   */
  async #saved({ full, name }: StepNames, revision: string | null): Promise<ArtifactRow | undefined> {
    const saved = await this.saves.newest((row) => row.step === full && row.stepRevision === revision);
    if (saved !== undefined || full === name || revision !== null) return saved;
    return this.saves.newest((row) => row.step === name && row.agentRevision === null);
  }
}

interface StepNames {
  /** With those of the steps around it. */
  readonly full: string;
  /** As its caller gave it. */
  readonly name: string;
}

/** Texts are their own keys; other items go by their place, which is stable only while the list is. */
const keyOf = (item: unknown, index: number): string => (typeof item === 'string' ? item : String(index));
