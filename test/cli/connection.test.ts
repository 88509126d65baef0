/**
 * The command line against a server that takes TLS with client certificates and an API key only.
 * 1. Given by flags, by environment and by a profile of Temporal's configuration file, a whole run works: control worker
 *    (native connection), launch, claim, complete (gRPC in Node).
 * 2. Without the certificate, with a wrong key, or under another server name nothing passes.
 * 3. What is refused names the problem and shows no secret, and Temporal keeps neither the key nor a lease's token.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keptOf } from '../support/ciphertext.js';
import { documents, spec } from '../support/definitions.js';
import { startNode } from '../support/processes.js';
import { sharedServer } from '../support/server.js';
import { makeCertificates, startTlsProxy, type Certificates, type TlsProxy } from '../support/tls-proxy.js';
import { baton, batonJson, MAIN, type ErrorJson } from './cli.js';

const KEY = 'key-that-nobody-may-see';
let cwd: string;
let certificates: Certificates;
let proxy: TlsProxy;
/** Past the proxy, to read what the server has. */
let direct: Client;
let variables: Record<string, string>;
let flags: string[];

beforeAll(async () => {
  cwd = await mkdtemp(path.join(os.tmpdir(), 'baton-tls-'));
  certificates = await makeCertificates(cwd, 'temporal.test');
  const { address } = await sharedServer();
  direct = new Client({ connection: await Connection.connect({ address }) });
  proxy = await startTlsProxy(address, certificates, { clients: true, apiKey: KEY });
  const { ca, clientCert, clientKey, serverName } = certificates;
  variables = {
    TEMPORAL_ADDRESS: proxy.address,
    TEMPORAL_API_KEY: KEY,
    TEMPORAL_TLS_CLIENT_CERT_PATH: clientCert,
    TEMPORAL_TLS_CLIENT_KEY_PATH: clientKey,
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: ca,
    TEMPORAL_TLS_SERVER_NAME: serverName,
  };
  flags = [
    ...['--address', proxy.address, '--api-key', KEY, '--tls-ca-path', ca, '--tls-server-name', serverName],
    ...['--tls-cert-path', clientCert, '--tls-key-path', clientKey],
  ];
  const profile = [
    '[profile.cloud]',
    `address = "${proxy.address}"`,
    `api_key = "${KEY}"`,
    '[profile.cloud.tls]',
    `client_cert_path = "${clientCert}"`,
    `client_key_path = "${clientKey}"`,
    `server_ca_cert_path = "${ca}"`,
    `server_name = "${serverName}"`,
  ];
  await writeFile(path.join(cwd, 'temporal.toml'), profile.join('\n'));
  const nodes = { a: { launch: [spec({ ttl: '60s' })] } };
  await writeFile(path.join(cwd, 'job.json'), JSON.stringify(documents(nodes, 'job')));
});
afterAll(async () => {
  await direct.connection.close();
  await proxy.stop();
  await rm(cwd, { recursive: true, force: true });
});

const ways = (): Record<string, { args: string[]; env: Record<string, string> }> => ({
  flags: { args: flags, env: {} },
  environment: { args: [], env: variables },
  profile: {
    args: ['--profile', 'cloud'],
    env: { TEMPORAL_CONFIG_FILE: path.join(cwd, 'temporal.toml') },
  },
  'config file': {
    args: ['--profile', 'cloud', '--config-file', path.join(cwd, 'temporal.toml'), '--tls'],
    env: { TEMPORAL_TLS: 'false' },
  },
});

describe('TLS with a client certificate and an API key', () => {
  it.each(['flags', 'environment', 'profile', 'config file'])(
    'works by %s, from launch to result',
    async (way) => {
      const { args, env } = ways()[way]!;
      const tenant = `tls-${way.replace(' ', '-')}`;
      const mine = {
        BATON_TENANT: tenant,
        BATON_TASK_QUEUE: `${path.basename(cwd)}-${tenant}`,
        BATON_ACTOR: 'ada',
      };
      const options = { cwd, env: { ...env, ...mine } };
      const before = proxy.passed;
      const worker = await startNode(MAIN, ['worker', '--json', ...args], {
        cwd,
        env: { TEMPORAL_CONFIG_FILE: '/nonexistent', ...options.env },
      });
      const ready = JSON.parse(await worker.ready('json', 60_000)) as { address: string };
      expect(ready.address).toBe(proxy.address);
      expect((await baton(['launch', 'job.json', '--run', 'one', ...args], options)).exitCode).toBe(0);
      const claim = await batonJson<{ lease: { token: string } }>(
        ['claim', 'one', 'a', '--class', 'coder', '--worker', 'w', ...args],
        options,
      );
      expect(claim.exitCode).toBe(0);
      const done = ['complete', 'one', 'a', '--lease', claim.json.lease.token, '--result', '1', ...args];
      expect((await baton(done, options)).exitCode).toBe(0);
      const doctor = await batonJson<{ checks: { check: string; message: string }[] }>(
        ['doctor', ...args],
        options,
      );
      expect(doctor.json.checks.find(({ check }) => check === 'server')?.message).toBe(
        `${proxy.address} (TLS with a client certificate, API key)`,
      );
      const { text } = await keptOf(direct, `${tenant}/one`);
      expect(text).toContain('coder');
      for (const secret of [KEY, claim.json.lease.token]) {
        expect(text).not.toContain(secret);
        expect(JSON.stringify(doctor.json) + worker.tail()).not.toContain(secret);
      }
      expect(proxy.passed).toBeGreaterThan(before + 5);
    },
  );

  it.each([
    ['without the certificate', { TEMPORAL_TLS_CLIENT_CERT_PATH: '', TEMPORAL_TLS_CLIENT_KEY_PATH: '' }],
    ['with another key', { TEMPORAL_API_KEY: 'wrong-but-secret' }],
    ['under another server name', { TEMPORAL_TLS_SERVER_NAME: 'other.test' }],
    ['without the authority', { TEMPORAL_TLS_SERVER_CA_CERT_PATH: '' }],
    ['without TLS', { TEMPORAL_TLS: 'false' }],
    ['without TLS, by flag', {}, ['--no-tls']],
  ])('nothing passes %s', async (_what, change, flag: readonly string[] = []) => {
    const before = proxy.passed;
    const options = { cwd, env: { ...variables, ...change } };
    const found = await batonJson<{ ok: boolean }>(['doctor', ...flag], options);
    expect(found.exitCode).toBe(1);
    expect(found.json.ok).toBe(false);
    const { exitCode, stdout, stderr } = await baton(['launch', 'job.json', '--json', ...flag], {
      ...options,
      env: { ...options.env, BATON_DEBUG: '1' },
    });
    expect((JSON.parse(stdout) as ErrorJson).error.code).toBe('TemporalUnavailable');
    expect(exitCode).toBe(1);
    expect(stdout + stderr).not.toContain(KEY);
    expect(stdout + stderr).not.toContain('wrong-but-secret');
    expect(proxy.passed).toBe(before);
  });

  it.each([
    ['a certificate without its key', { TEMPORAL_TLS_CLIENT_KEY_PATH: '' }, 'key is missing'],
    [
      'a certificate that is not there',
      { TEMPORAL_TLS_CLIENT_CERT_PATH: '/nonexistent.pem' },
      'nonexistent.pem',
    ],
  ])('%s is wrong usage', async (_what, change, said) => {
    const { exitCode, json } = await batonJson<ErrorJson>(['launch', 'job.json'], {
      cwd,
      env: { ...variables, ...change },
    });
    expect(exitCode).toBe(2);
    expect(json.error.message).toContain(said);
    expect(JSON.stringify(json)).not.toContain(KEY);
  });
});
