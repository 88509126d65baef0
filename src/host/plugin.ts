/**
 * The plugin: one line in a user's Worker adds a host and a control worker beside it. It never touches the user's Worker
 * options; his workflows and activities go on as before.
 */
import { SimplePlugin } from '@temporalio/plugin';
import type { Worker } from '@temporalio/worker';
import { ACCESS_OF_PLUGIN, accessOf, type Access, type AccessOptions } from '../access/options.js';
import type { AgentDefinition } from '../agent/types.js';
import { BatonError } from '../domain/errors.js';
import { checkFields } from '../domain/text.js';
import { openStore } from '../store/open.js';
import type { Store } from '../store/port.js';
import { startControlWorker, type AuthorityEndpoint } from './control.js';
import { startHost } from './host.js';
import { isInnerWorker, stopStarting, whenStopping, type Running } from './workers.js';

/** Where a client finds the plugin's store: a property `() => Promise<Store>`. */
export const PLUGIN_STORE = Symbol.for('temporal-baton.store');

/** `authorize` and `policy` are for the control worker, and for every client that takes its store from the plugin and has none of its own. */
export interface BatonPluginOptions extends AccessOptions {
  /** Where attempts, leases and artifacts are kept: a URL (`sqlite:./baton.db`), or an open store, which stays the caller's. */
  readonly store: string | Store;
  /** Agents to host. Default: none. */
  readonly agents?: readonly AgentDefinition[];
  /** Whether a control worker runs beside the user's Worker. Default true. */
  readonly control?: boolean;
  /** Control task queue. Default `baton`; not the user's own task queue. */
  readonly taskQueue?: string;
  /** Whether, and where, the control worker serves the authority check for effect owners elsewhere. Default: not. */
  readonly authority?: AuthorityEndpoint;
  /** See `HostOptions.host`. */
  readonly host?: string;
  /** Owner actor of the workers here. */
  readonly owner?: string;
  /** Milliseconds that agents may go on after a shutdown. Default 0. */
  readonly drain?: number;
}

const FIELDS: readonly (keyof BatonPluginOptions)[] = [
  'store',
  'agents',
  'control',
  'taskQueue',
  'authority',
  'authorize',
  'policy',
  'host',
  'owner',
  'drain',
];

/** Give it to a Worker, to a Client, or to their connections; given twice it starts nothing twice. */
export class BatonPlugin extends SimplePlugin {
  readonly #options: BatonPluginOptions;
  /** The user's Workers that have been started with this plugin. */
  readonly #seen = new WeakSet<Worker>();
  #store: Promise<Store> | undefined;
  readonly [ACCESS_OF_PLUGIN]: Access;

  constructor(options: BatonPluginOptions) {
    super({ name: 'temporal-baton' });
    checkFields('BatonPlugin', options, FIELDS);
    if (!options.store)
      throw BatonError.of('InvalidCommand', 'BatonPlugin needs a store: a URL such as sqlite:./baton.db', {
        field: 'store',
      });
    this.#options = options;
    this[ACCESS_OF_PLUGIN] = accessOf(options);
  }

  /** Opens the store at first need, once. */
  readonly [PLUGIN_STORE] = (): Promise<Store> => {
    const { store } = this.#options;
    this.#store ??= typeof store === 'string' ? openStore(store) : Promise.resolve(store);
    // A store that could not be opened may be there at the next call.
    this.#store.catch(() => (this.#store = undefined));
    return this.#store;
  };

  /** Closes a store that the plugin opened by a URL; for processes that end without exiting, such as tests. */
  async close(): Promise<void> {
    const store = this.#store;
    this.#store = undefined;
    if (typeof this.#options.store === 'string') await (await store)?.close();
  }

  override async runWorker(worker: Worker, next: (worker: Worker) => Promise<void>): Promise<void> {
    if (isInnerWorker(worker) || this.#seen.has(worker)) return super.runWorker(worker, next);
    this.#seen.add(worker);
    // The user's Worker starts at once and never waits for ours.
    const users = super.runWorker(worker, next);
    const ours = this.#beside(worker, users);
    const [user, inner] = await Promise.allSettled([users, ours]);
    if (user.status === 'rejected') throw user.reason;
    if (inner.status === 'rejected') throw inner.reason;
  }

  /** Runs ours until the user's Worker stops; if ours fail, his is stopped and the cause is what his `run` rejects with. */
  async #beside(worker: Worker, users: Promise<void>): Promise<void> {
    const inner: Running[] = [];
    const done = new AbortController();
    const stopped = users.then(
      () => done.abort(),
      () => done.abort(),
    );
    try {
      await this.#start(worker, inner);
      const stopping = Promise.race([whenStopping(worker, done.signal), stopped]);
      await Promise.race([Promise.all(inner.map((one) => one.run())), stopping]);
    } finally {
      // Leases first: the agents' ends need the control worker's activities no more than the server does.
      await Promise.all(inner.map((one) => one.shutdown()));
      await stopStarting(worker, done.signal);
    }
  }

  async #start(worker: Worker, inner: Running[]): Promise<void> {
    const { agents = [], control = true, taskQueue, authority, host, owner, drain } = this.#options;
    const connection = worker.connection;
    if (!connection)
      throw new BatonError('Internal', 'the Worker has no connection, so Baton cannot run beside it.');
    const { namespace, loadedDataConverter } = worker.options;
    const common = {
      connection,
      namespace,
      // What the user encrypts in his own workflows he expects to be encrypted in ours.
      dataConverter: loadedDataConverter,
      store: await this[PLUGIN_STORE](),
      ...(taskQueue === undefined ? {} : { taskQueue }),
    };
    const authorize = await this[ACCESS_OF_PLUGIN]();
    if (control) {
      const more = { ...(authority ? { authority } : {}), ...(authorize ? { authorize } : {}) };
      inner.push(await startControlWorker({ ...common, ...more }));
    }
    if (agents.length === 0) return;
    inner.push(
      await startHost({
        ...common,
        agents,
        ...(host === undefined ? {} : { host }),
        ...(owner === undefined ? {} : { owner }),
        ...(drain === undefined ? {} : { drain }),
      }),
    );
  }
}
