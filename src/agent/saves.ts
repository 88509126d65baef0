/**
 * What an agent saves and reads: bytes first, then one fenced row that points to them. Steps, checkpoints and artifacts all
 * go through here, so that nothing is saved without authority and a refusal of the store ends the agent's.
 */
import pRetry from 'p-retry';
import { BatonError } from '../domain/errors.js';
import { checkText, isBlank } from '../domain/text.js';
import { canonicalJson } from '../store/canonical.js';
import {
  ARTIFACT_KINDS,
  type ArtifactKind,
  type ArtifactRow,
  type Fence,
  type Json,
  type Store,
} from '../store/port.js';
import type { Authority } from './authority.js';

/** Longest name of a step, checkpoint or artifact, in code points. */
const MAX_NAME = 256;

export interface SaveInput {
  readonly kind: ArtifactKind;
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly mediaType: string;
  /** Set for a step's saved result. */
  readonly step?: string;
}

export class Saves {
  #rows: Promise<ArtifactRow[]> | undefined;

  constructor(
    private readonly store: Store,
    private readonly fence: Fence,
    private readonly authority: Authority,
  ) {}

  /**
   * @throws BatonError `StaleLease` when the lease is over, `InvalidCommand` or `TooLarge` for a bad name, `StoreUnavailable`
   *   when the store stays away
   */
  async save(input: SaveInput): Promise<ArtifactRow> {
    checkName('name', input.name);
    if (!ARTIFACT_KINDS.includes(input.kind)) {
      throw BatonError.of('InvalidCommand', '`kind` is no kind of artifact', {
        kind: input.kind,
        kinds: ARTIFACT_KINDS.join(', '),
      });
    }
    const rows = await this.#known();
    const row = await this.#patiently(async () => {
      const { digest, size } = await this.store.artifacts.putBytes(input.bytes);
      const { kind, name, mediaType, step = null } = input;
      // Asked again for every try: authority may have gone while the store was away.
      await this.authority.usable();
      return this.store.artifacts.save({
        fence: this.fence,
        kind,
        name,
        digest,
        size,
        mediaType,
        step,
        at: Date.now(),
      });
    });
    rows.push(row);
    return row;
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
    const { tenant, run } = this.fence;
    const rows = await this.#patiently(() => this.store.artifacts.list(tenant, run));
    if (!rows.some((row) => row.digest === digest)) {
      throw BatonError.of('ArtifactMissing', 'the run has no artifact with that digest', { run, digest });
    }
    return this.#patiently(() => this.store.artifacts.readBytes(digest));
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

/** Throws unless the value can name a step, checkpoint or artifact: 1 to 256 code points, not blank. */
export function checkName(field: string, value: unknown): string {
  const text = checkText(field, value, MAX_NAME);
  if (isBlank(text)) throw BatonError.of('InvalidCommand', `\`${field}\` must not be blank`, { field });
  return text;
}

/** Canonical JSON as UTF-8; `InvalidCommand` for what is no JSON. */
export const jsonBytes = (value: unknown): Uint8Array =>
  new TextEncoder().encode(canonicalJson(value ?? null));
