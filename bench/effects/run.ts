/**
 * What is measured under a live lease, on a real run: the authority check (in process and over HTTP) and the effect boundary
 * beside a direct call of the same owner. Server, control worker and host of this run; store and owner are SQLite files.
 */
import path from 'node:path';
import Database from 'better-sqlite3';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { defineAgent, type AgentContext } from '../../src/agent/types.js';
import { BatonClient } from '../../src/client/client.js';
import { authorityCheck } from '../../src/effects/check.js';
import { httpAuthority } from '../../src/effects/http-authority.js';
import { sqliteEngine } from '../../src/effects/owner/engines.js';
import { effectOwner } from '../../src/effects/owner/owner.js';
import { authorityToken } from '../../src/effects/token.js';
import { startControlWorker } from '../../src/host/control.js';
import { startHost } from '../../src/host/host.js';
import { connect } from '../../src/server/connect.js';
import { ensureServer } from '../../src/server/find.js';
import { openStore } from '../../src/store/open.js';
import { spread, type Spread } from '../overhead/statistics.js';
import { interleaved } from './timing.js';

export interface RunCost {
  /** Store and `describe` of the server. */
  readonly checkUs: Spread;
  readonly httpCheckUs: Spread;
  /** The owner's transaction called directly. */
  readonly bareUs: Spread;
  /** `ctx.effect` around the same transaction: intent and receipt in the store. */
  readonly effectUs: Spread;
  /** An effect whose receipt is recorded: nothing is sent. */
  readonly knownUs: Spread;
  /** `ctx.effect` to an owner with the kit and the check: the whole protocol. */
  readonly fullUs: Spread;
  readonly serverVersion: string;
}

const DEFINITION = [
  {
    kind: 'package',
    name: 'effects',
    outcome: 'Measured.',
    content: {},
    workflow: 'effects',
    binding: 'effects',
  },
  { kind: 'workflow', name: 'effects', nodes: [{ node: 'pay' }] },
  {
    kind: 'binding',
    name: 'effects',
    workflow: 'effects',
    nodes: {
      pay: {
        agent: { name: 'bench', revision: '1' },
        launch: [{ id: 'any', workerClasses: ['payer'], dispatch: 'queue', lease: { ttl: '60s' } }],
      },
    },
  },
];

/** @param times of each kind that count */
export async function measureRun(
  folder: string,
  times: number,
  onProgress: (message: string) => void,
): Promise<RunCost> {
  const ends: (() => Promise<unknown>)[] = [];
  try {
    Runtime.install({ logger: new DefaultLogger('ERROR') });
    const server = await ensureServer({ preferExisting: false, ui: false, onProgress });
    ends.push(() => server.stop());
    const temporal = await connect({ address: server.address, namespace: 'default', env: {} });
    ends.push(() => temporal.close());
    const { client } = temporal;
    const connection = await NativeConnection.connect({ address: server.address });
    ends.push(() => connection.close());
    const store = await openStore(`sqlite:${path.join(folder, 'baton.db')}`);
    ends.push(() => store.close());
    const control = await startControlWorker({ connection, store, authority: { port: 0 } });
    ends.push(() => control.shutdown());
    const controlEnd = control.run();
    const check = authorityCheck({ store, client });
    const http = httpAuthority(control.authorityUrl ?? '');

    const database = new Database(path.join(folder, 'effects.db'));
    ends.push(async () => database.close());
    database.pragma('journal_mode = WAL');
    database.pragma('synchronous = FULL');
    database.exec('create table payments (id integer primary key, amount integer not null)');
    const pay = database.prepare('insert into payments (amount) values (?)');
    const insert = (amount: number) => ({ payment: Number(pay.run(amount).lastInsertRowid) });
    const transaction = database.transaction(insert);
    const bare = (amount: number) => transaction.immediate(amount);
    const owner = effectOwner({ engine: sqliteEngine(database), authority: check });
    await owner.migrate();

    const measure = async (ctx: AgentContext): Promise<Omit<RunCost, 'serverVersion'>> => {
      const { tenant, run, slot, attempt, epoch } = ctx;
      const token = authorityToken(await store.key(), { tenant, run, slot, attempt, epoch });
      onProgress(`${times} authority checks of each kind …`);
      const [checkUs, httpCheckUs] = await interleaved(
        times,
        () => check(token),
        () => http(token),
      );
      onProgress(`${times} effects of each kind …`);
      const effect = (i: number) =>
        ctx.effect('pay', { instance: String(i), request: { amount: i }, perform: async () => bare(i) });
      const [bareUs, effectUs] = await interleaved(times, bare, effect);
      const full = (i: number) =>
        ctx.effect('full', {
          instance: String(i),
          request: { amount: i },
          perform: async (call) => {
            const answer = await owner.commit(call, () => insert(i));
            return answer.state === 'committed' ? answer.receipt : null;
          },
          lookup: (call) => owner.lookup(call),
        });
      const [knownUs, fullUs] = await interleaved(times, effect, full);
      return {
        checkUs: spread(checkUs),
        httpCheckUs: spread(httpCheckUs),
        bareUs: spread(bareUs),
        effectUs: spread(effectUs),
        knownUs: spread(knownUs),
        fullUs: spread(fullUs),
      };
    };
    let measured: Omit<RunCost, 'serverVersion'> | undefined;
    const agent = defineAgent({
      workerClass: 'payer',
      run: async (ctx) => {
        measured = await measure(ctx);
        return null;
      },
    });
    const host = await startHost({ connection, store, agents: [agent] });
    ends.push(() => host.shutdown());
    const hostEnd = host.run();
    const baton = new BatonClient(client, { tenant: 'bench', actor: 'bench', store });
    await baton.publish({ documents: DEFINITION });
    const launched = await baton.launch({ package: 'effects' });
    await Promise.race([launched.result(), controlEnd, hostEnd]);
    if (!measured) throw new Error('the agent measured nothing');
    const { serverVersion } = await client.workflowService.getSystemInfo({});
    return { ...measured, serverVersion };
  } finally {
    // Each is tried: one that fails to end must not keep the others running.
    for (const end of ends.reverse()) await end().catch((error: unknown) => console.error(error));
  }
}
