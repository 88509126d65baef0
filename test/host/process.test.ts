/** Hosts as processes: what a signal does to their leases. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture, startNode } from '../support/processes.js';
import { waitFor } from '../support/wait.js';
import { openLab, oneSpec, quiet, type Lab } from './lab.js';

let lab: Lab;
beforeAll(async () => {
  quiet();
  lab = await openLab();
});
afterAll(() => lab.close());

async function hostProcess(workerClass: string) {
  const { address, storeUrl, taskQueue } = lab;
  const lines: string[] = [];
  const child = await startNode(
    fixture(import.meta.url, 'fixtures/host-process.ts'),
    [JSON.stringify({ address, storeUrl, taskQueue, workerClass })],
    { onLine: (line) => void lines.push(line) },
  );
  return { child, lines };
}

describe('host process', () => {
  it('S13 releases its lease at once on SIGTERM, and no budget is touched', async () => {
    await lab.publish([{ node: 'a' }], oneSpec('term', '60s'));
    const run = await lab.baton.launch({ package: 'job' });
    const { child, lines } = await hostProcess('term');
    await waitFor(() => lines.some((line) => line.startsWith('at work')), { timeoutMs: 60_000 });
    const sent = performance.now();
    child.kill('SIGTERM');
    await waitFor(async () => (await run.attempts())[0]?.worker.status === 'released');
    expect(performance.now() - sent).toBeLessThan(5_000);
    // The store has the end a moment before the run.
    const slot = await waitFor(async () => {
      const shown = await run.slot('a').show();
      return shown.gate === 'open' && shown;
    });
    expect(slot).toMatchObject({
      state: 'retry-wait',
      counts: { claims: 1, releases: 1, failures: 0, losses: 0 },
    });
    await waitFor(() => lines.includes('closed'), { timeoutMs: 15_000 });
    expect(lines).toContain('told StaleLease');
    expect(await child.exited).toMatchObject({ code: 0 });
  });

  it('loses its lease one TTL after SIGKILL, and what it saved is kept', async () => {
    await lab.publish([{ node: 'a' }], oneSpec('kill', '2s'));
    const run = await lab.baton.launch({ package: 'job' });
    const { child, lines } = await hostProcess('kill');
    await waitFor(() => lines.some((line) => line.startsWith('at work')), { timeoutMs: 60_000 });
    child.kill('SIGKILL');
    const killed = Date.now();
    await waitFor(async () => (await run.show()).slots[0]?.state === 'retry-wait');
    // By the server's record: a look may take longer than the lease.
    const { endedAt } = await waitFor(async () => {
      const first = (await run.attempts())[0];
      return first?.worker.status === 'lost' && first.endedAt !== null && first;
    });
    expect(Date.parse(endedAt ?? '') - killed).toBeLessThan(3_500);
    expect((await run.artifactRows()).map(({ step }) => step)).toEqual(['first']);
  });
});
