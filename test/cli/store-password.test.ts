/** The password of a Postgres store, given in its URL as it has to be, is shown nowhere and kept nowhere. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { expect, it, onTestFinished } from 'vitest';
import { keptOf } from '../support/ciphertext.js';
import { freshDatabase, noPostgres } from '../support/databases.js';
import { documents, spec } from '../support/definitions.js';
import { startNode } from '../support/processes.js';
import { sharedServer } from '../support/server.js';
import { baton, MAIN } from './cli.js';

const PASSWORD = 'pass-that-nobody-may-see';

it.skipIf(noPostgres !== null)(
  `by worker, commands, errors, history and memo${noPostgres === null ? '' : ` (skipped: ${noPostgres})`}`,
  async () => {
    const cwd = await mkdtemp(path.join(os.tmpdir(), 'baton-password-'));
    const { url, drop } = await freshDatabase();
    onTestFinished(async () => {
      await drop();
      await rm(cwd, { recursive: true });
    });
    const store = new URL(url);
    store.password = PASSWORD;
    const { address } = await sharedServer();
    const env = {
      TEMPORAL_ADDRESS: address,
      BATON_TENANT: path.basename(cwd),
      BATON_TASK_QUEUE: path.basename(cwd),
      BATON_ACTOR: 'ada',
      BATON_STORE: store.href,
      BATON_DEBUG: '1',
    };
    const nodes = { a: { launch: [spec({ ttl: '60s' })] } };
    await writeFile(path.join(cwd, 'job.json'), JSON.stringify(documents(nodes, 'job')));
    const seen: string[] = [];
    const run = async (args: readonly string[], more: Readonly<Record<string, string>> = {}) => {
      const { exitCode, stdout, stderr } = await baton(args, { cwd, env: { ...env, ...more } });
      seen.push(stdout, stderr);
      return { exitCode, text: stdout + stderr };
    };

    for (const form of [[], ['--json']]) {
      const worker = await startNode(MAIN, ['worker', ...form], {
        cwd,
        env: { TEMPORAL_CONFIG_FILE: '/nonexistent', ...env },
      });
      // What is shown of the store is the rest of its URL.
      await worker.ready(new RegExp(store.pathname), 60_000);
      if (form.length === 0) expect((await run(['launch', 'job.json', '--run', 'one'])).exitCode).toBe(0);
      for (const args of [['show', 'one'], ['list'], ['audit'], ['doctor', '--json']])
        expect((await run(args)).exitCode, args.join(' ')).toBe(0);
      expect((await run(['claim', 'one', 'b', '--class', 'coder', '--worker', 'w'])).exitCode).toBe(3);
      await worker.stop();
      seen.push(worker.tail());
    }
    const gone = new URL(store.href);
    gone.port = '9';
    const nowhere = await run(['show', 'one'], { BATON_STORE: gone.href });
    expect(nowhere.text).toContain('StoreUnavailable');
    const malformed = await run(['show', 'one'], { BATON_STORE: `${store.href}?poolSize=none` });
    expect(malformed.exitCode).toBe(2);

    const connection = await Connection.connect({ address });
    onTestFinished(() => connection.close());
    const kept = await keptOf(new Client({ connection }), `${env.BATON_TENANT}/one`);
    expect(kept.text).toContain('coder');
    for (const text of [...seen, kept.text]) expect(text).not.toContain(PASSWORD);
  },
  120_000,
);
