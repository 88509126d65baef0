/**
 * A remote service whose jobs take long, and the owner of that effect: started once, polled, cancelled; a process of its own
 * with its own database. A job counts the primes below a number, in slices; where it is, is in the database, so that it goes on
 * after a restart of the service.
 *
 *     node dist/examples/remote-job/service.js --database ./jobs.db --authority http://127.0.0.1:7300
 *
 * POST /jobs[/lookup|/cancel] (the effect-owner kit). Prints one JSON line when it is ready. `--pace MS` waits that long between
 * two slices.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import Database from 'better-sqlite3';
import {
  EffectRejected,
  effectOwner,
  effectRoutes,
  httpAuthority,
  sqliteEngine,
  type EffectRef,
  type Json,
} from '../../src/effects/index.js';
import { primesIn } from './primes.js';

const SLICES = 20;
const LARGEST = 5_000_000;

const { values } = parseArgs({
  options: {
    database: { type: 'string', default: './jobs.db' },
    authority: { type: 'string' },
    port: { type: 'string', default: '0' },
    pace: { type: 'string', default: '0' },
  },
});
if (values.authority === undefined) {
  console.error('--authority is missing: the address that `baton worker --authority-port N` prints');
  process.exit(2);
}
const paceMs = Number(values.pace);

const database = new Database(values.database);
database.pragma('journal_mode = WAL');
database.exec(`create table if not exists jobs (
  job integer primary key,
  effect text not null,
  below integer not null,
  -- All below this number are counted.
  reached integer not null default 0,
  primes integer not null default 0,
  -- 'running', 'done' or 'stopped'
  state text not null default 'running'
)`);

interface Job {
  readonly job: number;
  readonly effect: string;
  readonly below: number;
  readonly reached: number;
  readonly primes: number;
  readonly state: string;
}

const owner = effectOwner({ engine: sqliteEngine(database), authority: httpAuthority(values.authority) });
await owner.migrate();
const routes = effectRoutes<Database.Database, 'sync'>({
  owner,
  path: '/jobs',
  accept: start,
  // With the withdrawal's own transaction: a job is on record as cancelled only when it is stopped.
  cancel: (trx, { handle }) => {
    trx.prepare("update jobs set state = 'stopped' where job = ?").run((handle as { job: number }).job);
  },
  onError: (error) => console.error(error),
});

/** The job's row and the record that it was accepted are one transaction; work on it begins after that. */
function start(trx: Database.Database, request: Json, effect: EffectRef): Json {
  const below = (request as { below?: unknown } | null)?.below;
  if (typeof below !== 'number' || !Number.isInteger(below) || below < 2 || below > LARGEST)
    throw new EffectRejected({
      code: 'BadRange',
      message: `\`below\` must be a whole number from 2 to ${LARGEST}`,
    });
  const { lastInsertRowid } = trx
    .prepare('insert into jobs (effect, below) values (?, ?)')
    .run(JSON.stringify(effect), below);
  return { job: Number(lastInsertRowid) };
}

const newest = database.prepare<[number], Job>('select * from jobs where job = ?');

/** One slice after the other; what each has found is kept before the next. */
async function work(job: number): Promise<void> {
  for (let now = newest.get(job); now?.state === 'running'; now = newest.get(job)) {
    const { below, reached, primes, effect } = now;
    if (reached >= below) {
      // The job's own state and the effect's receipt are one transaction again.
      await owner.finish(JSON.parse(effect) as EffectRef, (trx) => {
        trx.prepare("update jobs set state = 'done' where job = ?").run(job);
        return { job, below, primes };
      });
      return;
    }
    const until = Math.min(below, reached + Math.ceil(below / SLICES));
    const found = primesIn(reached, until);
    database.prepare('update jobs set reached = ?, primes = primes + ? where job = ?').run(until, found, job);
    await sleep(paceMs);
  }
}

const working = new Set<number>();
let ending = false;
/** Takes up what was accepted, by this process or one before it. */
async function look(): Promise<void> {
  const running = database.prepare<[], number>("select job from jobs where state = 'running'").pluck();
  while (!ending) {
    for (const job of running.all()) {
      if (working.has(job)) continue;
      working.add(job);
      work(job)
        .catch((error: unknown) => console.error(error))
        .finally(() => working.delete(job));
    }
    await sleep(20);
  }
}

const server = createServer(routes);
server.listen(Number(values.port), '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  console.log(JSON.stringify({ ready: true, pid: process.pid, url: `http://127.0.0.1:${port}` }));
});
for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, () => {
    ending = true;
    server.closeAllConnections();
    server.close(() => process.exit());
  });
await look();
