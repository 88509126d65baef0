/** The visibility queries of the operations guide, asked of a real server: each is valid and finds what it says. */
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { startBaton } from './support/baton.js';
import { documents, spec } from './support/definitions.js';
import { waitFor } from './support/wait.js';

test('the queries of the operations guide find the runs that they are for', async () => {
  const guide = await readFile(new URL('../docs/operations.md', import.meta.url), 'utf8');
  const queries = [...guide.matchAll(/```sql\n(.+)\n```/g)].map(([, query = '']) => query);
  expect(queries).toHaveLength(7);
  const baton = await startBaton();
  const human = (onExhausted: string) =>
    spec({ classes: ['human'], ttl: '60s', retry: { mode: 'auto', failures: 1, onExhausted } });
  const client = baton.as();
  const launch = async (name: string, onExhausted: string) => {
    await client.publish({ documents: documents({ write: { launch: [human(onExhausted)] } }, name) });
    return client.launch({ package: name });
  };
  const waiting = await launch('note', 'wait');
  const failed = await launch('letter', 'fail');
  const { lease } = await failed.slot('write').claim({ workerClass: 'human', worker: 'ann' });
  await failed.slot('write').fail(lease.token, { code: 'Ill', message: 'ann is ill' });
  await failed.result().catch(() => undefined);
  const busy = await launch('note', 'wait');
  await busy.slot('write').claim({ workerClass: 'human', worker: 'bob' });

  const expected = [
    [waiting, busy],
    [waiting],
    [waiting],
    [waiting, busy],
    [waiting, busy],
    [waiting, busy],
    [failed],
  ];
  const found = async (query: string): Promise<string[]> => {
    const mine = `(${query.replace('acme', baton.tenant)}) AND BatonTenant = '${baton.tenant}'`;
    const ids: string[] = [];
    for await (const { workflowId } of baton.temporal.workflow.list({ query: mine })) ids.push(workflowId);
    return ids.sort();
  };
  for (const [index, query] of queries.entries()) {
    const ids = (expected[index] ?? []).map(({ run }) => `${baton.tenant}/${run}`).sort();
    // Visibility is a moment behind.
    await waitFor(async () => JSON.stringify(await found(query)) === JSON.stringify(ids), { what: query });
  }
}, 60_000);
