/**
 * A run with something of everything to see: a slot that succeeded, one that was lost, reassigned and is worked on again with
 * progress, one that waits for a reassign, one on hold, one that waits for its time, one whose effect nobody knows the outcome
 * of. Beside it a run of another tenant, which no query for the first may find.
 */
import { BatonClient, type LaunchedRun } from '../../src/client/client.js';
import { examineServer } from '../../src/client/doctor.js';
import { defineAgent } from '../../src/agent/types.js';
import { openLab } from '../host/lab.js';
import { spec } from '../support/definitions.js';
import { startTestServer } from '../support/server.js';
import { untilSettled } from '../support/steps.js';
import { waitFor } from '../support/wait.js';

export const REASON = 'host-7 went silent; the | second half needs somebody who reads Dutch';
export const HELD = 'the budget is not approved yet';
export const PROGRESS = { read: 'pots', done: 2, of: 5 };

export interface Story {
  readonly uiUrl: string;
  readonly run: LaunchedRun;
  readonly other: LaunchedRun;
  close(): Promise<void>;
}

const one = (workerClass: string, options: { ttl?: string; retry?: Record<string, unknown> } = {}) => ({
  agent: { name: `${workerClass}-agent`, revision: '4' },
  launch: [spec({ classes: [workerClass], ttl: '8h', ...options })],
});
const DOCUMENTS = [
  {
    kind: 'package',
    name: 'market-report',
    outcome: 'A report on one market, published once.',
    workflow: 'market-report',
    binding: 'market-team',
  },
  {
    kind: 'workflow',
    name: 'market-report',
    nodes: [
      { node: 'sources' },
      { node: 'research' },
      { node: 'figures' },
      { node: 'interviews' },
      { node: 'prices', deadline: '30d' },
      { node: 'publish' },
      { node: 'summary', dependsOn: ['research', 'figures'] },
    ],
  },
  {
    kind: 'binding',
    name: 'market-team',
    workflow: 'market-report',
    nodes: {
      sources: one('human'),
      research: {
        agent: { name: 'researcher-agent', revision: '4' },
        launch: [
          spec({ id: 'fast', classes: ['researcher'], ttl: '2s' }),
          spec({ id: 'senior', classes: ['senior-researcher'], dispatch: 'queue', ttl: '60s' }),
        ],
      },
      figures: one('analyst', { ttl: '2s' }),
      interviews: one('human'),
      prices: one('buyer', { retry: { mode: 'auto', backoff: { initial: '1h', max: '1h' } } }),
      publish: one('publisher'),
      summary: one('writer'),
    },
  },
];

export async function tellStory(): Promise<Story> {
  const server = await startTestServer({ ui: true, searchAttributes: false });
  try {
    const lab = await openLab({ address: server.address });
    const uiUrl = server.uiUrl ?? '';
    const clientOf = (tenant: string) =>
      new BatonClient(lab.client, {
        tenant,
        actor: 'ada',
        store: lab.store,
        taskQueue: lab.taskQueue,
        ui: uiUrl,
      });
    const acme = clientOf('acme');
    const globex = clientOf('globex');
    const close = async () => {
      await lab.close();
      await server.stop();
    };
    try {
      await registered(acme);
      const other = await launchOther(globex);
      await acme.publish({ documents: DOCUMENTS });
      const run = await acme.launch({ package: 'market-report', run: 'tea', input: { market: 'tea' } });
      await play(run, lab.store);
      await lab.host([reader]);
      await untilProgress(lab.client, run);
      return { uiUrl, run, other, close };
    } catch (error) {
      await close();
      throw error;
    }
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** As `baton doctor --fix` does on a server that knows none of the search attributes. */
async function registered(client: BatonClient): Promise<void> {
  const checks = await examineServer(client, { fix: true });
  const fixed = checks.find(({ check }) => check === 'search attributes');
  if (fixed?.fixed !== true) throw new Error(`not registered: ${fixed?.message ?? ''}`);
  await waitFor(
    async () =>
      (await examineServer(client, { fix: false })).some(
        ({ check, status }) => check === 'search attributes' && status === 'ok',
      ),
    { what: 'the search attributes to be registered' },
  );
}

async function launchOther(client: BatonClient): Promise<LaunchedRun> {
  const [, workflow, binding] = DOCUMENTS;
  const calm = {
    kind: 'package',
    name: 'stock-list',
    outcome: 'A list.',
    workflow: 'market-report',
    binding: 'market-team',
  };
  await client.publish({ documents: [calm, workflow, binding] });
  return client.launch({ package: 'stock-list', run: 'calm' });
}

async function play(run: LaunchedRun, store: Parameters<typeof openEffect>[0]): Promise<void> {
  const sources = await run.slot('sources').claim({ workerClass: 'human', worker: 'ann' });
  await run.slot('sources').complete(sources.lease.token, { result: { sources: 4 } });
  const prices = await run.slot('prices').claim({ workerClass: 'buyer', worker: 'cleo' });
  await run.slot('prices').fail(prices.lease.token, { code: 'Closed', message: 'the market is closed' });
  const publish = await run.slot('publish').claim({ workerClass: 'publisher', worker: 'press-1' });
  const { attempt, epoch } = publish;
  await openEffect(store, { tenant: run.tenant, run: run.run, slot: 'publish', attempt, epoch });
  await run.slot('publish').fail(publish.lease.token, { code: 'Broken', message: 'the answer was lost' });
  await run.slot('interviews').hold({ reason: HELD });
  await run.slot('research').claim({ workerClass: 'researcher', worker: 'host-7' });
  await run.slot('figures').claim({ workerClass: 'analyst', worker: 'host-8' });
  for (const slot of ['prices', 'publish', 'research', 'figures']) await untilSettled(run, slot);
  await run.slot('research').reassign({ workerClass: 'senior-researcher', reason: REASON });
}

const openEffect = (
  store: Awaited<ReturnType<typeof openLab>>['store'],
  fence: { tenant: string; run: string; slot: string; attempt: string; epoch: number },
) =>
  store.effects.begin({
    fence,
    name: 'publish',
    instance: null,
    key: 'e-publish',
    requestDigest: 'd'.repeat(64),
    at: Date.now(),
  });

/** Speaks once, and works on until it is told to stop. */
const reader = defineAgent({
  workerClass: 'senior-researcher',
  name: 'vera',
  run: (ctx) => {
    ctx.progress(PROGRESS);
    return new Promise((_resolve, reject) =>
      ctx.signal.addEventListener('abort', () => reject(new Error('told to stop'))),
    );
  },
});

/** Well before the first regular beat, which is a third of the TTL away. */
const untilProgress = (client: Awaited<ReturnType<typeof openLab>>['client'], run: LaunchedRun) =>
  waitFor(
    async () => {
      const { raw } = await client.workflow.getHandle(run.workflowId).describe();
      return raw.pendingActivities?.some(({ heartbeatDetails }) => heartbeatDetails != null);
    },
    { timeoutMs: 10_000, what: 'progress of the attempt at work' },
  );
