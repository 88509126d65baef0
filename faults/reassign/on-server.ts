/** A covering set of the reassign matrix on a real server: runs that start from crafted states, commands by both doors. */
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { WorkflowUpdateFailedError, type WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { BatonClient } from '../../src/client/client.js';
import { QUERIES, RUN_WORKFLOW, workflowIdOf, type RunInput, type StateView } from '../../src/domain/wire.js';
import { digestOf } from '../../src/store/canonical.js';
import { openStore } from '../../src/store/open.js';
import type { Store } from '../../src/store/port.js';
import { withEnds, type AtEnd } from '../ends.js';
import type { RestartableServer } from '../server.js';
import { startWorker } from '../start-worker.js';
import { until } from '../until.js';
import { ACTOR, AT, commandOf, PINS, SLOT, stateOf } from './craft.js';
import { changedTooMuch } from './domain.js';
import { expected, type Verdict } from './expected.js';
import type { Combination } from './factors.js';

const OVER: readonly string[] = ['succeeded', 'failed', 'cancelled'];
/** As many at once as a command-line user would never give; the control worker takes more. */
const AT_ONCE = 4;

export interface ServerVerdict {
  readonly combination: Combination;
  /** `client` is the library, `raw` an update as any tool of Temporal sends it. */
  readonly door: 'client' | 'raw';
  readonly problem: string | null;
  readonly seconds: number;
}

/** @param table what is expected; default the table of this folder */
export function judgeOnServer(
  combinations: readonly Combination[],
  server: RestartableServer,
  root: string,
  outer?: AtEnd,
  table: (combination: Combination) => Verdict = expected,
): Promise<readonly ServerVerdict[]> {
  return withEnds(async (atEnd) => {
    const judge = await ServerJudge.open(server, root, atEnd);
    const verdicts: ServerVerdict[] = [];
    const queue = combinations.map((combination, index) => ({ combination, index }));
    const lane = async (): Promise<void> => {
      for (let next = queue.shift(); next; next = queue.shift()) {
        const { combination, index } = next;
        const from = performance.now();
        const door = doorFor(combination, index);
        const problem = await judge
          .problemOf(combination, `r-${index}`, door, table(combination))
          .catch((error: unknown) => String(error));
        verdicts.push({ combination, door, problem, seconds: (performance.now() - from) / 1_000 });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
    return verdicts;
  }, outer);
}

/** A run that has ended takes no raw update, and the client sends to the run and tenant that it names. */
function doorFor({ run, slot, tenant }: Combination, index: number): ServerVerdict['door'] {
  if (run === 'closed' && OVER.includes(slot)) return 'client';
  if (run === 'another' || tenant !== 'own') return 'raw';
  return index % 2 === 0 ? 'client' : 'raw';
}

class ServerJudge {
  private constructor(
    private readonly server: RestartableServer,
    private readonly store: Store,
    private readonly tenant: string,
  ) {}

  static async open(server: RestartableServer, root: string, atEnd: AtEnd): Promise<ServerJudge> {
    const tenant = `reassign-${randomBytes(4).toString('hex')}`;
    const file = path.join(root, `${tenant}.db`);
    const store = await openStore(`sqlite:${file}`);
    atEnd(() => store.close());
    const workLog = path.join(root, `${tenant}.log`);
    const process = { role: 'control', classes: [], waits: false, authorityPort: null, halt: null } as const;
    const { address } = server;
    await startWorker({ ...process, address, storeUrl: `sqlite:${file}`, taskQueue: tenant, workLog }, atEnd);
    return new ServerJudge(server, store, tenant);
  }

  async problemOf(
    combination: Combination,
    run: string,
    door: ServerVerdict['door'],
    want: Verdict,
  ): Promise<string | null> {
    const handle = await this.start(combination, run);
    try {
      const before = await this.seen(handle, run);
      const got = await this.reassign(combination, run, door, handle);
      const after = await this.seen(handle, run);
      if (after.rows !== before.rows) return 'rows of attempts or leases came into being';
      if ('refused' in want) {
        if (got.code !== want.refused) return `${got.code ?? 'accepted'}, expected ${want.refused}`;
        if (after.digest !== before.digest) return 'the refused command changed run state';
        return after.events === before.events
          ? null
          : `the refused command added ${after.events - before.events} events`;
      }
      if (got.code !== null) return `${got.code}, expected to be accepted`;
      if (got.spec !== want.accepted) return `answered specification ${got.spec}, expected ${want.accepted}`;
      return changedTooMuch(before.view.state, after.view.state, want.accepted);
    } finally {
      await handle.terminate('judged').catch(() => undefined);
    }
  }

  private async start(combination: Combination, run: string): Promise<WorkflowHandle> {
    const { tenant, server, store } = this;
    const state = stateOf(combination, tenant, run);
    await store.runs.create({ tenant, run, digest: '0'.repeat(64), pins: PINS, input: null, createdAt: AT });
    const input: RunInput = {
      tenant,
      run,
      pins: PINS,
      plan: state.plan,
      taskQueue: tenant,
      searchAttributes: [],
      rollOverEvents: null,
      carried: { state, commands: [], previous: null, deadlines: {}, voids: [] },
    };
    const handle = await server.client.workflow.start(RUN_WORKFLOW, {
      workflowId: workflowIdOf(tenant, run),
      taskQueue: tenant,
      args: [input],
    });
    const ends = state.status !== 'running' && OVER.includes(state.slots[SLOT]?.state ?? '');
    await until('the crafted run to stand still', async () => {
      const { status, historyLength } = await handle.describe();
      return ends ? (status.name === 'RUNNING' ? null : true) : historyLength >= 4 ? true : null;
    });
    return handle;
  }

  private async seen(handle: WorkflowHandle, run: string) {
    const view = await handle.query<StateView>(QUERIES.state);
    const { historyLength: events } = await handle.describe();
    const rows = digestOf(await this.store.attempts.list(this.tenant, run));
    return { view, events, rows, digest: digestOf(view.state) };
  }

  private async reassign(
    combination: Combination,
    run: string,
    door: ServerVerdict['door'],
    handle: WorkflowHandle,
  ): Promise<{ code: string | null; spec: string | null }> {
    const { server, store, tenant } = this;
    const command = commandOf(combination, tenant, run);
    try {
      if (door === 'raw') {
        const { spec } = await handle.executeUpdate<{ spec: string }, [unknown]>('reassign', {
          args: [command],
        });
        return { code: null, spec };
      }
      const { slot, workerClass, reason, ...named } = command as Record<string, string>;
      const client = new BatonClient(server.client, {
        tenant: named['tenant'] ?? tenant,
        actor: ACTOR,
        store,
        taskQueue: tenant,
        timeoutMs: 30_000,
      });
      // Untyped callers leave fields out; the rules must answer them too.
      const request = { workerClass, reason } as { workerClass: string; reason: string };
      const { spec } = await client
        .run(run)
        .slot(slot ?? '')
        .reassign(request);
      return { code: null, spec };
    } catch (error) {
      return { code: codeOf(error), spec: null };
    }
  }
}

function codeOf(error: unknown): string {
  const cause = error instanceof WorkflowUpdateFailedError ? error.cause : error;
  if (cause instanceof ApplicationFailure) return cause.type ?? cause.message;
  return (cause as { code?: unknown }).code?.toString() ?? String(cause);
}
