/**
 * The visibility queries of the operations guide, asked of a real server: each is valid and finds what it says. The README's
 * saved queries are among them.
 */
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import type { LaunchedRun } from '../src/client/client.js';
import { startBaton } from './support/baton.js';
import { documents, spec } from './support/definitions.js';
import { savedQueries } from './support/saved-queries.js';
import { waitFor } from './support/wait.js';

const guide = await readFile(new URL('../docs/operations.md', import.meta.url), 'utf8');
const queries = [...guide.matchAll(/```sql\n(.+)\n```/g)].map(([, query = '']) => query);

test('the saved queries of the README are those of the operations guide', async () => {
  const saved = await savedQueries();
  expect(saved).toHaveLength(6);
  for (const query of saved) expect(queries).toContain(query);
});

test('the queries of the operations guide find the runs that they are for', async () => {
  const baton = await startBaton();
  const human = (onExhausted: string) =>
    spec({ classes: ['human'], ttl: '60s', retry: { mode: 'auto', failures: 1, onExhausted } });
  const client = baton.as();
  const launch = async (name: string, onExhausted = 'wait') => {
    await client.publish({ documents: documents({ write: { launch: [human(onExhausted)] } }, name) });
    return client.launch({ package: name });
  };
  const fails = async (
    run: LaunchedRun,
    meanwhile?: (epoch: number, attempt: string) => Promise<unknown>,
  ) => {
    const { lease, epoch, attempt } = await run.slot('write').claim({ workerClass: 'human', worker: 'ann' });
    await meanwhile?.(epoch, attempt);
    await run.slot('write').fail(lease.token, { code: 'Ill', message: 'ann is ill' });
  };
  const waiting = await launch('market-report');
  const failed = await launch('letter', 'fail');
  await fails(failed);
  await failed.result().catch(() => undefined);
  const busy = await launch('market-report');
  await busy.slot('write').claim({ workerClass: 'human', worker: 'bob' });
  const exhausted = await launch('memo');
  await fails(exhausted);
  const held = await launch('memo');
  await held.slot('write').hold({ reason: 'not yet' });
  const paid = await launch('memo');
  await fails(paid, (epoch, attempt) => {
    const fence = { tenant: baton.tenant, run: paid.run, slot: 'write', attempt, epoch };
    const effect = { name: 'pay', instance: null, key: 'e-pay', requestDigest: 'd'.repeat(64) };
    return baton.store.effects.begin({ fence, ...effect, at: Date.now() });
  });
  // Temporal leaves the attributes of a run that it ends as they are.
  const gone = [await launch('memo'), await launch('memo')] as const;
  await gone[0].slot('write').hold({ reason: 'not yet' });
  await fails(gone[1]);
  const handles = gone.map(({ workflowId }) => baton.temporal.workflow.getHandle(workflowId));
  for (const [index, mark] of ['release-hold', 'reassign'].entries()) {
    await waitFor(async () =>
      (await handles[index]?.describe())?.searchAttributes['BatonWaiting']?.some((value) => value === mark),
    );
    await handles[index]?.terminate('no longer needed');
  }

  const running = [waiting, busy, exhausted, held, paid];
  const expected = [
    running,
    [waiting, exhausted, held, paid],
    [exhausted, paid],
    [held],
    [paid],
    [waiting, exhausted, paid, gone[1]],
    [waiting, busy],
    [waiting, busy],
    running,
    [failed],
  ];
  expect(queries).toHaveLength(expected.length);
  const found = async (query: string): Promise<string[]> => {
    const mine = `(${query.replace('acme', baton.tenant)}) AND BatonTenant = '${baton.tenant}'`;
    const ids: string[] = [];
    for await (const { workflowId } of baton.temporal.workflow.list({ query: mine })) ids.push(workflowId);
    return ids.sort();
  };
  for (const [index, query] of queries.entries()) {
    const ids = (expected[index] ?? []).map(({ workflowId }) => workflowId).sort();
    // Visibility is a moment behind.
    await waitFor(async () => JSON.stringify(await found(query)) === JSON.stringify(ids), { what: query });
  }
}, 90_000);
