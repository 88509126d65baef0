/** What one cell is played on: a store file, a tenant and a queue of its own, and the processes that may die. */
import { randomBytes } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import Database from 'better-sqlite3';
import { BatonClient, type LaunchedRun } from '../src/client/client.js';
import { QUERIES, workflowIdOf, type StateView } from '../src/domain/wire.js';
import type { Child } from '../src/server/processes.js';
import { openStore } from '../src/store/open.js';
import type { Json, Store } from '../src/store/port.js';
import { documents, failUpTo, FIRST, OTHER, PACKAGE, SECOND } from './definitions.js';
import type { AtEnd } from './ends.js';
import type { Cell } from './model.js';
import { hasEffect, rollsOver } from './cells.js';
import { readOwner, startOwner, type OwnerRecord } from './owner.js';
import type { RestartableServer } from './server.js';
import { startWorker } from './start-worker.js';
import { writeWork } from './work-log.js';
import type { Halt, Task, WorkerInput } from './worker-process.js';

const AUTHORITY = /^authority /;

export const ACTOR = 'operator';

export class Stage {
  /** Address of the authority check, once a control worker has served it. */
  private authorityUrl: string | null = null;

  private constructor(
    readonly server: RestartableServer,
    readonly cell: Cell,
    readonly tenant: string,
    private readonly folder: string,
    readonly store: Store,
    readonly baton: BatonClient,
    private readonly atEnd: AtEnd,
  ) {}

  static async open(server: RestartableServer, cell: Cell, root: string, atEnd: AtEnd): Promise<Stage> {
    const tenant = `faults-${randomBytes(4).toString('hex')}`;
    const folder = path.join(root, tenant);
    await mkdir(folder);
    atEnd(() => rm(folder, { recursive: true, force: true }));
    const store = await openStore(`sqlite:${path.join(folder, 'baton.db')}`);
    atEnd(() => store.close());
    const options = { tenant, actor: ACTOR, store, taskQueue: tenant, timeoutMs: 30_000 };
    return new Stage(server, cell, tenant, folder, store, new BatonClient(server.client, options), atEnd);
  }

  /** A client that does not wait long for an answer. */
  impatient(): BatonClient {
    const { tenant, store } = this;
    return new BatonClient(this.server.client, {
      tenant,
      actor: ACTOR,
      store,
      taskQueue: tenant,
      timeoutMs: 2_000,
    });
  }

  /** Something that still uses the store and ends by itself. */
  beforeClose(work: Promise<unknown>): void {
    this.atEnd(() => work);
  }

  get storeFile(): string {
    return path.join(this.folder, 'baton.db');
  }

  get workLog(): string {
    return path.join(this.folder, 'work.log');
  }

  private get gate(): string {
    return path.join(this.folder, 'gate');
  }

  async launch(): Promise<LaunchedRun> {
    const { cell } = this;
    await this.baton.publish({ documents: documents(cell) });
    const rolls = rollsOver(cell.point);
    const owner = hasEffect(cell.point) ? await this.startOwner() : null;
    const task: Task = { failUpTo: failUpTo(cell), gate: rolls ? this.gate : null, owner };
    const input = task as unknown as Json;
    return this.baton.launch({ package: PACKAGE, input, ...(rolls ? { rollOverEvents: 40 } : {}) });
  }

  /** Lets agents that wait after their first step go on. */
  openGate(): Promise<void> {
    return writeFile(this.gate, '');
  }

  async state(run: string): Promise<StateView> {
    const { client } = this.server;
    const handle = client.workflow.getHandle(workflowIdOf(this.tenant, run));
    return client.withDeadline(Date.now() + 5_000, () => handle.query<StateView>(QUERIES.state));
  }

  /** The effect's owner goes on asking at the address that the first one took. */
  async control(halt: Halt | null = null): Promise<Child> {
    const { authorityUrl: known } = this;
    const authorityPort = hasEffect(this.cell.point) ? Number(new URL(known ?? 'http://any:0').port) : null;
    const child = await this.process({ role: 'control', classes: [], waits: false, authorityPort, halt });
    if (authorityPort !== null) this.authorityUrl = (await child.ready(AUTHORITY, 0)).replace(AUTHORITY, '');
    return child;
  }

  host(halt: Halt | null): Promise<Child> {
    return this.process({ role: 'host', classes: [FIRST, OTHER], waits: false, halt });
  }

  /** Loaded and connected; it claims nothing before it is told to go. */
  successor(): Promise<Child> {
    return this.process({ role: 'host', classes: [FIRST, SECOND, OTHER], waits: true, halt: null });
  }

  /** What the owner of the effect says; null: there is none. */
  owner(): OwnerRecord | null {
    return hasEffect(this.cell.point) ? readOwner(this.ownerFile) : null;
  }

  private get ownerFile(): string {
    return path.join(this.folder, 'owner.db');
  }

  private startOwner(): Promise<string> {
    if (this.authorityUrl === null) throw new Error('no control worker serves the authority check');
    return startOwner({ database: this.ownerFile, authority: this.authorityUrl }, this.atEnd);
  }

  async kill(child: Child): Promise<void> {
    child.kill('SIGKILL');
    const { signal } = await child.exited;
    if (signal !== 'SIGKILL') throw new Error(`${child.name} ended by itself:\n${child.tail()}`);
    writeWork(this.workLog, { what: 'killed' }, child.pid);
  }

  /** Takes the store's write lock, as a backup that hangs would; returns what gives it back. */
  lockStore(): () => void {
    const database = new Database(this.storeFile, { timeout: 5_000 });
    let locked = true;
    const unlock = (): void => {
      if (!locked) return;
      locked = false;
      database.exec('ROLLBACK');
      database.close();
    };
    database.exec('BEGIN EXCLUSIVE');
    this.atEnd(() => Promise.resolve(unlock()));
    return unlock;
  }

  private process(
    input: Pick<WorkerInput, 'role' | 'classes' | 'waits' | 'halt'> & Partial<WorkerInput>,
  ): Promise<Child> {
    const { workLog, tenant, atEnd } = this;
    const { address } = this.server;
    const storeUrl = `sqlite:${this.storeFile}`;
    return startWorker(
      { authorityPort: null, ...input, address, storeUrl, taskQueue: tenant, workLog },
      atEnd,
    );
  }
}
