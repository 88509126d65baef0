/** What the crash explorer refuses, before it starts a server. */
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readAll, planFor } from '../../src/testing/crash/plan.js';
import { exploreCrashes, memoryStore, type ExploreOptions } from '../../src/testing/index.js';
import { documents, spec } from '../support/definitions.js';
import { fixture } from '../support/processes.js';
import { sound } from './fixtures/agents.js';

const FILE = fixture(import.meta.url, 'fixtures/agents.ts');
const LOADER = ['--import', new URL('../support/ts-loader.mjs', import.meta.url).href];
const queue = (workerClass: string) => spec({ classes: [workerClass], dispatch: 'queue' });

const refusal = (options: Partial<ExploreOptions>): Promise<unknown> =>
  exploreCrashes({
    agent: { module: FILE, export: 'sound' },
    documents: documents({ a: { launch: [queue('writer')] } }),
    package: 'job',
    execArgv: LOADER,
    ...options,
  }).then(
    () => 'nothing was refused',
    (error: unknown) => error,
  );

describe('crash explorer refuses', () => {
  it.each<[string, Partial<ExploreOptions>, string, RegExp]>([
    ['no agent at all', { agent: undefined }, 'agent', /give the module of an agent/],
    ['an agent itself', { agent: sound as never }, 'agent', /path or URL of a module/],
    ['nothing to launch', { documents: [] }, 'documents', /nothing to launch/],
    ['a lease that no server keeps', { ttlMs: 10 }, 'ttlMs', /from 1000/],
    ['a bad number of runs', { parallel: 0 }, 'parallel', /from 1 to 32/],
    ['a file that is not there', { agent: './nowhere.js' }, 'agent', /does not load.*nowhere\.js/],
    ['TypeScript without a loader', { execArgv: [] }, 'agent', /does not load.*`--import tsx`/],
    ['an export that is no agent', { agent: { module: FILE, export: 'notAnAgent' } }, 'export', /no agent/],
    ['a choice of agents', { agent: pathToFileURL(FILE) }, 'agent', /several agents.*name one/],
    [
      'two agents of one class',
      { agents: [{ module: FILE, export: 'once' }] },
      'agents',
      /two agents have one worker class/,
    ],
  ])('%s', async (_, options, field, message) => {
    const error = await refusal(options);
    expect(error).toMatchObject({ code: 'InvalidCommand', message: expect.stringMatching(message) });
    const said = error as { details: Record<string, unknown>; message: string };
    expect(said.details['field'] ?? /field=(\w+)/.exec(said.message)?.[1]).toBe(field);
  });

  it('a package without a slot for the agents, and says which slots it leaves out otherwise', async () => {
    const store = await memoryStore();
    try {
      const nodes = {
        late: { dependsOn: ['other'], launch: [queue('writer')] },
        own: { slots: 2, launch: [queue('writer')] },
        other: { launch: [queue('reader')] },
        person: { launch: [spec({ classes: ['writer'] })] },
      };
      const definitions = await readAll({ documents: documents(nodes) }, 2_000);
      const { nodeOf, skipped } = await planFor(store, definitions, 'job', ['writer']);
      expect([...nodeOf]).toEqual([
        ['own.1', 'own'],
        ['own.2', 'own'],
      ]);
      expect(skipped).toEqual([
        { slot: 'late', why: 'depends on other, which is not explored' },
        { slot: 'other', why: 'is for worker class reader, which none of the agents is' },
        { slot: 'person', why: 'is claimed directly, not offered to hosts' },
      ]);
      const none = planFor(store, definitions, 'job', ['painter']);
      await expect(none).rejects.toMatchObject({ code: 'InvalidCommand', details: { field: 'package' } });
    } finally {
      await store.close();
    }
  });
});
