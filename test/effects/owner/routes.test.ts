/** The kit over HTTP: an owner's middleware, and the worker's side of it. */
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import Database from 'better-sqlite3';
import { afterEach, expect, test } from 'vitest';
import { isAccepted } from '../../../src/effects/outcome.js';
import { BatonError } from '../../../src/domain/errors.js';
import { httpOwner } from '../../../src/effects/http-owner.js';
import { sqliteEngine } from '../../../src/effects/owner/engines.js';
import { effectOwner } from '../../../src/effects/owner/owner.js';
import { effectRoutes, type Middleware } from '../../../src/effects/owner/routes.js';
import type { Json } from '../../../src/store/port.js';
import { authorityOf } from './conformance.js';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function listen(middleware: Middleware, next?: () => void): Promise<string> {
  const server: Server = createServer((request, response) =>
    middleware(
      request,
      response,
      next &&
        (() => {
          next();
          response.end('"next"');
        }),
    ),
  ).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  ends.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function open() {
  const database = new Database(':memory:');
  ends.push(() => database.close());
  database.exec('create table jobs (job text not null, stopped integer not null default 0)');
  const authority = authorityOf();
  const owner = effectOwner({ engine: sqliteEngine(database), authority: authority.check });
  await owner.migrate();
  const count = () => database.prepare('select count(*) from jobs').pluck().get();
  const add = (trx: Database.Database, request: Json): Json => {
    const { job } = request as { job: string };
    if (job === 'forbidden')
      throw BatonError.of('EffectRejected', 'not allowed', {
        failure: { code: 'Forbidden', message: 'no such job' },
      });
    if (job === 'broken') throw new Error('password=hunter2');
    trx.prepare('insert into jobs (job) values (?)').run(job);
    return { job };
  };
  return { database, owner, count, add };
}

const call = (key: string, job: string, authority = 's/1') => ({ authority, key, request: { job } });

test('an effect through the middleware: once, looked up, refused and rejected as the kit says', async () => {
  const { owner, count, add } = await open();
  const errors: unknown[] = [];
  const url = await listen(effectRoutes({ owner, commit: add, onError: (error) => errors.push(error) }));
  const { send, perform, lookup } = httpOwner(`${url}/effects/`);
  expect(await lookup(call('k', 'x'))).toEqual({ state: 'absent' });
  expect(await send(call('k', 'x'))).toEqual({ state: 'committed', receipt: { job: 'x' }, repeated: false });
  expect(await send(call('k', 'x'))).toMatchObject({ repeated: true });
  expect(await lookup(call('k', 'x', 's/2'))).toEqual({ state: 'committed', receipt: { job: 'x' } });
  await expect(send(call('k2', 'y', 's/1'))).rejects.toMatchObject({ code: 'StaleLease' });
  await expect(send(call('k', 'z', 's/2'))).rejects.toMatchObject({ code: 'EffectConflict' });
  expect(await send(call('no', 'forbidden', 's/2'))).toMatchObject({
    state: 'rejected',
    failure: { code: 'Forbidden' },
  });
  // As `ctx.effect` takes them.
  expect(await perform(call('k', 'x', 's/2'))).toEqual({ job: 'x' });
  await expect(perform(call('no', 'forbidden', 's/2'))).rejects.toMatchObject({
    code: 'EffectRejected',
    details: { failure: { code: 'Forbidden', message: 'no such job' } },
  });
  expect(count()).toBe(1);
  await expect(send(call('b', 'broken', 's/2'))).rejects.toMatchObject({
    code: 'Internal',
    message: expect.not.stringContaining('hunter2'),
  });
  expect(errors).toEqual([new Error('password=hunter2')]);
});

test.each([
  ['no object', 200, null],
  ['a 200 with something else', 200, { ok: true }],
  ['a proxy’s own error', 502, { error: 'Bad Gateway' }],
  ['an error with a code alone', 409, { error: { code: 'EffectRejected' } }],
  ['an error of a code that nobody knows', 409, { error: { code: 'Teapot', message: 'short and stout' } }],
])('of an answer that is not the owner’s nothing is believed: %s', async (_what, status, answer) => {
  const url = await listen((_request, response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer)),
  );
  await expect(httpOwner(url).send(call('k', 'x'))).rejects.toThrow(
    new Error(`the effect owner answered ${status} with something else`),
  );
});

test('long-running: accepted, polled, withdrawn', async () => {
  const { owner, add, database } = await open();
  const url = await listen(
    effectRoutes({
      owner,
      path: '/jobs',
      accept: add,
      cancel: (trx, { handle }) =>
        trx.prepare('update jobs set stopped = 1 where job = ?').run((handle as { job: string }).job),
    }),
  );
  const { send, perform, poll, cancel, withdraw } = httpOwner(`${url}/jobs`);
  expect(await send(call('k', 'x'))).toMatchObject({ state: 'accepted', handle: { job: 'x' } });
  expect(await poll(call('k', 'x'))).toMatchObject({ state: 'accepted' });
  const taken = await perform(call('k', 'x'));
  expect(isAccepted(taken) && taken.handle).toEqual({ job: 'x' });
  expect(await cancel(call('k', 'x'))).toMatchObject({ state: 'rejected', failure: { code: 'Cancelled' } });
  expect(await poll(call('k', 'x'))).toMatchObject({ state: 'rejected' });
  expect(await withdraw(call('k', 'x'))).toMatchObject({ state: 'rejected', repeated: true });
  expect(database.prepare('select stopped from jobs').pluck().all()).toEqual([1]);
});

test('what is not its own goes to `next`, and a body that a parser has read is taken', async () => {
  const { owner, add } = await open();
  const routes = effectRoutes({ owner, commit: add });
  let passed = 0;
  const url = await listen(routes, () => (passed += 1));
  for (const path of [
    '/',
    '/effect',
    '/effectsx',
    '/effects/cancel',
    '/effects/withdraw',
    '/effectsconstructor',
    '/effects/toString',
  ])
    expect(await (await fetch(`${url}${path}`, { method: 'POST', body: '{}' })).json(), path).toBe('next');
  expect(passed).toBe(7);
  const parsed = await listen((request, response) => {
    const body = call('k', 'x');
    routes(Object.assign(request, { body, originalUrl: '/effects' }), response);
  });
  expect(await (await fetch(parsed, { method: 'POST' })).json()).toMatchObject({ state: 'committed' });
});

test('malformed requests are refused without a word to the database', async () => {
  const { owner, add, count } = await open();
  const url = await listen(effectRoutes({ owner, commit: add, bodyLimit: 1_000 }));
  const post = async (body: string, path = '/effects', method = 'POST') => {
    const response = await fetch(`${url}${path}`, { method, ...(method === 'GET' ? {} : { body }) });
    return [response.status, ((await response.json()) as { error: { code: string } }).error.code];
  };
  expect(await post('{')).toEqual([400, 'InvalidCommand']);
  expect(await post('{"authority":"s/1","key":"k"}')).toEqual([400, 'InvalidCommand']);
  expect(await post('{"authority":"s/1","key":7,"request":{"job":"x"}}')).toEqual([400, 'InvalidCommand']);
  expect(await post('{"authority":"s/1","key":"k","request":{"job":"x"},"more":1}')).toEqual([
    400,
    'InvalidCommand',
  ]);
  expect(await post(JSON.stringify(call('k', 'x'.repeat(2_000))))).toEqual([413, 'TooLarge']);
  expect(await post(JSON.stringify(call('k', 'x', 'none/1')))).toEqual([403, 'StaleLease']);
  expect(await post('', '/effects', 'GET')).toEqual([405, 'InvalidCommand']);
  expect(await post('{}', '/elsewhere')).toEqual([404, 'InvalidCommand']);
  // No client of ours asks for a path that is no address; a scanner does, and must not end the owner.
  expect(await rawRequest(url, '//')).toContain('404');
  expect(count()).toBe(0);
});

async function rawRequest(url: string, path: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.end(`GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
  return text(socket);
}

test('an owner that answers no HTTP of ours, or nothing, is an unknown outcome and no refusal', async () => {
  const page = await listen((_request, response) => void response.end('<html>'));
  const silent = await listen(() => undefined);
  for (const url of [page, silent, 'http://127.0.0.1:1']) {
    const error = await httpOwner(`${url}/effects`, { timeoutMs: 300 })
      .send(call('k', 'x'))
      .catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toHaveProperty('code', expect.stringMatching(/^(StaleLease|Effect)/));
  }
});

test('an owner does one kind of effect under a path', () => {
  const owner = {} as never;
  const work = (() => null) as never;
  for (const options of [{ owner }, { owner, commit: work, accept: work }])
    expect(() => effectRoutes(options)).toThrow(expect.objectContaining({ code: 'InvalidCommand' }));
});
