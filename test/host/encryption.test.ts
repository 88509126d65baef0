/** A user's Worker with payload codecs: what he encrypts in his own workflows is encrypted in Baton's runs too. */
import { randomBytes } from 'node:crypto';
import { Client } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { EncryptionCodec } from '../../examples/encryption/codec.js';
import { defineAgent } from '../../src/agent/types.js';
import { BatonClient } from '../../src/client/client.js';
import { BatonPlugin } from '../../src/host/plugin.js';
import { keptOf } from '../support/ciphertext.js';
import { openLab, oneSpec, quiet, type Lab } from './lab.js';

let lab: Lab;
beforeAll(async () => {
  quiet();
  lab = await openLab({ control: false });
});
afterAll(() => lab.close());

it('runs an agent behind the codecs of the Worker, its failures too', async () => {
  const dataConverter = {
    payloadCodecs: [new EncryptionCodec(`k:${randomBytes(32).toString('base64')}`)],
  };
  const agent = defineAgent({
    workerClass: 'sealed',
    run: async (ctx) => {
      if (ctx.number === 1) throw new Error('w0rd-failure');
      ctx.progress({ done: 1, total: 2, note: 'w0rd-progress' });
      return ctx.step('read', () => Promise.resolve(`${(ctx.input as { say: string }).say}-result`));
    },
  });
  const plugin = new BatonPlugin({ store: lab.storeUrl, agents: [agent], taskQueue: lab.taskQueue });
  const worker = await Worker.create({
    connection: lab.connection,
    taskQueue: `users-${lab.taskQueue}`,
    activities: { mine: () => Promise.resolve('mine') },
    dataConverter,
    plugins: [plugin],
  });
  const client = new Client({ connection: lab.client.connection, dataConverter });
  const baton = new BatonClient(client, {
    tenant: lab.tenant,
    actor: 'ada',
    store: lab.store,
    taskQueue: lab.taskQueue,
  });
  await worker.runUntil(async () => {
    await lab.publish([{ node: 'a' }], oneSpec('sealed', '10s', { mode: 'auto' }));
    const run = await baton.launch({ package: 'job', input: { say: 'w0rd-input' } });
    expect(await run.result()).toEqual({ a: 'w0rd-input-result' });
    const { text, payloads } = await keptOf(lab.client, `${lab.tenant}/${run.run}`);
    expect(payloads.length).toBeGreaterThan(15);
    expect(payloads.filter(({ encoding }) => encoding !== 'binary/encrypted')).toEqual([]);
    expect(text).not.toContain('w0rd');
    // Whoever has no codec is told so, and takes nothing for a result.
    const without = new BatonClient(lab.client, {
      tenant: lab.tenant,
      actor: 'ada',
      store: lab.store,
      taskQueue: lab.taskQueue,
    });
    await expect(without.run(run.run).result()).rejects.toThrow(/encrypted|codec|encoding/i);
  });
  await plugin.close();
});
