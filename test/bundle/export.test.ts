/**
 * Bundles of a real run as users make them: closed, open, without a control worker, without a server. Each verifies, and holds
 * what `show`, `attempts`, `artifacts` and `effects` say. A bundle is whole or not there, and no secret is in it.
 */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { verifyBundle, type Verified } from '../../src/bundle/verify.js';
import type { Exported } from '../../src/bundle/write.js';
import { baton as cli, batonJson, type ErrorJson } from '../cli/cli.js';
import { startBaton, type Baton } from '../support/baton.js';
import { visible } from '../../src/report/html.js';
import { elementsOf } from '../report/parse.js';
import { Copy, filesOf, finish, firstAttempt, HOSTILE, LARGE, launchReport, scratch } from './lab.js';

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0)) await clean();
});
const folder = async (): Promise<string> => {
  const { dir, remove } = await scratch();
  cleanups.push(remove);
  return dir;
};

const asUser = (baton: Baton, cwd: string, address = baton.address) => ({
  cwd,
  env: {
    TEMPORAL_ADDRESS: address,
    BATON_TENANT: baton.tenant,
    BATON_ACTOR: 'ada',
    BATON_STORE: baton.storeUrl,
    BATON_TASK_QUEUE: baton.taskQueue,
  },
});
const json = async <T>(bundle: string, name: string): Promise<T> =>
  JSON.parse(await readFile(path.join(bundle, `data/${name}.json`), 'utf8')) as T;
const NOTHING: Partial<Verified> = { ok: true, problems: [], problemCount: 0 };

it(
  'exports a closed run whole, refuses what is in the way, and verifies with the bundle alone',
  { timeout: 120_000 },
  async () => {
    const baton = await startBaton();
    const cwd = await folder();
    const options = asUser(baton, cwd);
    const run = await launchReport(baton);
    await finish(baton, run, await firstAttempt(baton, run));

    const { exitCode, json: done } = await batonJson<Exported>(['export', run.run], options);
    expect([exitCode, done]).toMatchObject([
      0,
      { tenant: baton.tenant, run: run.run, snapshot: false, attempts: 3, artifacts: 5, effects: 1 },
    ]);
    const bundle = path.join(cwd, `${run.run}.bundle`);
    expect(done.path).toBe(bundle);
    expect(await readdir(cwd)).toEqual([`${run.run}.bundle`]);

    const verified = await batonJson<Verified>(['verify', bundle, '--digest', `sha256:${done.digest}`], {
      cwd,
    });
    expect([verified.exitCode, verified.json]).toMatchObject([
      0,
      {
        ...NOTHING,
        run: run.run,
        status: 'succeeded',
        snapshot: false,
        digest: done.digest,
        bytes: done.bytes,
      },
    ]);
    const said = await cli(['verify', bundle], { cwd });
    expect([said.exitCode, said.stdout]).toEqual([0, expect.stringContaining('verified')]);

    // What the other commands say is what is in it.
    const shown = await run.show();
    expect(await json(bundle, 'run')).toMatchObject({
      status: 'succeeded',
      pins: run.pins,
      slots: shown.slots,
    });
    expect(await json(bundle, 'attempts')).toMatchObject(await run.attempts());
    expect(await json(bundle, 'effects')).toEqual(await run.effects());
    const artifacts = await json<{ name: string; digest: string; size: number }[]>(bundle, 'artifacts');
    expect(artifacts).toMatchObject(await run.artifacts());
    const names = (await json<{ name: string }[]>(bundle, 'commands')).map(({ name }) => name);
    expect(names.filter((name) => name === 'save')).toHaveLength(2);

    // Bytes lie under their digests, a large one like a small one; a pin's file has the pin's digest.
    const large = artifacts.find(({ name }) => name === 'dump.bin');
    expect(large?.size).toBe(LARGE);
    const sha256 = async (file: string): Promise<string> =>
      createHash('sha256')
        .update(await readFile(path.join(bundle, file)))
        .digest('hex');
    for (const { digest } of artifacts)
      expect(await sha256(`data/bytes/${digest.slice(0, 2)}/${digest}`)).toBe(digest);
    for (const kind of ['package', 'workflow', 'binding'] as const)
      expect(await sha256(`data/pins/${kind}.json`)).toBe(run.pins[kind].digest);

    // Made by other means, the manifests are the same: any tool for bags can check it.
    const copy = await Copy.of(bundle, cwd);
    const manifest = await readFile(copy.at('manifest-sha256.txt'), 'utf8');
    await copy.fix();
    expect(await readFile(copy.at('manifest-sha256.txt'), 'utf8')).toBe(manifest);
    expect(await verifyBundle(copy.folder)).toMatchObject({ ...NOTHING, digest: done.digest });

    const again = await batonJson<ErrorJson>(['export', run.run], options);
    expect([again.exitCode, again.json.error]).toMatchObject([
      2,
      { code: 'InvalidCommand', details: { field: 'out' } },
    ]);
    await mkdir(path.join(cwd, 'empty'));
    expect((await cli(['export', run.run, '--out', 'empty'], options)).exitCode).toBe(2);
    expect(await readdir(path.join(cwd, 'empty'))).toEqual([]);
    expect(await verifyBundle(bundle)).toMatchObject({ ...NOTHING, digest: done.digest });
    const foreign = { ...options, env: { ...options.env, BATON_TENANT: 'other' } };
    const refused = await batonJson<ErrorJson>(['export', run.run, '--out', 'x'], foreign);
    expect([refused.exitCode, refused.json.error.code]).toEqual([3, 'RunNotFound']);

    // The same run as a page, in place of the one before and of nothing else: what it was told is text in it.
    const mine = path.join(cwd, 'mine.html');
    await writeFile(mine, '<!doctype html><title>mine</title>');
    for (const out of ['mine.html', bundle, 'no/such/folder/page.html', '']) {
      const kept = await batonJson<ErrorJson>(['report', run.run, '--out', out], options);
      expect([kept.exitCode, kept.json.error.details.field], out).toEqual([2, 'out']);
    }
    expect(await readFile(mine, 'utf8')).toBe('<!doctype html><title>mine</title>');
    const pageOf = () => batonJson<{ file: string }>(['report', run.run, '--out', 'page.html'], options);
    await pageOf();
    const page = await pageOf();
    expect([page.exitCode, page.json]).toMatchObject([
      0,
      { run: run.run, file: path.join(cwd, 'page.html') },
    ]);
    const text = await readFile(page.json.file, 'utf8');
    const elements = await elementsOf(text);
    expect(elements.filter(({ name }) => name === 'script' || name === 'img')).toEqual([]);
    const shownHostile = visible(HOSTILE);
    const rows = elements.filter(({ name }) => name === 'tr').map((row) => row.text);
    expect(rows.filter((row) => row.includes(shownHostile))).toHaveLength(3); // reassign, decision, effect
    const bars = elements.filter(({ attributes }) => attributes.class?.startsWith('bar '));
    expect(bars.map((bar) => bar.text)).toEqual(['1 ⚠ lost', '2 ✓ succeeded', '1 ✓ succeeded']);
    expect(text).not.toContain('use the second source');
    const piped = await cli(['report', run.run, '--out', '-'], options);
    expect([piped.exitCode, piped.stdout.startsWith('<!doctype html>')]).toEqual([0, true]);
    expect((await cli(['report', run.run, '--out', '-', '--json'], options)).exitCode).toBe(2);

    // A server that is away changes nothing but where it is read from.
    const alone = await batonJson<Exported>(
      ['export', run.run, '--out', 'deep/alone'],
      asUser(baton, cwd, '127.0.0.1:9'),
    );
    expect([alone.exitCode, alone.json]).toMatchObject([0, { snapshot: false, attempts: 3, artifacts: 5 }]);
    expect(await json(alone.json.path, 'run')).toMatchObject({
      source: 'store',
      server: false,
      status: 'succeeded',
    });
    expect(await json(alone.json.path, 'attempts')).toEqual(await json(bundle, 'attempts'));
    expect(await verifyBundle(alone.json.path)).toMatchObject(NOTHING);
  },
);

it(
  'exports an open run as it stands, with and without control worker and server, and no secret of it',
  { timeout: 120_000 },
  async () => {
    const baton = await startBaton({ control: false });
    const cwd = await folder();
    const stopControl = await baton.startControl();
    const run = await launchReport(baton, '60s');
    await firstAttempt(baton, run);

    const known = await run.export(path.join(cwd, 'known'));
    expect(known).toMatchObject({ snapshot: true, attempts: 1, artifacts: 2, effects: 1 });
    expect(await json(known.path, 'run')).toMatchObject({
      source: 'workflow',
      server: true,
      status: 'running',
      slots: [{ state: 'active' }, { state: 'blocked' }],
    });
    expect(await verifyBundle(known.path)).toMatchObject({ ...NOTHING, snapshot: true });

    const [row] = await baton.store.attempts.list(baton.tenant, run.run);
    const secrets = [Buffer.from(row?.attachment?.taskToken ?? []), Buffer.from(await baton.store.key())];
    for (const file of (await filesOf(known.path)).filter((name) => !name.startsWith('data/bytes/'))) {
      const text = await readFile(path.join(known.path, file), 'utf8');
      for (const secret of secrets) {
        expect(secret.byteLength).toBeGreaterThan(0);
        for (const form of ['hex', 'base64', 'base64url'] as const)
          expect(text).not.toContain(secret.toString(form));
      }
      expect(text).not.toMatch(/taskToken|"token"/);
    }

    const offline = await batonJson<Exported>(
      ['export', run.run, '--out', 'offline'],
      asUser(baton, cwd, '127.0.0.1:9'),
    );
    expect(offline.exitCode).toBe(0);
    // Its beats are known to the server alone: nobody may call the lease over.
    expect(await json(offline.json.path, 'run')).toMatchObject({
      server: false,
      slots: [{ state: 'active', expired: false }, {}],
    });
    expect(await json(offline.json.path, 'attempts')).toMatchObject([{ lease: { status: 'live' } }]);
    expect(await verifyBundle(offline.json.path)).toMatchObject(NOTHING);

    await stopControl();
    const unled = await run.export(path.join(cwd, 'unled'));
    expect(await json(unled.path, 'run')).toMatchObject({ source: 'store', server: true, snapshot: true });
    expect(await verifyBundle(unled.path)).toMatchObject(NOTHING);
  },
);

it('leaves nothing behind when the store has lost bytes', { timeout: 60_000 }, async () => {
  const baton = await startBaton();
  const cwd = await folder();
  const run = await launchReport(baton);
  await firstAttempt(baton, run);
  const { digest = '' } = (await run.artifacts()).find(({ name }) => name === 'dump.bin') ?? {};
  const blobs = fileURLToPath(`${baton.storeUrl.replace('sqlite:', 'file://')}.blobs`);
  const file = path.join(blobs, digest.slice(0, 2), digest);
  await writeFile(file, (await readFile(file)).fill('y', 2_000_000, 2_000_001));
  const { exitCode, json: answer } = await batonJson<ErrorJson>(['export', run.run], asUser(baton, cwd));
  expect([exitCode, answer.error]).toMatchObject([3, { code: 'ArtifactMismatch', details: { digest } }]);
  expect(await readdir(cwd)).toEqual([]);
});
