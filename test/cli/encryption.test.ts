/**
 * The encryption example, through the command line: control worker, caller and direct holder have the keys; Temporal has not.
 * 1. A whole run works, with a failed attempt, a reassign, a saved artifact and a result.
 * 2. Nothing that was said in it is in what the server keeps, and each payload there is ciphertext; with the codec left out the
 *    same run shows every word, so that the look can fail.
 * 3. Keys rotate under a live run. Without the keys, or with a codec that is none, the error says so and shows no key.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keptOf } from '../support/ciphertext.js';
import { documents, spec } from '../support/definitions.js';
import { startNode } from '../support/processes.js';
import { sharedServer } from '../support/server.js';
import { waitFor } from '../support/wait.js';
import type { Child } from '../../src/server/processes.js';
import { baton, batonJson, MAIN, type CliOptions, type ErrorJson } from './cli.js';

const CODEC = fileURLToPath(new URL('../../dist/examples/encryption/codec.js', import.meta.url));
const key = (id: string) => `${id}:${randomBytes(32).toString('base64')}`;
const OLD = key('old');
const NEW = key('new');
const secretOf = (keys: string): string => keys.slice(4);

/** Said in the run, one for each way that words take. */
const WORDS = ['w0rd-input', 'w0rd-failure', 'w0rd-reason', 'w0rd-result', 'w0rd-note'] as const;
const [INPUT, FAILURE, REASON, RESULT, NOTE] = WORDS;

let cwd: string;
let address: string;
let connection: Connection;
let client: Client;

beforeAll(async () => {
  cwd = await mkdtemp(path.join(os.tmpdir(), 'baton-codec-'));
  ({ address } = await sharedServer());
  connection = await Connection.connect({ address });
  client = new Client({ connection });
  const launch = [
    spec({ id: 'first', classes: ['coder'], ttl: '60s' }),
    spec({ id: 'second', classes: ['senior'], ttl: '60s' }),
  ];
  await writeFile(path.join(cwd, 'job.json'), JSON.stringify(documents({ a: { launch } }, 'job')));
  await writeFile(path.join(cwd, 'note.txt'), NOTE);
  await writeFile(path.join(cwd, 'no-codec.mjs'), 'export const payloadCodecs = [{ encode() {} }];\n');
});
afterAll(async () => {
  await connection.close();
  await rm(cwd, { recursive: true, force: true });
});

const optionsOf = (tenant: string, keys?: string): CliOptions => ({
  cwd,
  env: {
    TEMPORAL_ADDRESS: address,
    BATON_TENANT: tenant,
    BATON_TASK_QUEUE: `${path.basename(cwd)}-${tenant}`,
    BATON_STORE: `sqlite:${path.join(cwd, `${tenant}.db`)}`,
    BATON_ACTOR: 'ada',
    ...(keys === undefined ? {} : { BATON_CODEC: CODEC, ENCRYPTION_KEYS: keys }),
  },
});

async function startControl(options: CliOptions): Promise<Child> {
  const worker = await startNode(MAIN, ['worker', '--json'], {
    cwd,
    env: { TEMPORAL_CONFIG_FILE: '/nonexistent', ...options.env },
  });
  await worker.ready('json', 60_000);
  return worker;
}

async function run(args: readonly string[], options: CliOptions): Promise<Record<string, unknown>> {
  const { exitCode, json } = await batonJson<Record<string, unknown>>(args, options);
  expect(json).not.toHaveProperty('error');
  expect(exitCode).toBe(0);
  return json;
}

async function claim(workerClass: string, options: CliOptions): Promise<string> {
  const claimed = await run(['claim', 'one', 'a', '--class', workerClass, '--worker', 'w'], options);
  return (claimed as { lease: { token: string } }).lease.token;
}

async function untilReassigned(options: CliOptions): Promise<void> {
  await run(['launch', 'job.json', '--run', 'one', '--input', JSON.stringify({ say: INPUT })], options);
  const lease = await claim('coder', options);
  await run(
    ['save', 'one', 'a', 'note.txt', '--lease', lease, '--kind', 'source', '--name', 'note'],
    options,
  );
  await run(['fail', 'one', 'a', '--lease', lease, '--code', 'Odd', '--message', FAILURE], options);
  await run(['reassign', 'one', 'a', '--class', 'senior', '--reason', REASON], options);
}

async function untilResult(options: CliOptions): Promise<void> {
  const lease = await claim('senior', options);
  await run(['complete', 'one', 'a', '--lease', lease, '--result', JSON.stringify(RESULT)], options);
  const shown = await run(['show', 'one'], options);
  expect(shown).toMatchObject({ status: 'succeeded' });
}

describe('the encryption example', () => {
  it.each([
    ['hides every word of a run from the server', 'sealed', OLD],
    ['is what hides them: without it they are seen', 'clear', undefined],
  ])(
    '%s',
    async (_what, tenant, keys) => {
      const options = optionsOf(tenant, keys);
      const worker = await startControl(options);
      await untilReassigned(options);
      await untilResult(options);
      const kept = await keptOf(client, `${tenant}/one`);
      expect(kept.payloads.length).toBeGreaterThan(20);
      const inClear = kept.payloads.filter(({ encoding }) => encoding !== 'binary/encrypted');
      const seen = WORDS.filter((word) => kept.text.includes(word));
      // Input, results and artifacts are in the store; Temporal has their digests.
      if (keys === undefined) expect(seen).toEqual([FAILURE, REASON]);
      else expect({ inClear, seen }).toEqual({ inClear: [], seen: [] });
      expect(kept.text + worker.tail()).not.toContain(secretOf(OLD));
    },
    120_000,
  );

  it('goes on with a live run when the key is rotated, but not without the old one', async () => {
    const tenant = 'rotated';
    let worker = await startControl(optionsOf(tenant, OLD));
    await untilReassigned(optionsOf(tenant, OLD));
    await worker.stop();
    // A worker without the old key cannot go on, says why, and harms nothing.
    worker = await startControl(optionsOf(tenant, NEW));
    const asked = baton(['show', 'one'], optionsOf(tenant, NEW));
    await waitFor(() => worker.tail().includes("no encryption key 'old'"));
    await asked;
    await worker.stop();
    expect(worker.tail()).not.toContain(secretOf(NEW));

    const both = optionsOf(tenant, `${NEW},${OLD}`);
    worker = await startControl(both);
    await untilResult(both);
    const kept = await keptOf(client, `${tenant}/one`);
    expect(kept.payloads.filter(({ encoding }) => encoding !== 'binary/encrypted')).toEqual([]);
  }, 120_000);

  it.each([
    ['a module that is not there', { BATON_CODEC: './nowhere.mjs' }, 'nowhere.mjs'],
    ['a module without codecs', { BATON_CODEC: './no-codec.mjs' }, 'does not export `payloadCodecs`'],
    ['keys that are not set', { ENCRYPTION_KEYS: '' }, 'ENCRYPTION_KEYS is not set'],
    ['a key that is too short', { ENCRYPTION_KEYS: 'id:c2VjcmV0LWJ1dC1zaG9ydA==' }, "key 'id' is not"],
  ])('%s is wrong usage that shows no key', async (_what, change, said) => {
    const options = optionsOf('sealed', OLD);
    const { exitCode, json } = await batonJson<ErrorJson>(['list'], {
      ...options,
      env: { ...options.env, ...change },
    });
    expect(exitCode).toBe(2);
    expect(json.error).toMatchObject({ code: 'InvalidCommand', details: { field: 'codec' } });
    expect(json.error.message).toContain(said);
    expect(JSON.stringify(json)).not.toContain('c2VjcmV0');
  });
});
