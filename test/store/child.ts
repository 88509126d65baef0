/**
 * A process of its own that uses the store, for tests of several processes. Arguments: mode, address, name.
 * It says `ready`, waits for a line on stdin, acts, and prints one JSON object.
 */
import { once } from 'node:events';
import { openStore } from '../../src/store/open.js';
import { attachment, claimInput, fenceOf } from './inputs.js';

const [mode, url, name] = process.argv.slice(2) as [string, string, string];

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
}
process.stdin.destroy();
