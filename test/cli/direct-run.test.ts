/**
 * A whole run through the command line alone, with direct slots: launch, claim, beat, save, expiry, refused and accepted
 * reassign, handover, completion, close. Then what a closed run answers. JSON shapes are the design's, field by field.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sha256 } from '../../src/store/canonical.js';
import { keepBetweenTests, startNode, stopAll } from '../support/processes.js';
import { sharedServer } from '../support/server.js';
import { waitFor } from '../support/wait.js';
import { documents, spec } from '../support/definitions.js';
import { baton, batonJson, MAIN, type CliOptions, type ErrorJson } from './cli.js';

keepBetweenTests();

interface Shown {
  status: string;
  slots: { slot: string; state: string; gate: string | null; expired: boolean; priorWorker: string | null }[];
}
interface Claimed {
  commandId: string;
  attempt: string;
  epoch: number;
  lease: { id: string; token: string; ttlSeconds: number };
  handoff: { attempts: unknown[]; artifacts: { name: string }[]; upstream: Record<string, unknown> };
}

let cwd: string;
let options: CliOptions;

beforeAll(async () => {
  cwd = await mkdtemp(path.join(os.tmpdir(), 'baton-cli-'));
  const { address } = await sharedServer();
  const id = path.basename(cwd).toLowerCase();
  const env = { TEMPORAL_ADDRESS: address, BATON_TENANT: id, BATON_ACTOR: 'ada', BATON_TASK_QUEUE: id };
  options = { cwd, env };
  const nodes = {
    research: {
      launch: [
        spec({ id: 'fast', classes: ['researcher'], ttl: '10s' }),
        spec({ id: 'slow', classes: ['senior'], ttl: '60s' }),
      ],
    },
    write: { dependsOn: ['research'], launch: [spec({ id: 'main', classes: ['writer'], ttl: '60s' })] },
  };
  await writeFile(path.join(cwd, 'essay.json'), JSON.stringify(documents(nodes, 'essay')));
  const worker = await startNode(MAIN, ['worker', '--json'], {
    cwd,
    env: { ...env, TEMPORAL_CONFIG_FILE: '/nonexistent' },
  });
  const ready = JSON.parse(await worker.ready('json', 60_000)) as Record<string, unknown>;
  expect(ready).toMatchObject({ ready: true, address, taskQueue: id });
});
afterAll(async () => {
  await stopAll();
  await rm(cwd, { recursive: true, force: true });
});

const refused = async (
  args: readonly string[],
  as: CliOptions = options,
): Promise<[number | undefined, string]> => {
  const { exitCode, json } = await batonJson<ErrorJson>(args, as);
  return [exitCode, json.error?.code];
};
const done = async <T>(args: readonly string[]): Promise<T> => {
  const { exitCode, json } = await batonJson<T>(args, options);
  expect(exitCode, JSON.stringify(json)).toBe(0);
  return json;
};

it('carries a run from launch to close, over a lost worker', { timeout: 180_000 }, async () => {
  const launch = ['launch', 'essay.json', '--run', 'r1', '--input', '{"topic":"tea"}'];
  const launched = await done<Record<string, unknown>>(launch);
  expect(Object.keys(launched).sort()).toEqual(['pins', 'run', 'tenant', 'ui', 'workflowId']);
  expect(await done(launch)).toEqual(launched);
  expect(await refused([...launch.slice(0, -1), '{"topic":"coffee"}'])).toEqual([3, 'RunConflict']);

  expect(await refused(['claim', 'r1', 'write', '--class', 'writer', '--worker', 'w'])).toEqual([
    3,
    'SlotNotClaimable',
  ]);
  const claim = ['claim', 'r1', 'research', '--class', 'researcher', '--worker', 'w1', '--command-id', 'c1'];
  const first = await done<Claimed>(claim);
  expect(first).toMatchObject({
    commandId: 'c1',
    slot: 'research',
    number: 1,
    epoch: 1,
    lease: { ttlSeconds: 10 },
  });
  const lease = ['--lease', first.lease.token];
  await writeFile(path.join(cwd, 'notes.md'), '# Notes\n');
  const saved = await done<{ artifact: object }>([
    'save',
    'r1',
    'research',
    ...lease,
    '--kind',
    'source',
    '--name',
    'notes',
    'notes.md',
  ]);
  expect(saved.artifact).toEqual({
    attempt: first.attempt,
    kind: 'source',
    name: 'notes',
    digest: sha256('# Notes\n'),
    size: 8,
    mediaType: 'text/markdown',
    tags: [],
    step: null,
    stepRevision: null,
    epoch: 1,
    agentRevision: expect.stringMatching(/^.+@.+$/) as string,
    derivedFrom: [],
    savedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string,
    trust: 'committed',
  });

  // w1 goes silent. Nobody decides anything: the lease ends by itself.
  await waitFor(async () => (await done<Shown>(['show', 'r1'])).slots[0]?.state === 'retry-wait', {
    timeoutMs: 30_000,
  });
  expect(await refused(['heartbeat', 'r1', 'research', ...lease])).toEqual([3, 'StaleLease']);
  expect(await refused(['complete', 'r1', 'research', ...lease])).toEqual([3, 'StaleLease']);
  expect(await refused(['reassign', 'r1', 'research', '--class', 'senior', '--reason', ' \t'])).toEqual([
    3,
    'ReasonRequired',
  ]);
  expect(await refused(['reassign', 'r1', 'research', '--class', 'poet', '--reason', 'x'])).toEqual([
    3,
    'NoCompatibleLaunchSpec',
  ]);
  const dry = await done<{ accepted: boolean; verdicts: unknown[] }>([
    'reassign',
    'r1',
    'research',
    '--class',
    'senior',
    '--reason',
    'x',
    '--dry-run',
  ]);
  expect(dry).toMatchObject({ accepted: true, spec: 'slow' });

  await writeFile(path.join(cwd, 'reason.txt'), ' host lost\n');
  const reassign = [
    'reassign',
    'r1',
    'research',
    '--class',
    'senior',
    '--reason',
    '@reason.txt',
    '--command-id',
    'ra',
  ];
  const reassigned = await done(reassign);
  expect(reassigned).toMatchObject({ commandId: 'ra', slot: 'research', state: 'retry-wait', gate: 'open' });
  expect(await done(reassign)).toEqual(reassigned);
  expect(await refused([...reassign.slice(0, 6), 'another', '--command-id', 'ra'])).toEqual([
    3,
    'CommandConflict',
  ]);
  expect(await done(claim)).toEqual(first);

  const second = await done<Claimed>(['claim', 'r1', 'research', '--class', 'senior', '--worker', 'w2']);
  expect(second).toMatchObject({ epoch: 2, number: 2 });
  expect(second.handoff.attempts).toHaveLength(1);
  expect(second.handoff.artifacts.map(({ name }) => name)).toEqual(['notes']);
  const complete = ['complete', 'r1', 'research', '--lease', second.lease.token, '--result', '{"n":1}'];
  expect(await done(complete)).toMatchObject({ slot: 'research', state: 'succeeded', gate: null });
  expect(await refused([...complete.slice(0, -1), '{"n":2}'])).toEqual([3, 'CompletionConflict']);

  const attempts = await done<Record<string, unknown>[]>(['attempts', 'r1', 'research']);
  expect(attempts).toMatchObject([
    {
      worker: { id: 'w1', status: 'lost' },
      lease: { status: 'expired' },
      failure: { code: 'LeaseExpired' },
      reassignedBy: null,
    },
    {
      worker: { id: 'w2', status: 'succeeded' },
      lease: { status: 'released' },
      failure: null,
      reassignedBy: { reason: ' host lost\n', actor: 'ada' },
    },
  ]);

  const last = await done<Claimed>([
    'claim',
    'r1',
    'write',
    '--class',
    'writer',
    '--worker',
    'w3',
    '--command-id',
    'c3',
  ]);
  expect(last.handoff.upstream).toEqual({ research: { n: 1 } });
  await done([
    'complete',
    'r1',
    'write',
    '--lease',
    last.lease.token,
    '--result',
    '"done"',
    '--command-id',
    'e3',
  ]);
});

it(
  'answers for a closed run what it answered before, and refuses the rest',
  { timeout: 180_000 },
  async () => {
    const shown = await waitFor(async () => {
      const now = await done<Shown & { slots: Record<string, unknown>[] }>(['show', 'r1']);
      return now.status === 'succeeded' && now;
    });
    expect(Object.keys(shown.slots[0] ?? {})).toEqual(
      expect.arrayContaining([
        'slot',
        'node',
        'state',
        'gate',
        'spec',
        'retryTime',
        'pendingWorker',
        'activeWorker',
        'priorWorker',
        'reassignReason',
        'expired',
        'waitsFor',
        'epoch',
        'counts',
        'result',
      ]),
    );
    expect(shown.slots).toMatchObject([{ result: { n: 1 } }, { result: 'done' }]);
    expect(await done(['list'])).toMatchObject([{ run: 'r1', status: 'succeeded' }]);
    expect(await refused(['hold', 'r1', 'write', '--reason', 'x'])).toEqual([3, 'RunClosed']);
    const again = await done<Claimed>([
      'claim',
      'r1',
      'write',
      '--class',
      'writer',
      '--worker',
      'w3',
      '--command-id',
      'c3',
    ]);
    const lease = ['--lease', again.lease.token];
    expect(await done(['complete', 'r1', 'write', ...lease, '--result', '"done"'])).toMatchObject({
      commandId: 'e3',
      state: 'succeeded',
    });
    expect(await refused(['heartbeat', 'r1', 'write', ...lease])).toEqual([3, 'StaleLease']);
    expect(await refused(['heartbeat', 'r1', 'research', ...lease])).toEqual([3, 'StaleLease']);

    const other = { cwd, env: { ...options.env, BATON_TENANT: 'somebody-else' } };
    for (const args of [
      ['show', 'r1'],
      ['attempts', 'r1'],
      ['artifacts', 'r1'],
      ['heartbeat', 'r1', 'write', ...lease],
      ['hold', 'r1', 'write', '--reason', 'x'],
    ]) {
      expect([args[0], ...(await refused(args, other))]).toEqual([args[0], 3, 'RunNotFound']);
    }

    await done(['artifacts', 'r1', 'research', '--out', 'out']);
    const [{ attempt } = { attempt: '' }] = await done<{ attempt: string }[]>([
      'artifacts',
      'r1',
      'research',
    ]);
    expect(await readFile(path.join(cwd, 'out', attempt, 'source', 'notes'), 'utf8')).toBe('# Notes\n');
    expect((await baton(['recovery', 'r1', 'write'], options)).stdout).toContain('# Recovery of `write`');
    const watched = await baton(['watch', 'r1', '--json'], options);
    expect(JSON.parse(watched.stdout)).toEqual(shown);
  },
);
