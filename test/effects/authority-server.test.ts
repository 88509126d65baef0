/** The authority check over HTTP: what the endpoint answers to whom, and what its client believes. */
import { createServer, type RequestListener } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { BatonError } from '../../src/domain/errors.js';
import { startAuthorityServer } from '../../src/effects/authority-server.js';
import type { AuthorityCheck } from '../../src/effects/check.js';
import { httpAuthority } from '../../src/effects/http-authority.js';
import { authorityToken } from '../../src/effects/token.js';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const fence = { tenant: 't', run: 'r', slot: 's', attempt: 'a', epoch: 1 };
const token = authorityToken(Buffer.alloc(32, 1), fence);
const code = (expected: string) => expect.objectContaining({ code: expected });

async function serve(check: AuthorityCheck) {
  const server = await startAuthorityServer({ check, port: 0 });
  ends.push(() => server.close());
  return server;
}

/** A server that is no authority check. */
async function serveOther(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  ends.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const post = async (url: string, body: string | Uint8Array, method = 'POST', path = '/authority') => {
  const response = await fetch(`${url}${path}`, { method, ...(method === 'GET' ? {} : { body }) });
  return { status: response.status, body: (await response.json()) as { error?: { code: string } } };
};

test('yes, no and cannot tell are 200, 403 and 503, and come through as they are', async () => {
  const says: { error: BatonError | null; purposes: unknown[] } = { error: null, purposes: [] };
  const { url } = await serve(async (_token, options) => {
    says.purposes.push(options?.purpose);
    if (says.error) throw says.error;
    return fence;
  });
  const check = httpAuthority(url);
  // What is unsettled is asked again until then.
  const hasty = httpAuthority(url, { timeoutMs: 500 });
  expect(await check(token)).toEqual(fence);
  expect(await check(token, { purpose: 'withdraw' })).toEqual(fence);
  expect(says.purposes).toEqual(['act', 'withdraw']);
  expect(await post(url, JSON.stringify({ token }))).toEqual({ status: 200, body: { fence } });
  says.error = BatonError.of('StaleLease', 'the lease is expired', { attempt: 'a' });
  expect((await post(url, JSON.stringify({ token }))).status).toBe(403);
  await expect(check(token)).rejects.toMatchObject({ code: 'StaleLease', details: { attempt: 'a' } });
  says.error = BatonError.of('AuthorityUnsettled', 'the run rolls over');
  expect((await post(url, JSON.stringify({ token }))).status).toBe(503);
  await expect(hasty(token)).rejects.toThrow(code('AuthorityUnsettled'));
  says.error = BatonError.of('StoreUnavailable', 'locked');
  expect((await post(url, JSON.stringify({ token }))).status).toBe(503);
  await expect(hasty(token)).rejects.toThrow(code('AuthorityUnsettled'));
});

test('what is unsettled is asked again until it is told', async () => {
  let asked = 0;
  const { url } = await serve(async () => {
    asked += 1;
    if (asked < 4) throw BatonError.of('AuthorityUnsettled', 'the run rolls over');
    return fence;
  });
  expect(await httpAuthority(url)(token)).toEqual(fence);
  expect(asked).toBe(4);
});

test('an error that is none of ours tells nothing of itself', async () => {
  const { url } = await serve(async () => {
    throw new Error('password=hunter2');
  });
  const answer = await post(url, JSON.stringify({ token }));
  expect(answer.status).toBe(500);
  expect(JSON.stringify(answer)).not.toContain('hunter2');
  await expect(httpAuthority(url)(token)).rejects.toThrow(code('Internal'));
});

test('malformed requests are refused, and the server goes on', async () => {
  const { url } = await serve(async () => fence);
  const cases: [number, string, string | Uint8Array, string?, string?][] = [
    [400, 'InvalidCommand', ''],
    [400, 'InvalidCommand', '{'],
    [400, 'InvalidCommand', '[]'],
    [400, 'InvalidCommand', 'null'],
    [400, 'InvalidCommand', Buffer.from([0xff, 0xfe])],
    [400, 'InvalidCommand', '{"token":7}'],
    [400, 'InvalidCommand', JSON.stringify({ token, purpose: 'steal' })],
    [400, 'InvalidCommand', JSON.stringify({ token, more: 1 })],
    [413, 'TooLarge', JSON.stringify({ token: 'x'.repeat(100_000) })],
    [404, 'InvalidCommand', '{}', 'POST', '/elsewhere'],
    [404, 'InvalidCommand', '{}', 'POST', '/authority/../x'],
    [405, 'InvalidCommand', '', 'GET'],
    [405, 'InvalidCommand', '{}', 'PUT'],
  ];
  for (const [status, expected, body, method, path] of cases) {
    const answer = await post(url, body, method, path);
    expect([answer.status, answer.body.error?.code], String(body).slice(0, 40)).toEqual([status, expected]);
  }
  expect(await post(url, '', 'GET', '/health')).toEqual({ status: 200, body: { ok: true } });
});

test('a caller that sends no end of its request is cut off and holds nobody up', async () => {
  const server = await startAuthorityServer({ check: async () => fence, port: 0 });
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write('POST /authority HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"tok');
  expect((await post(server.url, JSON.stringify({ token }))).status).toBe(200);
  await server.close();
  socket.destroy();
});

test('closing answers those who wait that it cannot be told', async () => {
  let started: () => void = () => undefined;
  const waiting = new Promise<void>((resolve) => (started = resolve));
  const server = await startAuthorityServer({
    port: 0,
    check: (_token, options) => {
      started();
      return new Promise((_resolve, reject) =>
        options?.signal?.addEventListener('abort', () =>
          reject(BatonError.of('AuthorityUnsettled', 'closing')),
        ),
      );
    },
  });
  const asked = post(server.url, JSON.stringify({ token }));
  await waiting;
  await server.close();
  expect((await asked).status).toBe(503);
  await expect(httpAuthority(server.url, { timeoutMs: 300 })(token)).rejects.toThrow(
    code('AuthorityUnsettled'),
  );
});

test('a port that is taken is told', async () => {
  const { url } = await serve(async () => fence);
  const port = Number(new URL(url).port);
  await expect(startAuthorityServer({ check: async () => fence, port })).rejects.toThrow(
    code('InvalidCommand'),
  );
});

test.each<[string, RequestListener]>([
  [
    'a 200 about another fence',
    (_, response) => response.end(JSON.stringify({ fence: { ...fence, epoch: 2 } })),
  ],
  ['a 200 with something else', (_, response) => response.end(JSON.stringify({ ok: true }))],
  ['a page of a proxy', (_, response) => response.end('<html>Welcome</html>')],
  ['a redirect', (_, response) => response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end()],
  ['a server that hangs', () => undefined],
  ['a server that hangs up', (request) => request.socket.destroy()],
])('is no yes: %s', async (_what, listener) => {
  const check = httpAuthority(await serveOther(listener), { timeoutMs: 400 });
  await expect(check(token)).rejects.toThrow(code('AuthorityUnsettled'));
});

test('a caller’s own signal ends the asking, and an address or token that is none is refused at once', async () => {
  const url = await serveOther(() => undefined);
  const check = httpAuthority(url);
  await expect(check(token, { signal: AbortSignal.timeout(100) })).rejects.toThrow(
    code('AuthorityUnsettled'),
  );
  await expect(check('nonsense')).rejects.toThrow(code('InvalidCommand'));
  for (const address of ['', 'nowhere', 'ftp://x/', 'file:///etc/passwd'])
    expect(() => httpAuthority(address)).toThrow(code('InvalidCommand'));
});
