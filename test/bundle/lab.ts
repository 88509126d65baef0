/** A real run with a loss, a reassign, small and large artifacts and an effect; and what somebody may do to its bundle. */
import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import type { LaunchedRun } from '../../src/client/client.js';
import { effectKey } from '../../src/effects/key.js';
import type { Baton } from '../support/baton.js';
import { spec } from '../support/definitions.js';
import { launchNodes, untilSettled } from '../support/steps.js';

/** Markup, a quote, a turn of the writing direction: as hostile as a reason may be. */
export const HOSTILE = '"><script>alert(1)</script> \u202egpj.exe & <img src=x onerror=alert(2)>';
/** Beyond what is kept in the database itself, and more than one piece of a stream. */
export const LARGE = 3 * 1024 * 1024;

/** @param ttl of the first worker's lease */
export async function launchReport(baton: Baton, ttl = '6s'): Promise<LaunchedRun> {
  return launchNodes(baton, {
    research: {
      prompt: 'Find three sources.',
      launch: [
        spec({ id: 'fast', classes: ['researcher'], ttl }),
        spec({ id: 'slow', classes: ['senior'], ttl: '60s' }),
      ],
    },
    write: { dependsOn: ['research'], launch: [spec({ id: 'main', classes: ['writer'], ttl: '60s' })] },
  });
}

/** The first worker saves, sends an effect and goes silent; its lease is live when this returns. */
export async function firstAttempt(baton: Baton, run: LaunchedRun) {
  const slot = run.slot('research');
  const { attempt, epoch, lease } = await slot.claim({ workerClass: 'researcher', worker: 'w1' });
  const fence = { tenant: baton.tenant, run: run.run, slot: 'research', attempt, epoch };
  const notes = await slot.save(lease.token, {
    kind: 'source',
    name: 'notes.md',
    bytes: Buffer.from('# Notes\n'),
    mediaType: 'text/markdown',
    tags: ['tea'],
  });
  await slot.save(lease.token, {
    kind: 'source',
    name: 'dump.bin',
    bytes: Readable.from(
      (function* () {
        for (let at = 0; at < LARGE; at += 65_536) yield Buffer.alloc(65_536, (at / 65_536) % 251);
      })(),
    ),
  });
  const key = effectKey({
    tenant: baton.tenant,
    run: run.run,
    slot: 'research',
    name: HOSTILE,
    instance: null,
  });
  await baton.store.effects.begin({
    fence,
    name: HOSTILE,
    instance: null,
    key,
    requestDigest: createHash('sha256').update('order').digest('hex'),
    at: Date.now(),
  });
  return { attempt, fence, notes: notes.artifact };
}

/** From there to the end of the run: lost, settled by an operator, reassigned, taken over, completed. */
export async function finish(
  baton: Baton,
  run: LaunchedRun,
  first: Awaited<ReturnType<typeof firstAttempt>>,
) {
  const slot = run.slot('research');
  await untilSettled(run, 'research');
  await slot.resolveEffect({
    name: HOSTILE,
    outcome: 'committed',
    receipt: { order: 7 },
    reason: 'asked the shop',
  });
  await slot.reassign({ workerClass: 'senior', reason: HOSTILE });
  const second = await slot.claim({ workerClass: 'senior', worker: 'w2' });
  // As an agent saves it: its names may be any text, unlike those of the command line.
  const decision = await baton.store.artifacts.putBytes(Buffer.from('use the second source'));
  await baton.store.artifacts.save({
    fence: { ...first.fence, attempt: second.attempt, epoch: second.epoch },
    kind: 'decision',
    name: HOSTILE,
    ...decision,
    mediaType: 'text/plain',
    step: null,
    tags: [HOSTILE],
    derivedFrom: [{ attempt: first.attempt, digest: first.notes.digest }],
    agentRevision: 'tester@1',
    at: Date.now(),
  });
  await slot.complete(second.lease.token, { result: { sources: 3 } });
  const writer = run.slot('write');
  const third = await writer.claim({ workerClass: 'writer', worker: 'w3' });
  await writer.complete(third.lease.token, { result: 'done' });
  await run.result();
  await untilSettled(run, 'write');
}

/** A folder of the test's own. */
export async function scratch(): Promise<{ dir: string; remove(): Promise<void> }> {
  const dir = await mkdtemp(path.join(os.tmpdir(), 'baton-bundle-'));
  return { dir, remove: () => rm(dir, { recursive: true, force: true }) };
}

export async function filesOf(folder: string): Promise<string[]> {
  return (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .sort();
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** A bundle that may be changed. */
export class Copy {
  private constructor(readonly folder: string) {}

  static async of(bundle: string, into: string): Promise<Copy> {
    const folder = await mkdtemp(path.join(into, 'copy-'));
    await cp(bundle, folder, { recursive: true });
    return new Copy(folder);
  }

  at(file: string): string {
    return path.join(this.folder, file);
  }

  async text(file: string, change: (text: string) => string): Promise<void> {
    await writeFile(this.at(file), change(await readFile(this.at(file), 'utf8')));
  }

  /** Changes a record and writes it again as JSON; a list that `change` returns takes the place of one. */
  async record<T>(name: string, change: (value: T) => unknown): Promise<void> {
    await this.text(`data/${name}.json`, (text) => {
      const value = JSON.parse(text) as T;
      const changed = change(value);
      return JSON.stringify(Array.isArray(value) && Array.isArray(changed) ? changed : value);
    });
  }

  async add(file: string, content = 'x'): Promise<void> {
    await mkdir(path.dirname(this.at(file)), { recursive: true });
    await writeFile(this.at(file), content);
  }

  async flip(file: string): Promise<void> {
    const bytes = await readFile(this.at(file));
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
    await writeFile(this.at(file), bytes);
  }

  /** As whoever changes a bundle and knows its format would: every manifest and count anew. */
  async fix(): Promise<void> {
    const payload = (await filesOf(this.folder)).filter((file) => file.startsWith('data/'));
    const sizes = await Promise.all(payload.map(async (file) => (await readFile(this.at(file))).byteLength));
    const oxum = `${sizes.reduce((sum, size) => sum + size, 0)}.${payload.length}`;
    await this.text('bag-info.txt', (text) => text.replace(/^Payload-Oxum: .*$/m, `Payload-Oxum: ${oxum}`));
    await writeFile(this.at('manifest-sha256.txt'), await this.manifest(payload));
    await this.fixTags();
  }

  async fixTags(): Promise<void> {
    const tags = ['bag-info.txt', 'bagit.txt', 'manifest-sha256.txt'];
    await writeFile(this.at('tagmanifest-sha256.txt'), await this.manifest(tags));
  }

  async manifest(files: readonly string[]): Promise<string> {
    const lines = files.map(async (file) => `${sha256(await readFile(this.at(file)))}  ${file}\n`);
    return (await Promise.all(lines)).join('');
  }
}
