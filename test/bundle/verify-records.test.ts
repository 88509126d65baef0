/**
 * What whoever knows the format may do to a bundle's records, with every manifest made anew: each contradicts another one, and
 * verify says which field of which file.
 */
import { it } from 'vitest';
import type { EffectView } from '../../src/agent/types.js';
import type { ArtifactRecord, RunRecord } from '../../src/bundle/records.js';
import { canonicalJson } from '../../src/store/canonical.js';
import {
  attempts,
  expectProblem,
  first,
  notes,
  tamperedBundle,
  type Change,
  type Expected,
  type Loose,
} from './tampering.js';

tamperedBundle();

const artifacts =
  (change: (rows: ArtifactRecord[]) => unknown): Change =>
  (copy) =>
    copy.record('artifacts', change);
const effects =
  (change: (rows: EffectView[]) => unknown): Change =>
  (copy) =>
    copy.record('effects', change);
const run =
  (change: (of: Loose<RunRecord>) => unknown): Change =>
  (copy) =>
    copy.record('run', change);

it.each<[string, Change, Expected]>([
  [
    'two digests swapped in the records',
    artifacts((rows) => {
      const [one, two] = [first(rows), first(rows, 1)];
      [one.digest, two.digest] = [two.digest, one.digest];
    }),
    ['inconsistent', 'data/artifacts.json', /is 8, data\/bytes\/.* has 3145728 bytes/, '[0].size'],
  ],
  [
    'an artifact’s row taken away',
    artifacts((rows) => rows.slice(1)),
    ['extra', notes, /no record refers to it/],
  ],
  [
    'an artifact of another attempt',
    artifacts((rows) => (first(rows).attempt = 'a-nobody')),
    ['inconsistent', 'data/artifacts.json', /there is no such attempt/, '[0].attempt'],
  ],
  [
    'an artifact under another epoch',
    artifacts((rows) => (first(rows).epoch = 2)),
    ['inconsistent', 'data/artifacts.json', /has 1$/, '[0].epoch'],
  ],
  [
    'an artifact of another agent',
    artifacts((rows) => (first(rows).agentRevision = 'other@2')),
    ['inconsistent', 'data/artifacts.json', /the binding has tester@1/, '[0].agentRevision'],
  ],
  [
    'a source that is none',
    artifacts((rows) => (first(first(rows, 2).derivedFrom).attempt = 'a-nobody')),
    ['inconsistent', 'data/artifacts.json', /a-nobody saved nothing before/, '[2].derivedFrom[0]'],
  ],

  [
    'an epoch that goes back',
    attempts((rows) => (first(rows).epoch = 9)),
    ['inconsistent', 'data/attempts.json', /epochs only grow/, '[2].epoch'],
  ],
  [
    'two attempts that completed',
    attempts((rows) => {
      Object.assign(first(rows), {
        worker: { id: 'w1', status: 'succeeded' },
        lease: { ...first(rows).lease, status: 'released' },
      });
    }),
    ['inconsistent', 'data/attempts.json', /was completed by .* already/, '[2].worker.status'],
  ],
  [
    'a success without its result',
    attempts((rows) => (first(rows, 2).staged = null)),
    ['inconsistent', 'data/attempts.json', /has staged no completion/, '[2].staged'],
  ],
  [
    'another result of a success',
    attempts((rows) => {
      first(rows, 2).staged = first(rows, 1).staged;
    }),
    ['inconsistent', 'data/attempts.json', /is no artifact of it/, '[2].staged.result'],
  ],
  [
    'a loss made a failure',
    attempts((rows) => (first(rows).worker.status = 'failed')),
    ['inconsistent', 'data/attempts.json', /that is failed has no lease that is expired/, '[0].lease.status'],
  ],
  [
    'an attempt that never ended',
    attempts((rows) => {
      Object.assign(first(rows), {
        worker: { id: 'w1', status: 'running' },
        lease: { ...first(rows).lease, status: 'live' },
      });
    }),
    ['inconsistent', 'data/attempts.json', /had not ended/, '[2].slot'],
  ],
  [
    'an attempt taken away',
    (copy) => copy.record<unknown[]>('attempts', (rows) => rows.slice(1)),
    ['inconsistent', 'data/attempts.json', /no earlier attempt of slot research/, '[1].predecessor'],
  ],
  [
    'an attempt by another class',
    attempts((rows) => (first(rows).workerClass = 'writer')),
    ['inconsistent', 'data/attempts.json', /does not admit writer/, '[0].workerClass'],
  ],
  [
    'an attempt of no slot',
    attempts((rows) => (first(rows).slot = 'other')),
    ['inconsistent', 'data/attempts.json', /has no slot other/, '[0].slot'],
  ],
  [
    'an attempt that is there twice',
    (copy) => copy.record<unknown[]>('attempts', (rows) => [...rows, rows[2]]),
    ['inconsistent', 'data/attempts.json', /is there twice/, '[3].attempt'],
  ],
  [
    'a status that is none',
    attempts((rows) => (first(rows).lease.status = 'eternal' as 'live')),
    ['malformed', 'data/attempts.json', /Invalid option/, '[0].lease.status'],
  ],

  [
    'an effect of another attempt',
    effects((rows) => (first(rows).attempt = 'a-nobody')),
    ['inconsistent', 'data/effects.json', /there is no attempt a-nobody/, '[0].attempt'],
  ],
  [
    'an effect under another name',
    effects((rows) => (first(rows).name = 'something else')),
    ['inconsistent', 'data/effects.json', /is not that of tenant, run, slot, name/, '[0].key'],
  ],
  [
    'an effect under another epoch',
    effects((rows) => (first(rows).epoch = 2)),
    ['inconsistent', 'data/effects.json', /has 1$/, '[0].epoch'],
  ],
  [
    'a command that is there twice',
    (copy) => copy.record<unknown[]>('commands', (rows) => [rows[0], ...rows]),
    ['inconsistent', 'data/commands.json', /is there twice/, '[1].commandId'],
  ],

  [
    'another package',
    (copy) =>
      copy.record<{ outcome: string }>('pins/package', (of) => {
        of.outcome = 'Another.';
      }),
    ['changed', 'data/pins/package.json', /is pinned as sha256/],
  ],
  [
    'a pin in another form',
    (copy) => copy.text('data/pins/package.json', (text) => ` ${text}`),
    ['malformed', 'data/pins/package.json', /not in canonical form/],
  ],
  [
    'a binding that does not fit',
    async (copy) => {
      await copy.text('data/pins/binding.json', (text) =>
        canonicalJson({ ...(JSON.parse(text) as object), workflow: 'other' }),
      );
    },
    ['malformed', 'data/pins/binding.json', /is for workflow other/],
  ],
  [
    'another input',
    run((of) => (of.input = 'another')),
    ['inconsistent', 'data/run.json', /not that of pins and input/, 'launchDigest'],
  ],
  [
    'another run',
    run((of) => (of.run = 'other')),
    ['inconsistent', 'data/run.json', /not that of tenant and run/, 'workflowId'],
  ],
  [
    'another result',
    run((of) => (first(of.slots).result = { sources: 4 })),
    ['inconsistent', 'data/run.json', /is not the one that/, 'slots[0].result'],
  ],
  [
    'a slot taken away',
    run((of) => (of.slots as unknown[]).pop()),
    ['inconsistent', 'data/run.json', /are 1, the pinned workflow has 2/, 'slots'],
  ],
  [
    'a slot that failed in a run that succeeded',
    run((of) => (first(of.slots).state = 'failed')),
    ['inconsistent', 'data/run.json', /is failed in a run that succeeded/, 'slots[0].state'],
  ],
  [
    'an epoch that lags behind',
    run((of) => (first(of.slots).epoch = 1)),
    ['inconsistent', 'data/run.json', /of slot research has 2/, 'slots[0].epoch'],
  ],
  [
    'an open run that is over',
    run((of) => (of.snapshot = true)),
    ['inconsistent', 'data/run.json', /status succeeded/, 'snapshot'],
  ],
  [
    'records of another version',
    run((of) => (of.format = 'baton-bundle/2')),
    ['malformed', 'data/run.json', /baton-bundle\/1/, 'format'],
  ],
  [
    'no JSON',
    (copy) => copy.text('data/run.json', (text) => text.slice(1)),
    ['malformed', 'data/run.json', /is no JSON/],
  ],
  [
    'JSON nested without end',
    (copy) => copy.add('data/pins/workflow.json', `{"a":${'['.repeat(9e4)}${']'.repeat(9e4)}}`),
    ['changed', 'data/pins/workflow.json', /this is null/],
  ],
])('%s', async (_what, change, expected) => {
  await expectProblem(async (copy) => {
    await change(copy);
    await copy.fix();
  }, expected);
});
