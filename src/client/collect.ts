/**
 * Collection: closed runs of a tenant go once they are old enough, then bytes that nothing refers to. The store says what is
 * closed, and Temporal is asked whether it agrees: a workflow reset opens a run again whose row stays closed.
 */
import { BatonError } from '../domain/errors.js';
import { checkFields, shown } from '../domain/text.js';
import type { RunStatus } from '../domain/types.js';
import type { Store } from '../store/port.js';
import {
  COLLECTED_ROWS,
  MIN_GRACE_MS,
  type CollectedBytes,
  type CollectedRows,
  type KeptByStore,
  type OldRun,
} from '../store/retention-port.js';
import { toBatonError } from './failure.js';
import { Places } from './places.js';
import { describeRun } from './reads.js';
import type { Session } from './session.js';
import { iso } from './show.js';

const DEFAULT_GRACE_MS = 24 * 3_600_000;
/** Runs of one page, and how many of them Temporal is asked about at once. */
const PAGE = 200;
const ASKED_AT_ONCE = 8;
const NAMESPACE_MS = 5_000;

export interface CollectRequest {
  /** Only runs that ended longer ago than this, in milliseconds; above 0. There is no default. */
  readonly olderThanMs: number;
  /** Bytes that were last put less than this ago stay, in milliseconds; at least one hour. Default: a day. */
  readonly graceMs?: number;
  /** Tells what would go and changes nothing. Default false. */
  readonly dryRun?: boolean;
}

/** A run that was old enough, and why it is still there. */
export interface KeptRun {
  readonly run: string;
  readonly status: RunStatus;
  /**
   * `EffectsOpen`: effects whose outcome nobody has settled. `OpenInTemporal`: the store says closed, Temporal open (a reset).
   * `NotRecorded`: Temporal closed it, or does not have it, and the store says open. `LeasesHeld`: leases are not settled.
   * `EndedAgain`: it was reset, and its newest end is younger.
   */
  readonly why: 'EffectsOpen' | 'OpenInTemporal' | 'NotRecorded' | 'LeasesHeld' | 'EndedAgain';
  /** The same in words, with what to do. */
  readonly message: string;
}

/** The JSON of `gc`. */
export interface CollectView {
  readonly dryRun: boolean;
  /** Runs that ended before this went, ISO 8601 UTC. */
  readonly before: string;
  /** What went (with `dryRun`: would go), in order of the ids. */
  readonly runs: readonly {
    readonly run: string;
    readonly status: RunStatus;
    readonly endedAt: string | null;
  }[];
  readonly rows: CollectedRows;
  /** Of all tenants together, since the store keeps equal bytes once. */
  readonly bytes: readonly CollectedBytes[];
  readonly kept: readonly KeptRun[];
  /** Places of large bytes that were left alone. */
  readonly skipped: readonly { readonly place: string; readonly why: string }[];
}

const FIELDS: readonly (keyof CollectRequest)[] = ['olderThanMs', 'graceMs', 'dryRun'];

/**
 * Interrupted anywhere, the next collection goes on with it. What is collected is gone for every reader at once.
 *
 * @throws BatonError `InvalidCommand`, `TemporalUnavailable` (nothing goes without it, bytes neither), `StoreUnavailable`
 */
export async function collect(session: Session, request: CollectRequest): Promise<CollectView> {
  checkFields('a collection', request, FIELDS);
  const { olderThanMs, graceMs = DEFAULT_GRACE_MS, dryRun = false } = request;
  const at = Date.now();
  if (!(olderThanMs > 0 && olderThanMs <= at))
    throw wrong('olderThanMs', olderThanMs, 'a number above 0 that does not reach back behind 1970');
  if (!(graceMs >= MIN_GRACE_MS && graceMs <= at))
    throw wrong('graceMs', graceMs, `a number of at least ${MIN_GRACE_MS} (an hour), not behind 1970`);
  await assertTemporal(session);
  const store = await session.store();
  const before = at - olderThanMs;
  const runs = new Collection(session, store, { at, before, dryRun });
  await runs.collect();
  const without = new Set(runs.gone.map(({ run }) => `${session.tenant}/${run}`));
  const swept = await store.retention.sweep({ before: at - graceMs, at, dryRun, without });
  const { gone, rows, kept } = runs;
  return { dryRun, before: iso(before) as string, runs: gone, rows, kept, ...swept };
}

/** Otherwise a namespace that does not exist would know no run, and all of them would pass for forgotten. */
async function assertTemporal({ client }: Session): Promise<void> {
  const { namespace } = client.options;
  try {
    await client.withDeadline(Date.now() + NAMESPACE_MS, () =>
      client.workflowService.describeNamespace({ namespace }),
    );
  } catch (error) {
    throw BatonError.of(
      'TemporalUnavailable',
      'nothing is collected without the Temporal server, which says whether runs are closed',
      { namespace },
      { cause: toBatonError(error) },
    );
  }
}

type Counts = Record<(typeof COLLECTED_ROWS)[number], number>;

class Collection {
  readonly gone: CollectView['runs'][number][] = [];
  readonly kept: KeptRun[] = [];
  readonly #rows = Object.fromEntries(COLLECTED_ROWS.map((part) => [part, 0])) as Counts;

  constructor(
    private readonly session: Session,
    private readonly store: Store,
    private readonly input: { at: number; before: number; dryRun: boolean },
  ) {}

  get rows(): CollectedRows {
    return this.#rows;
  }

  async collect(): Promise<void> {
    const { tenant } = this.session;
    const { before } = this.input;
    for (let after: string | null = null; ;) {
      const page: readonly OldRun[] = await this.store.retention.runs({ tenant, before, after, limit: PAGE });
      const places = new Places(ASKED_AT_ONCE);
      const reasons = await Promise.all(page.map((run) => places.use('describe', () => this.#reason(run))));
      for (const [index, run] of page.entries()) {
        const why = reasons[index];
        if (why === 'open') continue;
        if (why) this.#keep(run, why);
        else await this.#take(run);
      }
      after = page.at(-1)?.run ?? null;
      if (page.length < PAGE) return;
    }
  }

  /** Null: it may go. */
  async #reason(run: OldRun): Promise<KeptRun['why'] | 'open' | null> {
    // Judged before, and half of it is gone.
    if (run.collecting) return null;
    if (run.status !== 'running' && run.openEffects > 0) return 'EffectsOpen';
    if (run.status !== 'running' && run.heldLeases > 0) return 'LeasesHeld';
    const execution = await describeRun(this.session, run.run);
    if (run.status === 'running') return execution?.running ? 'open' : 'NotRecorded';
    if (execution?.running) return 'OpenInTemporal';
    return (execution?.closedAt ?? 0) >= this.input.before ? 'EndedAgain' : null;
  }

  async #take(run: OldRun): Promise<void> {
    const { tenant, actor: by } = this.session;
    const { at, before, dryRun } = this.input;
    if (dryRun) this.#add(await this.store.retention.count(tenant, run.run));
    else {
      const { kept, rows } = await this.store.retention.collect({ tenant, run: run.run, before, by, at });
      // Something happened to it since it was looked at; another collection, for one.
      const why = kept === null ? null : CHANGED[kept];
      if (why) this.#keep(run, why);
      if (kept !== null) return;
      this.#add(rows);
    }
    this.gone.push({ run: run.run, status: run.status, endedAt: iso(run.endedAt) });
  }

  #add(rows: CollectedRows): void {
    for (const part of COLLECTED_ROWS) this.#rows[part] += rows[part];
  }

  #keep({ run, status, openEffects, heldLeases }: OldRun, why: KeptRun['why']): void {
    const message = MESSAGES[why].replace('#', String(why === 'EffectsOpen' ? openEffects : heldLeases));
    this.kept.push({ run, status, why, message });
  }
}

const CHANGED: Readonly<Record<KeptByStore, KeptRun['why'] | null>> = {
  open: null,
  young: null,
  unknown: null,
  held: 'LeasesHeld',
  effects: 'EffectsOpen',
};

const MESSAGES: Readonly<Record<KeptRun['why'], string>> = {
  EffectsOpen:
    'the outcome of # effect(s) was not known when it closed, and this is the only record of them: it stays (`baton effects` has the keys to ask their owners by)',
  OpenInTemporal: 'it was reset and is open in Temporal: wait for its end, or terminate it there',
  NotRecorded:
    'the store says open, and Temporal has no open run: `baton doctor --fix` records its end, a launch that was interrupted is launched again',
  LeasesHeld: '# lease(s) of it are not settled: `baton doctor --fix` settles them',
  EndedAgain: 'it was reset, and its newest end is younger than that',
};

const wrong = (field: string, value: unknown, must: string): BatonError =>
  BatonError.of('InvalidCommand', `\`${field}\` must be ${must}`, { field, value: shown(value) });
