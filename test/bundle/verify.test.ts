/**
 * What somebody may do to a bundle's files, and what verify says of it: the right file, by name. First what is clumsy (the manifests
 * are left as they were), then what whoever knows the format would do (they are made anew). What no check of the bundle alone can
 * find, its digest does.
 */
import { rename, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifyBundle, type Verified } from '../../src/bundle/verify.js';
import { batonJson, type ErrorJson } from '../cli/cli.js';
import { Copy } from './lab.js';
import {
  attempts,
  expectProblem,
  first,
  made,
  notes,
  of,
  tamperedBundle,
  type Change,
  type Expected,
} from './tampering.js';

tamperedBundle();

it('is whole as it was written', async () => {
  expect(await verifyBundle(made.bundle)).toMatchObject({
    ok: true,
    problems: [],
    digest: made.digest,
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
      (copy) => rm(copy.at(made.prompt)),
      ['missing', () => made.prompt, /prompt\/main is attached to node research/],
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
    const copy = await Copy.of(made.bundle, made.dir);
    await attempts((rows) => ((first(rows, 2).reassignedBy as { reason: string }).reason = 'another'))(copy);
    await copy.fix();
    // Nothing else in the bundle knows the reason.
    expect(await verifyBundle(copy.folder)).toMatchObject({ ok: true });
    expect(await verifyBundle(copy.folder, { digest: made.digest })).toMatchObject({
      ok: false,
      problems: [
        { kind: 'changed', file: 'tagmanifest-sha256.txt', message: expect.stringContaining(made.digest) },
      ],
    });
    const told = await batonJson<Verified>(['verify', copy.folder, '--digest', made.digest], {
      cwd: made.dir,
    });
    expect([told.exitCode, told.json]).toMatchObject([1, { ok: false, problemCount: 1 }]);
  });
});

it('tells wrong usage from a bundle that is wrong', async () => {
  const wrong = async (...args: string[]) => {
    const { exitCode, json } = await batonJson<ErrorJson>(['verify', ...args], { cwd: made.dir });
    return [exitCode, json.error.code, json.error.details.field];
  };
  expect(await wrong('nowhere')).toEqual([2, 'InvalidCommand', 'bundle']);
  expect(await wrong(made.bundle, '--digest', 'abc')).toEqual([2, 'InvalidCommand', 'digest']);
  expect(await wrong(path.join(made.bundle, 'data'))).toEqual([2, 'InvalidCommand', 'bundle']);
  // One file of a bag is left: it was one.
  const copy = await Copy.of(made.bundle, made.dir);
  for (const file of ['bagit.txt', 'manifest-sha256.txt', 'tagmanifest-sha256.txt']) await rm(copy.at(file));
  await rm(copy.at('data'), { recursive: true });
  const { exitCode, json } = await batonJson<Verified>(['verify', copy.folder], { cwd: made.dir });
  expect([exitCode, json]).toMatchObject([1, { ok: false, run: null, digest: null }]);
});

/** sha256 of `x`. */
const X = '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881';
