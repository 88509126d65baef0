/** Revisions, runs, the command log and the key. */
import { expect, it } from 'vitest';
import { digestOf } from '../../../src/store/canonical.js';
import type { Json, Store } from '../../../src/store/port.js';

const ACME = 'acme';
const PINS = {
  package: { ref: 'p@1', digest: 'd1' },
  workflow: { ref: 'w@1', digest: 'd2' },
  binding: { ref: 'b@1', digest: 'd3' },
};

export function documentCases(store: () => Store): void {
  const publish = (content: Json, change: Partial<Parameters<Store['revisions']['publish']>[0]> = {}) =>
    store().revisions.publish({
      tenant: ACME,
      kind: 'package',
      name: 'report',
      revision: null,
      content,
      accept: true,
      actor: 'ada',
      at: 1,
      ...change,
    });

  it('numbers revisions; equal content is the revision that exists, whatever the order of its keys', async () => {
    const first = await publish({ a: 1, b: ['ü', ' x '] });
    expect(first).toMatchObject({
      revision: 1,
      digest: digestOf({ b: ['ü', ' x '], a: 1 }),
      accepted: { actor: 'ada', at: 1 },
    });
    expect(await publish({ a: 2 })).toMatchObject({ revision: 2 });
    expect(await publish({ b: ['ü', ' x '], a: 1 }, { actor: 'bob', at: 9 })).toEqual(first);
    expect(await publish({ a: 1 }, { tenant: 'other' })).toMatchObject({ revision: 1 });
    expect(await publish({ a: 1 }, { kind: 'workflow' })).toMatchObject({ revision: 1 });
  });

  it('gives numbers without gaps or doubles to publishers at once', async () => {
    const rows = await Promise.all(Array.from({ length: 12 }, (_, n) => publish({ n })));
    expect(rows.map((row) => row.revision).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 12 }, (_, n) => n + 1),
    );
  });

  it('takes a stated number only for the next one or for the same content', async () => {
    expect(await publish({ a: 1 }, { revision: 1 })).toMatchObject({ revision: 1 });
    expect(await publish({ a: 1 }, { revision: 1 })).toMatchObject({ revision: 1 });
    for (const [content, revision] of [
      [{ a: 2 }, 1],
      [{ a: 2 }, 3],
      [{ a: 1 }, 2],
    ] as const) {
      await expect(publish(content, { revision })).rejects.toMatchObject({ code: 'RevisionConflict' });
    }
    expect(await store().revisions.get(ACME, 'package', 'report', 2)).toBeNull();
  });

  it('prefers the newest accepted revision to a newer draft; the first acceptance stands', async () => {
    const at = (n: number | null) => store().revisions.get(ACME, 'package', 'report', n);
    expect(await at(null)).toBeNull();
    await publish({ a: 1 }, { accept: false });
    expect(await at(null)).toMatchObject({ revision: 1, accepted: null });
    await publish({ a: 1 });
    await publish({ a: 2 }, { accept: false });
    expect(await at(null)).toMatchObject({ revision: 1 });
    const accept = { tenant: ACME, kind: 'package', name: 'report', revision: 2 } as const;
    expect((await store().revisions.accept({ ...accept, actor: 'bob', at: 5 })).accepted).toEqual({
      actor: 'bob',
      at: 5,
    });
    expect((await store().revisions.accept({ ...accept, actor: 'eve', at: 6 })).accepted).toEqual({
      actor: 'bob',
      at: 5,
    });
    expect(await at(null)).toMatchObject({ revision: 2 });
    await expect(
      store().revisions.accept({ ...accept, revision: 3, actor: 'bob', at: 5 }),
    ).rejects.toMatchObject({ code: 'UnknownRevision' });
  });

  it('gives pinned content by reference and digest, never another revision', async () => {
    const row = await publish({ a: 1 });
    await publish({ a: 2 });
    const pinned = (ref: string, digest: string, tenant = ACME) =>
      store().revisions.pinned(tenant, 'package', { ref, digest });
    expect(await pinned('report@1', row.digest)).toEqual({ a: 1 });
    for (const read of [
      () => pinned('report@2', row.digest),
      () => pinned('report@3', row.digest),
      () => pinned('report', row.digest),
      () => pinned('report@1', row.digest, 'Acme'),
    ]) {
      await expect(read()).rejects.toMatchObject({ code: 'PinsDamaged' });
    }
  });

  it('creates a run once, refuses another content, records the first end', async () => {
    const launch = {
      tenant: ACME,
      run: 'r',
      digest: 'x',
      pins: PINS,
      input: { text: ' exact\u0000 ' },
      createdAt: 5,
    };
    const row = await store().runs.create(launch);
    expect(row).toEqual({ ...launch, status: 'running', endedAt: null });
    expect(await store().runs.create({ ...launch, createdAt: 9 })).toEqual(row);
    await expect(store().runs.create({ ...launch, digest: 'y' })).rejects.toMatchObject({
      code: 'RunConflict',
    });
    await store().runs.create({ ...launch, run: 'later', createdAt: 6 });
    await store().runs.close({ tenant: ACME, run: 'r', status: 'failed', at: 7 });
    await store().runs.close({ tenant: ACME, run: 'r', status: 'succeeded', at: 8 });
    expect((await store().runs.list(ACME)).map((run) => [run.run, run.status, run.endedAt])).toEqual([
      ['later', 'running', null],
      ['r', 'failed', 7],
    ]);
    expect(await store().runs.list('Acme')).toEqual([]);
    expect(await store().runs.get('ACME', 'r')).toBeNull();
  });

  it('remembers the first answer of a command, in its run', async () => {
    const command = {
      tenant: ACME,
      run: 'r',
      commandId: 'c',
      name: 'save',
      digest: 'd',
      answer: { token: 't' },
      at: 1,
    };
    expect(await store().commands.recall(ACME, 'r', 'c')).toBeNull();
    expect(await store().commands.remember(command)).toEqual({ token: 't' });
    expect(await store().commands.remember({ ...command, answer: { token: 'u' } })).toEqual({ token: 't' });
    await expect(store().commands.remember({ ...command, digest: 'e' })).rejects.toMatchObject({
      code: 'CommandConflict',
    });
    expect(await store().commands.recall(ACME, 'r', 'c')).toEqual({ digest: 'd', answer: { token: 't' } });
    expect(await store().commands.remember({ ...command, run: 'r2', digest: 'e', answer: 1 })).toBe(1);
    await store().commands.remember({ ...command, commandId: 'b', name: 'beat', at: 0 });
    expect(await store().commands.list(ACME, 'r')).toEqual([
      { commandId: 'b', name: 'beat', digest: 'd', at: 0 },
      { commandId: 'c', name: 'save', digest: 'd', at: 1 },
    ]);
    expect(await store().commands.list('ACME', 'r')).toEqual([]);
  });

  it('has one key of 32 bytes, not to be changed by who holds it', async () => {
    const key = await store().key();
    expect(key).toHaveLength(32);
    const copy = Uint8Array.from(key);
    key.fill(0);
    expect(await store().key()).toEqual(copy);
  });

  it('says that it is unavailable once it is closed', async () => {
    await store().close();
    await store().close();
    for (const call of [
      () => store().runs.list(ACME),
      () => store().key(),
      () => store().artifacts.readBytes('x'),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: 'StoreUnavailable' });
    }
  });
}
