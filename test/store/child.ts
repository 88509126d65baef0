/**
 * A process of its own that uses the store, for tests of several processes. Arguments: mode, address, name, and for `collect` the
 * write that it does not come to. It says `ready`, waits for a line on stdin, acts, and prints one JSON object; `collect` does not wait.
 */
import { once } from 'node:events';
import { DefaultQueryExecutor, type CompiledQuery } from 'kysely';
import { openStore } from '../../src/store/open.js';
import { attachment, claimInput, fenceOf } from './inputs.js';

const [mode, url, name, write] = process.argv.slice(2) as [string, string, string, string?];

const code = (error: unknown): string => (error as { code?: string }).code ?? String(error);
const say = (answer: object): void => void process.stdout.write(`${JSON.stringify(answer)}\n`);
const start = async (): Promise<void> => {
  process.stdout.write('ready\n');
  await once(process.stdin, 'data');
};

if (mode === 'open') {
  await start();
  const store = await openStore(url);
  say({ key: Buffer.from(await store.key()).toString('hex') });
  await store.close();
} else if (mode === 'claim') {
  const store = await openStore(url);
  await start();
  try {
    const ref = await store.attempts.claim(claimInput({ claimId: `wf:${name}`, worker: name }));
    await store.attempts.attach({ fence: fenceOf(ref), attachment: attachment(), at: 1 });
    say({ outcome: 'live', epoch: ref.epoch });
  } catch (error) {
    say({ outcome: code(error) });
  }
  await store.close();
} else if (mode === 'put') {
  const store = await openStore(url);
  await start();
  // Other bytes each time: the parent kills this process somewhere in the middle.
  for (let turn = 0; ; turn += 1) {
    const bytes = Buffer.alloc(2_000_000, `${name}.${turn}.`);
    say({ digest: (await store.artifacts.putBytes(bytes)).digest });
  }
} else if (mode === 'collect') {
  const store = await openStore(url);
  if (write !== undefined) dieBefore(Number(write));
  // By a clock that makes everything old.
  const [before, at] = [Date.now() + 86_400_000, Date.now()];
  const counts: number[] = [];
  for (const { run } of await store.retention.runs({ tenant: name, before, after: null, limit: 1_000 })) {
    const { rows } = await store.retention.collect({ tenant: name, run, before, by: 'child', at, batch: 3 });
    counts.push(...Object.values(rows));
  }
  const { bytes } = await store.retention.sweep({ before, at, dryRun: false });
  const sum = (numbers: readonly number[]): number => numbers.reduce((left, right) => left + right, 0);
  say({ rows: sum(counts), objects: sum(bytes.map(({ objects }) => objects)) });
  await store.close();
}

/** SIGKILL in place of this process's nth write from now: its transaction is undone, and files that went stay gone. */
function dieBefore(nth: number): void {
  const executor = DefaultQueryExecutor.prototype;
  const execute = executor.executeQuery;
  let writes = 0;
  executor.executeQuery = function (this: DefaultQueryExecutor, query: CompiledQuery) {
    if (/^\s*(insert|update|delete)/i.test(query.sql) && (writes += 1) === nth)
      process.kill(process.pid, 'SIGKILL');
    return execute.call(this, query);
  } as typeof execute;
}
process.stdin.destroy();
