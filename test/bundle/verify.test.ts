/**
 * What somebody may do to a bundle, and what verify says of it: the right file and field, by name. First what is clumsy (the
 * manifests are left as they were), then what whoever knows the format would do (they are made anew). What no check of the bundle
 * alone can find, its digest does.
 */
import { rename, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Problem } from '../../src/bundle/problems.js';
import { verifyBundle, type Verified } from '../../src/bundle/verify.js';
import type { ArtifactRecord, AttemptRecord, RunRecord } from '../../src/bundle/records.js';
import type { EffectView } from '../../src/agent/types.js';
import { canonicalJson } from '../../src/store/canonical.js';
import { batonJson, type ErrorJson } from '../cli/cli.js';
import { startBaton } from '../support/baton.js';
import { Copy, finish, firstAttempt, launchReport, scratch } from './lab.js';

let dir: string;
let remove: () => Promise<void>;
let bundle: string;
let digest: string;
/** Paths of bytes, by the artifact's name. */
const bytes = new Map<string, string>();
let prompt: string;

beforeAll(async () => {
  ({ dir, remove } = await scratch());
  const baton = await startBaton();
  const run = await launchReport(baton);
  await finish(baton, run, await firstAttempt(baton, run));
  ({ path: bundle, digest } = await run.export(path.join(dir, 'bundle')));
  const at = (of: string): string => `data/bytes/${of.slice(0, 2)}/${of}`;
  for (const artifact of await run.artifacts()) bytes.set(artifact.name, at(artifact.digest));
  const attached = (await run.recovery('research')).attachments[0];
  prompt = at(attached?.digest ?? '');
  await baton.stop();
});
afterAll(() => remove());

type Change = (copy: Copy) => Promise<void>;
type Expected = readonly [
  kind: Problem['kind'],
  file: string | (() => string),
  message: RegExp,
  field?: string,
];

async function expectProblem(change: Change, [kind, file, message, field]: Expected): Promise<Verified> {
  const copy = await Copy.of(bundle, dir);
  await change(copy);
  const verdict = await verifyBundle(copy.folder);
  expect(verdict.ok).toBe(false);
  const where = { kind, file: typeof file === 'string' ? file : file() };
  expect(verdict.problems).toContainEqual({
    ...where,
    field: field ?? null,
    message: expect.stringMatching(message),
  });
  return verdict;
}

const of = (name: string) => (): string => bytes.get(name) ?? '';
const notes = of('notes.md');
const attempts =
  (change: (rows: AttemptRecord[]) => void): Change =>
  (copy) =>
    copy.record('attempts', change);
type Loose<T> = { -readonly [K in keyof T]: T[K] extends object | null ? Loose<T[K]> : T[K] };
const first = <T>(rows: readonly T[], at = 0): Loose<T> => rows[at] as Loose<T>;

it('is whole as it was written', async () => {
  expect(await verifyBundle(bundle)).toMatchObject({
    ok: true,
    problems: [],
    digest,
    attempts: 3,
    artifacts: 5,
    effects: 1,
  });
});

describe('left with its manifests as they were', () => {
  it.each<[string, Change, Expected]>([
    [
      'a flipped bit of a small artifact',
      (copy) => copy.flip(notes()),
      ['changed', notes, /the manifest says/],
    ],
    [
      'a flipped bit of a large one',
      (copy) => copy.flip(of('dump.bin')()),
      ['changed', of('dump.bin'), /the manifest says/],
    ],
    ['an artifact taken away', (copy) => rm(copy.at(notes())), ['missing', notes, /named by a manifest/]],
    [
      'a record taken away',
      (copy) => rm(copy.at('data/effects.json')),
      ['missing', 'data/effects.json', /named by a manifest/],
    ],
    [
      'a file more in the payload',
      (copy) => copy.add('data/more.txt'),
      ['extra', 'data/more.txt', /no manifest names it/],
    ],
    ['a file more beside it', (copy) => copy.add('more.txt'), ['extra', 'more.txt', /no manifest names it/]],
    [
      'a link in place of a file',
      async (copy) => {
        await rm(copy.at(notes()));
        await symlink('/etc/passwd', copy.at(notes()));
      },
      ['extra', notes, /neither a file nor a folder/],
    ],
    [
      'an edited attempt',
      attempts((rows) => (first(rows).worker.id = 'somebody')),
      ['changed', 'data/attempts.json', /the manifest says/],
    ],
    [
      'two digests swapped in the manifest',
      (copy) => copy.text('manifest-sha256.txt', swapFirstTwo),
      ['changed', 'manifest-sha256.txt', /the manifest says/],
    ],
    [
      'no tag manifest',
      (copy) => rm(copy.at('tagmanifest-sha256.txt')),
      ['missing', 'tagmanifest-sha256.txt', /is not there/],
    ],
  ])('%s', async (_what, change, expected) => {
    await expectProblem(change, expected);
  });
});

/** Puts the first two digests under each other's paths. */
function swapFirstTwo(manifest: string): string {
  const [one = '', two = '', ...rest] = manifest.split('\n');
  return [two.slice(0, 64) + one.slice(64), one.slice(0, 64) + two.slice(64), ...rest].join('\n');
}

describe('with all manifests made anew', () => {
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
      'a flipped bit of an artifact',
      (copy) => copy.flip(notes()),
      ['changed', notes, /the sha256 that is its name/],
    ],
    [
      'an artifact under another one’s name',
      async (copy) => {
        await rename(copy.at(of('dump.bin')()), copy.at(notes()));
      },
      ['changed', notes, /the sha256 that is its name/],
    ],
    [
      'an artifact taken away',
      (copy) => rm(copy.at(notes())),
      ['inconsistent', 'data/artifacts.json', /is not there/, '[0].digest'],
    ],
    [
      'an attachment taken away',
      (copy) => rm(copy.at(prompt)),
      ['missing', () => prompt, /prompt\/main is attached to node research/],
    ],
    [
      'a record taken away',
      (copy) => rm(copy.at('data/effects.json')),
      ['missing', 'manifest-sha256.txt', /does not name data\/effects\.json/],
    ],
    [
      'bytes that nobody saved',
      (copy) => copy.add(`data/bytes/2d/${X}`),
      ['extra', `data/bytes/2d/${X}`, /no record refers to it/],
    ],
    [
      'a file that no bundle has',
      (copy) => copy.add('data/more.txt'),
      ['malformed', 'manifest-sha256.txt', /names data\/more\.txt, which no bundle has/],
    ],
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
      [
        'inconsistent',
        'data/attempts.json',
        /that is failed has no lease that is expired/,
        '[0].lease.status',
      ],
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

  it('a manifest that leads out of the bundle, or names a file twice', async () => {
    const line = `${X}  ../../etc/passwd\n`;
    const { problems } = await expectProblem(
      async (copy) => {
        await copy.text('manifest-sha256.txt', (text) => `${line}${text}${text.split('\n')[0]}\n`);
        await copy.fixTags();
      },
      ['malformed', 'manifest-sha256.txt', /no digest with a path of this folder/, 'line 1'],
    );
    expect(problems.map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/^names data\/.* twice$/),
    );
  });

  it('a count that is wrong', async () => {
    await expectProblem(
      async (copy) => {
        await copy.text('bag-info.txt', (text) => text.replace(/^(Payload-Oxum: )\d+/m, '$17'));
        await copy.fixTags();
      },
      ['inconsistent', 'bag-info.txt', /^says 7/, 'Payload-Oxum'],
    );
  });

  it('another word of a reason: by the bundle’s digest alone, by library and command line', async () => {
    const copy = await Copy.of(bundle, dir);
    await attempts((rows) => ((first(rows, 2).reassignedBy as { reason: string }).reason = 'another'))(copy);
    await copy.fix();
    // Nothing else in the bundle knows the reason.
    expect(await verifyBundle(copy.folder)).toMatchObject({ ok: true });
    expect(await verifyBundle(copy.folder, { digest })).toMatchObject({
      ok: false,
      problems: [
        { kind: 'changed', file: 'tagmanifest-sha256.txt', message: expect.stringContaining(digest) },
      ],
    });
    const told = await batonJson<Verified>(['verify', copy.folder, '--digest', digest], { cwd: dir });
    expect([told.exitCode, told.json]).toMatchObject([1, { ok: false, problemCount: 1 }]);
  });
});

it('tells wrong usage from a bundle that is wrong', async () => {
  const wrong = async (...args: string[]) => {
    const { exitCode, json } = await batonJson<ErrorJson>(['verify', ...args], { cwd: dir });
    return [exitCode, json.error.code, json.error.details.field];
  };
  expect(await wrong('nowhere')).toEqual([2, 'InvalidCommand', 'bundle']);
  expect(await wrong(bundle, '--digest', 'abc')).toEqual([2, 'InvalidCommand', 'digest']);
  const { exitCode, json } = await batonJson<Verified>(['verify', path.join(bundle, 'data')], { cwd: dir });
  expect([exitCode, json]).toMatchObject([1, { ok: false, run: null, digest: null }]);
});

/** sha256 of `x`. */
const X = '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881';
