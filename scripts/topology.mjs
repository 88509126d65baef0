/**
 * `npm run topology`: the services of docker-compose.yml without containers, from the compose file itself: commands, environment,
 * health checks and order of Baton's services are read there, so that neither can drift from the other. Temporal, its UI and Postgres are
 * started here (SQLite where there is no Postgres), and what would be the collector counts what it gets. Launches the example's run and waits
 * for its result; launches another, kills its host in the middle of the work, reassigns the slot, and has a new host finish it. Ends every
 * process by its id, also on failure and on Ctrl-C, and prints one JSON document. Exit code 0: all of it held.
 *
 * `--compose FILE` takes another compose file; `--image DIR` runs what is in that folder, as the image has it.
 */
import { createServer } from 'node:http';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { execa } from 'execa';
import getPort from 'get-port';
import { parse } from 'yaml';
// Registers the loader that the TypeScript import below needs.
import '../test/support/ts-loader.mjs';
import { stopSignal } from '../dist/src/cli/signals.js';
import { ensureServer } from '../dist/src/server/find.js';
import { isAlive, startChild } from '../dist/src/server/processes.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({
  options: {
    compose: { type: 'string', default: path.join(root, 'docker-compose.yml') },
    image: { type: 'string', default: root },
  },
});
const EXAMPLE = 'examples/compose/baton.yaml';
const TEXT = 'to be or not to be';
/** What the second run's work takes: its host is killed meanwhile. */
const SECONDS = 5;
const LIMIT_MS = 60_000;
const say = (message) => process.stderr.write(`${message}\n`);

const ends = [];
const pids = [];
const atEnd = (end) => ends.unshift(end);
const keep = (name, pid) => {
  pids.push(pid);
  say(`${name}: process ${pid}`);
};

/** Counts by service what a collector would get, over HTTP. The names stand in the messages as they are. */
async function startCollector() {
  const got = {};
  const server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString('latin1');
      const service = /baton-(?:worker|host)/.exec(text)?.[0];
      if (service && request.url === '/v1/traces') got[service] = (got[service] ?? 0) + 1;
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return { got, place: `127.0.0.1:${server.address().port}` };
}

/** With the role and the database that the compose file's Postgres is given; null where there is none. */
async function startDatabase({ POSTGRES_USER: user, POSTGRES_DB: database }) {
  const { NoPostgres, administer, startPostgres } = await import('../test/support/postgres.ts');
  try {
    const postgres = await startPostgres();
    keep('postgres', postgres.pid);
    atEnd(() => postgres.stop());
    await administer(postgres.url, `create role ${user} login`, `create database ${database} owner ${user}`);
    return new URL(postgres.url).host;
  } catch (error) {
    if (!(error instanceof NoPostgres)) throw error;
    say(`SQLite instead of Postgres: ${error.message}`);
    return null;
  }
}

async function play(compose, dockerfile, signal) {
  const { services } = compose;
  const folder = await mkdtemp(path.join(os.tmpdir(), 'baton-topology-'));
  atEnd(() => rm(folder, { recursive: true, force: true }));
  const database = await startDatabase(services.postgres.environment);
  const server = await ensureServer({ preferExisting: false, searchAttributes: false, onProgress: say });
  keep('temporal', server.pid);
  atEnd(() => server.stop());
  const collector = await startCollector();

  const children = {};
  /** What the containers' names and ports are on this machine. */
  const places = {
    'temporal:7233': server.address,
    'otel-collector:4318': collector.place,
    '0.0.0.0': '127.0.0.1',
    7300: String(await getPort()),
    7301: String(await getPort()),
    '/app/': `${values.image}/`,
    ...(database === null ? {} : { 'postgres:5432': database }),
  };
  // In one pass: what was put in must not be taken for a name again.
  const names = new RegExp(
    Object.keys(places)
      .map((name) => name.replaceAll('.', '\\.'))
      .join('|'),
    'g',
  );
  const here = (text) =>
    String(text)
      .replace(/\$\{(\w+):-(\w*)\}/g, (_, name, preset) => process.env[name] || preset)
      .replace(names, (name) => places[name]);
  const environmentOf = (service) => ({
    // Nothing else of this process's: a container has none of it.
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    ...Object.fromEntries(
      Object.entries(service.environment ?? {}).map(([key, value]) => [key, here(value)]),
    ),
    ...(database === null ? { BATON_STORE: `sqlite:${path.join(folder, 'baton.db')}` } : {}),
  });
  const commandOf = (service, extra = []) => {
    const [program, ...args] = service.entrypoint ?? dockerfile.entrypoint;
    const command = service.command ?? (service.entrypoint ? [] : dockerfile.cmd);
    if (program !== 'node') throw new Error(`${program} is not what the image's Node runs`);
    return [...args, ...(extra.length > 0 ? extra : command)].map(here);
  };
  const run = async (name, extra, onLine) => {
    const child = await startChild(process.execPath, commandOf(services[name], extra), {
      name,
      cwd: values.image,
      env: environmentOf(services[name]),
      onLine,
    });
    keep(name, child.pid);
    atEnd(() => child.stop(20_000));
    return child;
  };
  const untilHealthy = async (name) => {
    const { test, retries } = services[name].healthcheck;
    const child = await children[name];
    let ended;
    void child.exited.then((exit) => (ended = exit));
    for (let looks = 0; ; looks += 1) {
      signal.throwIfAborted();
      const [, program, ...args] = test.map(here);
      const { exitCode } = await execa(program, args, { reject: false });
      if (exitCode === 0) return;
      if (ended || looks >= retries * 10) throw new Error(`${name} did not become healthy:\n${child.tail()}`);
      await sleep(500);
    }
  };
  const untilEnded = async (child) => {
    const { code } = await child.exited;
    if (code !== 0) throw new Error(`${child.name} ended with code ${code}:\n${child.tail()}`);
  };

  const ours = Object.keys(services).filter(
    (name) => services[name].image === services['baton-worker'].image && !services[name].profiles,
  );
  const healthy = [];
  const start = (name) =>
    (children[name] ??= (async () => {
      for (const [needed, { condition }] of Object.entries(services[name].depends_on ?? {})) {
        // The others are there already, each in its way.
        if (!ours.includes(needed)) continue;
        const child = await start(needed);
        if (condition === 'service_completed_successfully') await untilEnded(child);
        if (condition === 'service_healthy') await untilHealthy(needed);
      }
      signal.throwIfAborted();
      return run(name);
    })());
  for (const name of ours) await start(name);
  for (const name of ours.filter((one) => services[one].healthcheck)) {
    await untilHealthy(name);
    healthy.push(name);
  }

  const cli = async (...args) => {
    const lines = [];
    const child = await run('baton-cli', [...args, '--json'], (line, stream) => {
      if (stream === 'stdout') lines.push(line);
    });
    await untilEnded(child);
    return JSON.parse(lines.join('\n'));
  };
  /** Asks until the answer is so. Each question is a process of its own, which is wait enough. */
  const until = async (what, args, isSo) => {
    const limit = performance.now() + LIMIT_MS;
    for (;;) {
      signal.throwIfAborted();
      const answer = await cli(...args);
      if (isSo(answer)) return answer;
      if (performance.now() > limit)
        throw new Error(`${what}: not so after ${LIMIT_MS} ms: ${JSON.stringify(answer)}`);
    }
  };
  const input = (more) => ['--input', JSON.stringify({ text: TEXT, ...more })];
  const resultOf = async (name) => {
    const ended = await until(`${name} ends`, ['show', name], ({ status }) => status !== 'running');
    return {
      status: ended.status,
      results: Object.fromEntries(ended.slots.map(({ slot, result }) => [slot, result])),
    };
  };

  const { workflowId } = await cli('launch', EXAMPLE, '--run', 'first', ...input());
  const first = { workflowId, ...(await resultOf('first')) };
  const ui = await fetch(`${server.uiUrl}/namespaces/default/workflows`);

  // The lease of the example would keep everybody waiting.
  const shorter = path.join(folder, 'shorter.yaml');
  const example = await readFile(path.join(root, EXAMPLE), 'utf8');
  await writeFile(shorter, example.replace('ttl: 30s', 'ttl: 5s').replace('mode: auto', 'mode: manual'));
  await cli('launch', shorter, '--run', 'second', ...input({ seconds: SECONDS }));
  await until('the host is in the middle of its work', ['artifacts', 'second'], (saved) =>
    saved.some(({ name }) => name === 'words'),
  );
  const host = await children['baton-host'];
  host.kill('SIGKILL');
  await host.exited;
  await until(
    'the lease ends',
    ['show', 'second'],
    ({ slots }) => slots.find(({ slot }) => slot === 'count').state === 'retry-wait',
  );
  await cli('reassign', 'second', 'count', '--class', 'counter', '--reason', 'its host was killed');
  // As the container would be started again.
  children['baton-host'] = run('baton-host');
  await untilHealthy('baton-host');
  const second = {
    ...(await resultOf('second')),
    killed: host.pid,
    attempts: (await cli('attempts', 'second')).filter(({ slot }) => slot === 'count'),
    saved: await cli('artifacts', 'second', 'count'),
  };

  // In the order of `docker compose down`: what others need goes last. Telemetry is sent at the end.
  for (const name of [...ours].reverse()) {
    const { code, signal: killed } = await (await children[name]).stop(20_000);
    if (code !== 0) throw new Error(`${name} ended with code ${code}, signal ${killed}`);
  }
  return {
    ok: first.status === 'succeeded' && second.status === 'succeeded' && ui.ok,
    store: database === null ? 'sqlite' : 'postgres',
    services: ours,
    healthy,
    ui: ui.status,
    first,
    second,
    exports: collector.got,
  };
}

/** `ENTRYPOINT` and `CMD` of the image that is built in the end; of a stage before it they would not count. */
async function readDockerfile() {
  const text = await readFile(path.join(root, 'Dockerfile'), 'utf8');
  const last = text.slice(text.lastIndexOf('\nFROM '));
  const list = (name) => JSON.parse(new RegExp(`^${name} (\\[.*\\])$`, 'm').exec(last)?.[1] ?? '[]');
  return { entrypoint: list('ENTRYPOINT'), cmd: list('CMD') };
}

async function endAll() {
  for (const end of ends.splice(0)) await Promise.resolve(end()).catch((error) => say(String(error)));
}

const interrupt = new AbortController();
const stop = stopSignal();
const stopped = stop.asked.then((signal) => {
  interrupt.abort(new Error(`stopped by ${signal}`));
  throw interrupt.signal.reason;
});
stopped.catch(() => undefined);
const playing = (async () => {
  const compose = parse(await readFile(values.compose, 'utf8'), { merge: true });
  return play(compose, await readDockerfile(), interrupt.signal);
})();
let result;
try {
  result = await Promise.race([playing, stopped]);
} catch (error) {
  result = { ok: false, error: error instanceof Error ? error.message : String(error) };
}
await endAll();
// What was being started when it was stopped is known only now.
await playing.catch(() => undefined);
await endAll();
const left = pids.filter(isAlive);
console.log(JSON.stringify({ ...result, ok: result.ok && left.length === 0, pids, left }, null, 2));
process.exit(result.ok && left.length === 0 ? 0 : 1);
