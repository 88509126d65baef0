/**
 * What an agent saves and reads: bytes first, then one fenced row that points to them. Steps, checkpoints and artifacts all
 * go through here, so that nothing is saved without authority and a refusal of the store ends the agent's.
 */
import type { Readable } from 'node:stream';
import pRetry from 'p-retry';
import { BatonError } from '../domain/errors.js';
import type { Chunks, Stored } from '../store/blob-port.js';
import {
  ARTIFACT_KINDS,
  type ArtifactKind,
  type ArtifactRef,
  type ArtifactRow,
  type Fence,
  type Json,
  type Store,
} from '../store/port.js';
import type { Authority } from './authority.js';
import { JSON_TYPE, valueBytes, type Encoded } from './content.js';
import { countRefusal } from '../telemetry/metrics.js';
import { checkDerivedFrom, checkName, checkTags, checkWord, missingFrom } from './provenance.js';

export interface SaveInput extends Encoded {
  readonly kind: ArtifactKind;
  readonly name: string;
  readonly tags?: readonly string[] | undefined;
  readonly derivedFrom?: readonly ArtifactRef[] | undefined;
  /** Set for a step's saved result. */
  readonly step?: string;
  readonly stepRevision?: string | null;
}

export class Saves {
  #rows: Promise<ArtifactRow[]> | undefined;
  /** By checkpoint name: the other attempt's checkpoint that this one was given last. */
  readonly #bases = new Map<string, ArtifactRow>();

  /** @param agentRevision `name@revision` of the agent, recorded with everything saved */
  constructor(
    private readonly store: Store,
    private readonly fence: Fence,
    private readonly authority: Authority,
    private readonly agentRevision: string,
  ) {}

  /**
   * @throws BatonError `StaleLease` when the lease is over, `InvalidCommand` or `TooLarge` for a bad name, tag or reference,
   *   `ArtifactMissing` for a `derivedFrom` that is no artifact of this run, `StoreUnavailable` when the store stays away; what
   *   a stream of the agent throws as it is
   */
  async save(input: SaveInput): Promise<ArtifactRow> {
    const { kind, step = null, stepRevision = null } = input;
    const name = checkName('name', input.name);
    if (!ARTIFACT_KINDS.includes(kind)) {
      throw BatonError.of('InvalidCommand', '`kind` is no kind of artifact', {
        kind,
        kinds: ARTIFACT_KINDS.join(', '),
      });
    }
    const mediaType = checkWord('mediaType', input.mediaType);
    const tags = checkTags(input.tags ?? []);
    const derivedFrom = await this.#ofThisRun(checkDerivedFrom(input.derivedFrom ?? []));
    const rows = await this.#known();
    const { digest, size } = await this.#put(input.bytes);
    const row = await this.#patiently(async () => {
      // Asked again for every try: authority may have gone while the store was away.
      await this.authority.usable();
      const { fence, agentRevision } = this;
      const what = { kind, name, digest, size, mediaType, tags };
      const whence = { step, stepRevision, agentRevision, derivedFrom };
      return this.store.artifacts.save({ fence, ...what, ...whence, at: Date.now() });
    }).catch((error: unknown) => {
      countRefusal(error, 'save');
      throw error;
    });
    rows.push(row);
    return row;
  }

  /**
   * A checkpoint of another attempt that {@link lastCheckpoint} gave under this name is what this one builds on, unless the
   * agent says otherwise.
   */
  async checkpoint(
    name: string,
    value: unknown,
    options: { tags?: readonly string[]; derivedFrom?: readonly ArtifactRef[] } = {},
  ): Promise<ArtifactRow> {
    const basis = this.#bases.get(name);
    return this.save({
      kind: 'checkpoint',
      name,
      bytes: valueBytes('checkpoint', value),
      mediaType: JSON_TYPE,
      tags: options.tags,
      derivedFrom: options.derivedFrom ?? (basis === undefined ? [] : [basis]),
    });
  }

  /** Newest checkpoint of a name, of any attempt of the slot; null when there is none. */
  async lastCheckpoint(name: string): Promise<{ row: ArtifactRow; value: Json } | null> {
    const row = await this.newest(
      (saved) => saved.kind === 'checkpoint' && saved.name === name && saved.step === null,
    );
    if (row === undefined) return null;
    const value = await this.valueOf(row);
    if (row.attempt !== this.fence.attempt) this.#bases.set(name, row);
    return { row, value };
  }

  /** Newest saved row that fits, of all attempts of the slot; undefined when there is none. */
  async newest(fits: (row: ArtifactRow) => boolean): Promise<ArtifactRow | undefined> {
    return (await this.#known()).findLast(fits);
  }

  /** The JSON value that a row points to. */
  async valueOf(row: { digest: string }): Promise<Json> {
    const bytes = await this.#patiently(() => this.store.artifacts.readBytes(row.digest));
    return JSON.parse(new TextDecoder().decode(bytes)) as Json;
  }

  /** Bytes of any artifact of this run; `ArtifactMissing` for a digest that is not one of its. */
  async read(digest: string): Promise<Uint8Array> {
    await this.#ofThisRun([{ digest }]);
    return this.#patiently(() => this.store.artifacts.readBytes(digest));
  }

  /** Like {@link read}, piece by piece; fails at its end with `ArtifactMismatch` when the bytes are damaged. */
  async readStream(digest: string): Promise<Readable> {
    await this.#ofThisRun([{ digest }]);
    return this.#patiently(() => this.store.artifacts.readStream(digest));
  }

  /** Whole or not at all. Bytes that can be had again are put again when the store was away for a moment. */
  async #put(bytes: SaveInput['bytes']): Promise<Stored> {
    const { artifacts } = this.store;
    if (bytes instanceof Uint8Array) return this.#patiently(() => artifacts.putBytes(bytes));
    // A long upload without authority would be for nothing; what was small is as soon refused by its row.
    await this.authority.usable();
    const put = (): Promise<Stored> => artifacts.putStream(whileHeld(bytes.open(), this.authority.signal));
    return bytes.again ? this.#patiently(put) : put();
  }

  async #ofThisRun<T extends { digest: string; attempt?: string }>(
    refs: readonly T[],
  ): Promise<readonly T[]> {
    if (refs.length === 0) return refs;
    const { tenant, run } = this.fence;
    if (missingFrom(await this.#known(), refs) === undefined) return refs;
    const rows = await this.#patiently(() => this.store.artifacts.list(tenant, run));
    const lost = missingFrom(rows, refs);
    if (lost === undefined) return refs;
    const { digest, attempt } = lost;
    const facts = { run, digest, ...(attempt === undefined ? {} : { attempt }) };
    throw BatonError.of('ArtifactMissing', 'the run has no artifact with that digest', facts);
  }

  /** Read once: while this lease is live nobody else can add a row to the slot. */
  #known(): Promise<ArtifactRow[]> {
    const { tenant, run, slot } = this.fence;
    this.#rows ??= this.#patiently(async () => [
      ...(await this.store.artifacts.list(tenant, run, slot)),
    ]).catch((error: unknown) => {
      this.#rows = undefined;
      throw error;
    });
    return this.#rows;
  }

  /** Repeats while the store is away, a few seconds at most; a refusal by the fence ends the lease here too. */
  async #patiently<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await pRetry(call, {
        retries: 6,
        minTimeout: 50,
        maxTimeout: 1_000,
        signal: this.authority.signal,
        shouldRetry: ({ error }) => (error as Partial<BatonError>).code === 'StoreUnavailable',
      });
    } catch (error) {
      if ((error as Partial<BatonError>).code === 'StaleLease' && !this.authority.signal.aborted) {
        throw this.authority.lose('the store refused a save');
      }
      throw error;
    }
  }
}

/** Ends with the authority: nobody would ever be pointed to what is put after that. */
async function* whileHeld(content: Chunks, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for await (const piece of content) {
    signal.throwIfAborted();
    yield piece;
  }
}
