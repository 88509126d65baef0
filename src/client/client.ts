/** The client: launches runs and reaches them, for one tenant and one actor. Never loads the native worker. */
import os from 'node:os';
import type { Client } from '@temporalio/client';
import { accessOf, type AccessOptions } from '../access/options.js';
import type { accept as acceptRevision, Published } from '../definitions/publish.js';
import type { Definition } from '../definitions/read.js';
import { BatonError } from '../domain/errors.js';
import { checkId } from '../domain/text.js';
import { DEFAULT_TASK_QUEUE } from '../domain/wire.js';
import type { Store } from '../store/port.js';
import { listAudit, type AuditRequest, type AuditView } from './audit.js';
import { collect, type CollectRequest, type CollectView } from './collect.js';
import { command, look } from './door.js';
import { launch, type Launched, type LaunchRequest } from './launch.js';
import { listRuns, type RunListed } from './list.js';
import { batonClientOver } from './converter.js';
import { RunHandle } from './run-handle.js';
import { accessOfPlugins, storeOfPlugins, type Session } from './session.js';

/** Without `authorize` and `policy` those of a BatonPlugin on the Temporal client count, if it has them. */
export interface BatonClientOptions extends AccessOptions {
  /** Owner of the runs; every command is for this tenant. */
  readonly tenant: string;
  /** Who gives the commands. Default: the operating system's user name. */
  readonly actor?: string;
  /** A store, or its address (`sqlite:./baton.db`). Default: the store of a BatonPlugin on the Temporal client. */
  readonly store?: Store | string;
  /** Task queue of the control worker. Default `baton`. */
  readonly taskQueue?: string;
  /** Longest wait for one command's answer, in milliseconds. Default 10,000. */
  readonly timeoutMs?: number;
  /** Base address of Temporal's UI, for links. Default: none, and links are null. */
  readonly ui?: string;
}

/** A launched run with what `baton launch` prints. */
export class LaunchedRun extends RunHandle {
  constructor(
    session: Session,
    readonly launched: Launched,
  ) {
    super(session, launched.run);
  }

  get pins(): Launched['pins'] {
    return this.launched.pins;
  }
}

export class BatonClient {
  readonly #session: Session;
  #opened: Promise<Store> | null = null;

  /**
   * @param client a Temporal client, in the namespace of the runs
   * @throws BatonError `InvalidCommand` for a tenant, actor or other option that is not well formed
   */
  constructor(client: Client, options: BatonClientOptions) {
    const { store } = options;
    const offered = storeOfPlugins(client);
    const open = async (): Promise<Store> => {
      if (typeof store === 'object') return store;
      if (typeof store === 'string') return (this.#opened ??= openUrl(store));
      if (offered) return offered();
      throw BatonError.of(
        'InvalidCommand',
        'this needs a store: give `store`, or put a BatonPlugin on the Temporal client',
        { field: 'store' },
      );
    };
    this.#session = {
      client: batonClientOver(client),
      tenant: checkId('tenant', options.tenant),
      actor: checkId('actor', options.actor ?? os.userInfo().username),
      taskQueue: options.taskQueue ?? DEFAULT_TASK_QUEUE,
      timeoutMs: checkTimeout(options.timeoutMs ?? 10_000),
      ui: options.ui ?? null,
      hasStore: store !== undefined || offered !== null,
      access: accessOf(options, accessOfPlugins(client)),
      store: open,
    };
  }

  get tenant(): string {
    return this.#session.tenant;
  }

  get actor(): string {
    return this.#session.actor;
  }

  /**
   * Starts a run. The same run id with the same content again answers with the run that exists.
   *
   * @throws BatonError `NotAuthorized`, `UnknownRevision`, `RevisionNotAccepted`, `RunConflict`, `InvalidCommand`, `TooLarge`, …
   */
  async launch(request: LaunchRequest): Promise<LaunchedRun> {
    const { package: target, run } = request;
    const launched = await command(
      this.#session,
      'launch',
      { target, run },
      () => launch(this.#session, request),
      (made) => ({ run: made.run }),
    );
    return new LaunchedRun(this.#session, launched);
  }

  /** A run by its id; whether the tenant has it shows when it is used. */
  run(id: string): RunHandle {
    return new RunHandle(this.#session, id);
  }

  /** The tenant's runs, newest first. */
  list(): Promise<readonly RunListed[]> {
    return look(this.#session, 'list', {}, () => listRuns(this.#session));
  }

  /**
   * What was commanded in this tenant, by whom, and what became of it, newest first. Commands that came past the clients (raw
   * updates) are not in it, nor are reads, unless the policy refused them.
   *
   * @throws BatonError `NotAuthorized`, `InvalidCommand`, `StoreUnavailable`
   */
  audit(request: AuditRequest = {}): Promise<readonly AuditView[]> {
    return look(this.#session, 'audit', {}, () => listAudit(this.#session, request));
  }

  /**
   * Publishes definition files or documents.
   *
   * @throws BatonError `NotAuthorized`, `InvalidCommand`, `TooLarge`, `RevisionConflict`
   */
  async publish(input: {
    files?: readonly string[];
    documents?: readonly unknown[];
    /** Read and checked before. */
    definitions?: readonly Definition[];
    draft?: boolean;
  }): Promise<readonly Published[]> {
    const { tenant, actor } = this.#session;
    // Reading definitions takes a YAML parser, which nothing else here needs.
    const { publish } = await import('../definitions/publish.js');
    return command(this.#session, 'publish', {}, async () =>
      publish(await this.#session.store(), { tenant, actor, at: Date.now(), ...input }),
    );
  }

  /** Accepts a draft: `KIND/NAME@REV`. @throws BatonError `NotAuthorized`, `UnknownRevision`, `InvalidCommand` */
  async accept(target: string): ReturnType<typeof acceptRevision> {
    const { tenant, actor } = this.#session;
    const { accept } = await import('../definitions/publish.js');
    return command(this.#session, 'accept', { target }, async () =>
      accept(await this.#session.store(), { tenant, actor, at: Date.now(), target }),
    );
  }

  /**
   * Removes runs of this tenant that are over, here and in Temporal, for longer than a time, with all that the store has of
   * them, then bytes that no run and no revision refers to. Runs that are open, or have effects whose outcome nobody knows,
   * stay and are named. A run's id stays taken. Revisions are never removed.
   *
   * @param request `olderThanMs` must be given; `dryRun: true` changes nothing and tells what would go
   * @throws BatonError `NotAuthorized` (`collect`), `InvalidCommand`, `TemporalUnavailable`, `StoreUnavailable`; called again it goes on
   */
  collect(request: CollectRequest): Promise<CollectView> {
    const work = () => collect(this.#session, request);
    return request.dryRun === true
      ? look(this.#session, 'collect', {}, work)
      : command(this.#session, 'collect', {}, work);
  }

  /** Closes a store that was opened by its address here; the Temporal connection and a store that was given stay open. */
  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = null;
    if (opened) await (await opened.catch(() => null))?.close();
  }

  /** For the command line and the doctor: what every operation needs. Not part of the public door. */
  static sessionOf(client: BatonClient): Session {
    return client.#session;
  }
}

async function openUrl(url: string): Promise<Store> {
  const { openStore } = await import('../store/open.js');
  return openStore(url);
}

function checkTimeout(ms: number): number {
  if (Number.isFinite(ms) && ms > 0) return ms;
  throw BatonError.of('InvalidCommand', '`timeoutMs` must be a number above 0', {
    field: 'timeoutMs',
    value: ms,
  });
}
