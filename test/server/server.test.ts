import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connect, loadConnection } from '../../src/server/connect.js';
import { ensureServer, type TemporalServer } from '../../src/server/find.js';
import { isAlive } from '../../src/server/processes.js';
import { fixture, startNode } from '../support/processes.js';
import { sharedServer, startTestServer, temporalCli } from '../support/server.js';
import { waitFor } from '../support/wait.js';

let folder: string;
const cleanup: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'baton-server-'));
  cleanup.push(() => rm(folder, { recursive: true, force: true }));
});
afterEach(async () => {
  for (const step of cleanup.splice(0).reverse()) await step();
});

/** An environment without the developer's own Temporal configuration. */
async function environment(extra: NodeJS.ProcessEnv = {}): Promise<NodeJS.ProcessEnv> {
  return { PATH: process.env['PATH'], HOME: folder, BATON_TEMPORAL_CLI: await temporalCli(), ...extra };
}

async function owned(options: Parameters<typeof ensureServer>[0] = {}): Promise<TemporalServer> {
  const server = await ensureServer({
    preferExisting: false,
    ui: false,
    env: await environment(),
    ...options,
  });
  cleanup.push(() => server.stop());
  return server;
}

describe('a server of our own', () => {
  it('is started with UI and search attributes that a workflow can use at once, and is stopped', async () => {
    const progress: string[] = [];
    const server = await owned({ ui: true, onProgress: (line) => progress.push(line) });
    expect(server).toMatchObject({ owned: true, address: expect.stringMatching(/^127\.0\.0\.1:\d+$/) });
    expect(progress).toContain('Starting a Temporal server …');
    expect((await fetch(server.uiUrl as string)).ok).toBe(true);

    const { client, ...own } = await connect({ address: server.address, env: {} });
    cleanup.push(() => own.close());
    await client.workflow.start('nobodyRunsThis', {
      taskQueue: 'none',
      workflowId: 'w',
      searchAttributes: {
        BatonTenant: ['acme'],
        BatonStatus: ['running'],
        BatonWaiting: ['a:coder', 'b:coder'],
      },
    });
    await waitFor(
      async () =>
        (await client.workflow.count(`BatonWaiting = 'b:coder' AND BatonTenant = 'acme'`)).count === 1,
    );

    await server.stop();
    expect(isAlive(server.pid as number)).toBe(false);
    expect(await server.exited).toMatchObject({ signal: null });
    await expect(connect({ address: server.address, env: {} })).rejects.toMatchObject({
      code: 'TemporalUnavailable',
    });
  });

  it('keeps its state in a data file over a kill and a restart on the same port', async () => {
    const server = await startTestServer({ dataFile: path.join(folder, 'temporal.db') });
    cleanup.push(() => server.stop());
    const before = server.pid;
    const first = await connect({ address: server.address, env: {} });
    cleanup.push(() => first.close());
    await first.client.workflow.start('nobodyRunsThis', { taskQueue: 'none', workflowId: 'kept' });
    await server.kill();
    expect(isAlive(before)).toBe(false);
    await server.restart();
    expect(server.pid).not.toBe(before);
    // The client that was there before reconnects by itself.
    const description = await waitFor(() => first.client.workflow.getHandle('kept').describe());
    expect(description.status.name).toBe('RUNNING');
    expect((await stat(path.join(folder, 'temporal.db'))).size).toBeGreaterThan(0);
  });

  it('does not outlive an owner that is SIGKILLed', async () => {
    const owner = await startNode(fixture(import.meta.url, 'fixtures/server-owner.ts'), [], {
      env: await environment(),
    });
    const { address, pid } = JSON.parse(await owner.ready('json', 60_000)) as {
      address: string;
      pid: number;
    };
    expect(isAlive(pid)).toBe(true);
    owner.kill('SIGKILL');
    await owner.exited;
    await waitFor(() => !isAlive(pid), { what: 'the end of the server', timeoutMs: 5_000 });
    await expect(connect({ address, env: {} })).rejects.toMatchObject({ code: 'TemporalUnavailable' });
  });

  it('says which port is taken when the port was asked for', async () => {
    const { port } = await listen();
    await expect(owned({ port })).rejects.toMatchObject({
      code: 'TemporalUnavailable',
      message: expect.stringMatching(new RegExp(`Port ${port}.*is taken`)),
    });
  });
});

describe('a server that is there', () => {
  it('is used when it is configured, by argument or environment, and is not ours to stop', async () => {
    const { address } = await sharedServer();
    for (const options of [{ address }, { env: await environment({ TEMPORAL_ADDRESS: address }) }]) {
      const server = await ensureServer(options);
      expect(server).toMatchObject({ address, owned: false, pid: null });
      await server.stop();
      await server.kill();
    }
    await (await connect({ address })).close();
  });

  it('is not replaced silently when it is configured and does not answer', async () => {
    const { port, close } = await listen();
    await close();
    const address = `127.0.0.1:${port}`;
    const begun = performance.now();
    for (const options of [
      { address, env: await environment() },
      { env: await environment({ TEMPORAL_ADDRESS: address }) },
      { env: await environment({ TEMPORAL_CONFIG_FILE: await configFile(address) }) },
    ]) {
      await expect(ensureServer(options)).rejects.toMatchObject({
        code: 'TemporalUnavailable',
        message: expect.stringContaining(address),
        details: { address },
      });
    }
    expect(performance.now() - begun).toBeLessThan(3_000);
  });

  it('is given up after a bounded time when it takes connections and says nothing', async () => {
    const { port } = await listen();
    const begun = performance.now();
    await expect(connect({ address: `127.0.0.1:${port}`, env: {} })).rejects.toMatchObject({
      code: 'TemporalUnavailable',
    });
    expect(performance.now() - begun).toBeLessThan(5_000);
  });
});

describe('configuration', () => {
  it('comes from arguments, then environment, then file, then defaults', async () => {
    const TEMPORAL_CONFIG_FILE = await configFile('file.example:1');
    const none = { HOME: folder, TEMPORAL_CONFIG_FILE: path.join(folder, 'absent.toml') };
    expect(loadConnection({ env: none })).toMatchObject({
      address: '127.0.0.1:7233',
      namespace: 'default',
      configured: false,
    });
    expect(loadConnection({ env: { TEMPORAL_CONFIG_FILE } })).toMatchObject({
      address: 'file.example:1',
      namespace: 'of-file',
      configured: true,
      options: { address: 'file.example:1', apiKey: 'secret', tls: true },
    });
    const env = { TEMPORAL_CONFIG_FILE, TEMPORAL_ADDRESS: 'env.example:2', TEMPORAL_NAMESPACE: 'of-env' };
    expect(loadConnection({ env })).toMatchObject({ address: 'env.example:2', namespace: 'of-env' });
    expect(loadConnection({ env, address: 'arg.example:3', namespace: 'of-arg' })).toMatchObject({
      address: 'arg.example:3',
      namespace: 'of-arg',
    });
    expect(loadConnection({ env: { TEMPORAL_CONFIG_FILE }, profile: 'other' })).toMatchObject({
      address: 'other.example:4',
    });
  });

  it('of a file without profiles is no configuration', async () => {
    const empty = path.join(folder, 'empty.toml');
    await writeFile(empty, '');
    const env = { TEMPORAL_CONFIG_FILE: empty, TEMPORAL_NAMESPACE: 'of-env' };
    expect(loadConnection({ env })).toMatchObject({
      address: '127.0.0.1:7233',
      namespace: 'of-env',
      configured: false,
    });
  });

  it('is refused with the field when it cannot be read', async () => {
    const broken = path.join(folder, 'broken.toml');
    await writeFile(broken, 'not toml = = =');
    expect(() => loadConnection({ env: { TEMPORAL_CONFIG_FILE: broken } })).toThrow(
      /Temporal's configuration cannot be read/,
    );
    expect(() => loadConnection({ address: 'http://x:1', env: {} })).toThrow(/address is not host:port/);
    expect(() => loadConnection({ profile: 'none', env: { HOME: folder } })).toThrow(/profile=none/);
  });
});

async function configFile(address: string): Promise<string> {
  const file = path.join(folder, 'temporal.toml');
  await writeFile(
    file,
    `[profile.default]\naddress = "${address}"\nnamespace = "of-file"\napi_key = "secret"\n[profile.other]\naddress = "other.example:4"\n`,
  );
  return file;
}

/** A port that takes connections and never says anything. */
async function listen(): Promise<{ port: number; close: () => Promise<void> }> {
  const sockets = new Set<net.Socket>();
  const silent = net.createServer((socket) => void sockets.add(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      for (const socket of sockets) socket.destroy();
      silent.close(() => resolve());
    });
  cleanup.push(close);
  return { port: (silent.address() as net.AddressInfo).port, close };
}
